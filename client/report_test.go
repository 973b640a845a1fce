package client_test

import (
	"errors"
	"testing"

	"renga.dev/renga/client"
)

func TestReportsFromGo(t *testing.T) {
	c, ctx := sender(t, newServer(t).url), soon(t)
	for name, csv := range map[client.ReportName]string{
		client.ReportPipeline:       "stage,count,amount,weightedAmount\r\n",
		client.ReportForecast:       "month,category,count,amount,weightedAmount\r\n",
		client.ReportWonLost:        "month,wonCount,wonAmount,lostCount,lostAmount,winRate\r\n",
		client.ReportLeadConversion: "source,count,convertedCount,opportunityCount,conversionRate\r\n",
		client.ReportCampaigns: "campaignId,campaign,actualCost,members,responded,responseRate,leads,convertedLeads," +
			"opportunities,amount,wonCount,wonAmount\r\n",
		client.ReportApprovals: "object,submitted,pending,approved,rejected,recalled,averageHours\r\n",
	} {
		got, err := c.Reports.Get(ctx, name, client.ReportQuery{})
		if err != nil || got.Report != name || len(got.Rows) != 0 || len(got.Columns) == 0 {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
		if raw, err := c.Reports.CSV(ctx, name, client.ReportQuery{}); err != nil || string(raw) != csv {
			t.Errorf("%s: %q, %v, want %q", name, raw, err, csv)
		}
	}
	got, err := c.Reports.Get(ctx, client.ReportForecast, client.ReportQuery{
		GroupBy: []string{"owner", "month"},
		From:    "2026-01", To: "2026-03",
	})
	if err != nil || len(got.GroupBy) != 2 || got.Columns[0].Name != "ownerId" {
		t.Errorf("got %+v, %v", got, err)
	}
	if _, err := c.Reports.Get(ctx, client.ReportPipeline, client.ReportQuery{From: "2026-01"}); !errors.Is(err,
		client.ErrInvalid) {
		t.Errorf("got %v, want that a pipeline has no period", err)
	}
}

func TestReportsAreRebuiltFromGo(t *testing.T) {
	c, ctx := sender(t, newServer(t).url), soon(t)
	first, err := c.Reports.Rebuild(ctx, "k1")
	again, problem := c.Reports.Rebuild(ctx, "k1")
	if err != nil || problem != nil || first == "" || first != again {
		t.Errorf("rebuilds: %s %v, %s %v", first, err, again, problem)
	}
	if b, err := c.Reports.GetRebuild(ctx, first); err != nil || b.Status != "RUNNING" || b.CreatedAt.IsZero() {
		t.Errorf("got %+v, %v", b, err)
	}
	if all, err := c.Reports.ListRebuilds(ctx, client.Paging{}); err != nil || all.Total != 1 ||
		all.Items[0].RebuildID != first {
		t.Errorf("got %+v, %v", all, err)
	}
}
