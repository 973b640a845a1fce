package cli

import (
	"context"
	"fmt"
	"strings"

	"renga.dev/renga/client"
)

// reportCmd is `renga report`.
type reportCmd struct {
	Pipeline       reportPipelineCmd  `cmd:"" help:"Open opportunities by stage and owner."`
	Forecast       reportForecastCmd  `cmd:"" help:"Open and won amounts by closing month and forecast category."`
	WonLost        reportWonLostCmd   `cmd:"" help:"What was won and lost, by month."`
	LeadConversion reportLeadsCmd     `cmd:"" help:"Conversion of leads."`
	Campaigns      reportCampaignsCmd `cmd:"" help:"Effect of campaigns."`
	Approvals      reportApprovalsCmd `cmd:"" help:"Outcomes of approvals."`
	Rebuild        reportRebuildCmd   `cmd:"" help:"Recount from the records and correct what differs."`
	Rebuilds       reportRebuildsCmd  `cmd:"" help:"List the rebuilds and their progress."`
}

// reportFlags are those of every report.
type reportFlags struct {
	Owner string `placeholder:"UUID" help:"Only records of this owner: a user or a queue."`
	CSV   bool   `name:"csv" help:"Print CSV, for spreadsheets; what could be a formula is marked as text."`
}

// reportMonths are those of reports over a period.
type reportMonths struct {
	From string `placeholder:"YYYY-MM" help:"The first month."`
	To   string `placeholder:"YYYY-MM" help:"The last month."`
}

// reportPipelineCmd is `renga report pipeline`.
type reportPipelineCmd struct {
	GroupBy []string `placeholder:"NAME,…" help:"stage, owner; the default is stage."`
	reportFlags
}

// Help shows examples.
func (reportPipelineCmd) Help() string {
	return `Examples:
  renga report pipeline
  renga report pipeline --group-by owner,stage
  renga report pipeline --csv > pipeline.csv`
}

// Run prints the report.
func (c *reportPipelineCmd) Run(ctx context.Context, a *App) error {
	return a.count(ctx, client.ReportPipeline, client.ReportQuery{GroupBy: c.GroupBy, OwnerID: c.Owner}, c.CSV)
}

// reportForecastCmd is `renga report forecast`.
type reportForecastCmd struct {
	GroupBy []string `placeholder:"NAME,…" help:"month, category, owner; the default is month,category."`
	reportMonths
	reportFlags
}

// Help shows examples.
func (reportForecastCmd) Help() string {
	return `Examples:
  renga report forecast --from 2026-01 --to 2026-06
  renga report forecast --group-by owner`
}

// Run prints the report.
func (c *reportForecastCmd) Run(ctx context.Context, a *App) error {
	return a.count(ctx, client.ReportForecast, client.ReportQuery{
		GroupBy: c.GroupBy, From: c.From, To: c.To,
		OwnerID: c.Owner,
	}, c.CSV)
}

// reportWonLostCmd is `renga report won-lost`.
type reportWonLostCmd struct {
	GroupBy []string `placeholder:"NAME,…" help:"month, owner; the default is month."`
	reportMonths
	reportFlags
}

// Help shows examples.
func (reportWonLostCmd) Help() string {
	return `Examples:
  renga report won-lost --from 2026-01
  renga report won-lost --group-by owner -o json | jq '.rows[] | {owner, winRate}'`
}

// Run prints the report.
func (c *reportWonLostCmd) Run(ctx context.Context, a *App) error {
	return a.count(ctx, client.ReportWonLost, client.ReportQuery{
		GroupBy: c.GroupBy, From: c.From, To: c.To,
		OwnerID: c.Owner,
	}, c.CSV)
}

// reportLeadsCmd is `renga report lead-conversion`.
type reportLeadsCmd struct {
	GroupBy []string `placeholder:"NAME,…" help:"source, month (of creation), owner; the default is source."`
	reportMonths
	reportFlags
}

// Help shows examples.
func (reportLeadsCmd) Help() string {
	return `Examples:
  renga report lead-conversion
  renga report lead-conversion --group-by month,source --from 2026-01`
}

// Run prints the report.
func (c *reportLeadsCmd) Run(ctx context.Context, a *App) error {
	return a.count(ctx, client.ReportLeadConversion, client.ReportQuery{
		GroupBy: c.GroupBy, From: c.From, To: c.To,
		OwnerID: c.Owner,
	}, c.CSV)
}

// reportCampaignsCmd is `renga report campaigns`.
type reportCampaignsCmd struct{ reportFlags }

// Help shows examples.
func (reportCampaignsCmd) Help() string {
	return `Examples:
  renga report campaigns`
}

// Run prints the report.
func (c *reportCampaignsCmd) Run(ctx context.Context, a *App) error {
	return a.count(ctx, client.ReportCampaigns, client.ReportQuery{OwnerID: c.Owner}, c.CSV)
}

// reportApprovalsCmd is `renga report approvals`.
type reportApprovalsCmd struct {
	GroupBy []string `placeholder:"NAME,…" help:"object, month (of submission), submitter; the default is object."`
	reportMonths
	reportFlags
}

// Help shows examples.
func (reportApprovalsCmd) Help() string {
	return `Examples:
  renga report approvals
  renga report approvals --group-by submitter --from 2026-01`
}

// Run prints the report.
func (c *reportApprovalsCmd) Run(ctx context.Context, a *App) error {
	return a.count(ctx, client.ReportApprovals, client.ReportQuery{
		GroupBy: c.GroupBy, From: c.From, To: c.To,
		OwnerID: c.Owner,
	}, c.CSV)
}

// count makes a report and prints it, its total last.
func (a *App) count(ctx context.Context, name client.ReportName, q client.ReportQuery, csv bool) error {
	r, err := a.connect(retryFor)
	if err != nil {
		return err
	}
	if csv {
		raw, err := r.Reports.CSV(ctx, name, q)
		if err == nil {
			_, err = a.Out.Write(raw)
		}
		return err
	}
	found, err := r.Reports.Get(ctx, name, q)
	if err != nil {
		return err
	}
	return r.answer(func() error {
		header := make([]string, len(found.Columns))
		for i, c := range found.Columns {
			header[i] = strings.ToUpper(c.Name)
		}
		rows := make([][]string, 0, len(found.Rows)+1)
		for _, row := range found.Rows {
			rows = append(rows, reportLine(found.Columns, row))
		}
		if len(rows) > 1 {
			total := reportLine(found.Columns, found.Total)
			total[0] = "total"
			rows = append(rows, total)
		}
		if err := a.grid(header, rows); err != nil {
			return err
		}
		for _, o := range found.Omitted {
			a.say("left out, since you may not read %s: %s", clean(o.Field), clean(strings.Join(o.Columns, ", ")))
		}
		return nil
	})
}

// reportLine is a row as people read it.
func reportLine(columns []client.ReportColumn, row map[string]any) []string {
	line := make([]string, len(columns))
	for i, c := range columns {
		if v := row[c.Name]; v != nil {
			line[i] = clean(fmt.Sprint(v))
		}
	}
	return line
}
