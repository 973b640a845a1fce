package client_test

import (
	"errors"
	"testing"

	"renga.dev/renga/client"
)

func TestRecordsAreMadeReadListedChangedAndDeleted(t *testing.T) {
	c, ctx := sender(t, newServer(t).url), soon(t)
	acme, err := c.CreateRecord(ctx, "Account", client.RecordDraft{Fields: map[string]any{"Name": "Acme", "AnnualRevenue": 5}})
	if err != nil || acme.Fields["AnnualRevenue"] != 5.0 {
		t.Fatalf("got %+v, %v", acme, err)
	}
	next, err := c.UpdateRecord(ctx, "Account", acme.ID, acme.RecordVersion, client.RecordDraft{Fields: map[string]any{"AnnualRevenue": nil}})
	if err != nil || next.RecordVersion <= acme.RecordVersion || next.Fields["AnnualRevenue"] != nil {
		t.Errorf("got %+v, %v", next, err)
	}
	if _, err := c.UpdateRecord(ctx, "Account", acme.ID, acme.RecordVersion, client.RecordDraft{}); !errors.Is(err, client.ErrVersion) {
		t.Errorf("got %v, want another version", err)
	}
	results, err := c.BulkRecords(ctx, "Contact", false, []client.RecordOperation{
		{Op: "create", Fields: map[string]any{"LastName": "Ng", "AccountId": acme.ID}}, {Op: "create"},
	})
	if err != nil || len(results) != 2 || results[0].Status != 201 || results[1].Error == nil || results[1].Error.Code != "FIELD_REQUIRED" {
		t.Fatalf("got %+v, %v", results, err)
	}
	if err := c.DeleteRecord(ctx, "Account", acme.ID, client.AnyVersion); !errors.Is(err, client.ErrRefused) {
		t.Errorf("got %v, want that it is named", err)
	}
	page, err := c.ListRecords(ctx, "Contact", client.RecordQuery{Filters: map[string]string{"AccountId": acme.ID}, Sort: "Name.asc"})
	if err != nil || page.Total != 1 || page.Items[0].ID != results[0].ID {
		t.Errorf("got %+v, %v", page, err)
	}
	history, err := c.RecordHistory(ctx, "Account", acme.ID, client.Paging{})
	if err != nil || history.Total != 2 || history.Items[0].Changes[0].Field != "AnnualRevenue" {
		t.Errorf("got %+v, %v", history, err)
	}
	lead, err := c.CreateRecord(ctx, "Lead", client.RecordDraft{Fields: map[string]any{"LastName": "Na", "Company": "Acme", "Status": "Working - Contacted"}})
	if err != nil {
		t.Fatal(err)
	}
	became, err := c.ConvertLead(ctx, lead.ID, client.LeadConversion{Match: true})
	if err != nil || became.AccountID != acme.ID || became.OpportunityID != nil || len(became.Created) != 1 {
		t.Errorf("got %+v, %v", became, err)
	}
	if err := c.DeleteRecord(ctx, "Contact", results[0].ID, results[0].RecordVersion); err != nil {
		t.Error(err)
	}
	if _, err := c.Record(ctx, "Contact", results[0].ID); !errors.Is(err, client.ErrNotFound) {
		t.Errorf("got %v", err)
	}
}
