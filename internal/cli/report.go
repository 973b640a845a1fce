package cli

import (
	"context"
	"strings"

	"renga.dev/renga/client"
)

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

type reportPipelineCmd struct {
	GroupBy []string `placeholder:"NAME,…" help:"stage, owner; the default is stage."`
	reportFlags
}

func (reportPipelineCmd) Help() string {
	return `Examples:
  renga report pipeline
  renga report pipeline --group-by owner,stage
  renga report pipeline --csv > pipeline.csv`
}

func (c *reportPipelineCmd) Run(ctx context.Context, r *remote) error {
	return r.count(ctx, client.ReportPipeline, c.GroupBy, reportMonths{}, c.reportFlags)
}

type reportForecastCmd struct {
	GroupBy []string `placeholder:"NAME,…" help:"month, category, owner; the default is month,category."`
	reportMonths
	reportFlags
}

func (reportForecastCmd) Help() string {
	return `Examples:
  renga report forecast --from 2026-01 --to 2026-06
  renga report forecast --group-by owner`
}

func (c *reportForecastCmd) Run(ctx context.Context, r *remote) error {
	return r.count(ctx, client.ReportForecast, c.GroupBy, c.reportMonths, c.reportFlags)
}

type reportWonLostCmd struct {
	GroupBy []string `placeholder:"NAME,…" help:"month, owner; the default is month."`
	reportMonths
	reportFlags
}

func (reportWonLostCmd) Help() string {
	return `Examples:
  renga report won-lost --from 2026-01
  renga report won-lost --group-by owner -o json | jq '.rows[] | {owner, winRate}'`
}

func (c *reportWonLostCmd) Run(ctx context.Context, r *remote) error {
	return r.count(ctx, client.ReportWonLost, c.GroupBy, c.reportMonths, c.reportFlags)
}

type reportLeadsCmd struct {
	GroupBy []string `placeholder:"NAME,…" help:"source, month (of creation), owner; the default is source."`
	reportMonths
	reportFlags
}

func (reportLeadsCmd) Help() string {
	return `Examples:
  renga report lead-conversion
  renga report lead-conversion --group-by month,source --from 2026-01`
}

func (c *reportLeadsCmd) Run(ctx context.Context, r *remote) error {
	return r.count(ctx, client.ReportLeadConversion, c.GroupBy, c.reportMonths, c.reportFlags)
}

type reportCampaignsCmd struct{ reportFlags }

func (reportCampaignsCmd) Help() string {
	return `Examples:
  renga report campaigns`
}

func (c *reportCampaignsCmd) Run(ctx context.Context, r *remote) error {
	return r.count(ctx, client.ReportCampaigns, nil, reportMonths{}, c.reportFlags)
}

type reportApprovalsCmd struct {
	GroupBy []string `placeholder:"NAME,…" help:"object, month (of submission), submitter; the default is object."`
	reportMonths
	reportFlags
}

func (reportApprovalsCmd) Help() string {
	return `Examples:
  renga report approvals
  renga report approvals --group-by submitter --from 2026-01`
}

func (c *reportApprovalsCmd) Run(ctx context.Context, r *remote) error {
	return r.count(ctx, client.ReportApprovals, c.GroupBy, c.reportMonths, c.reportFlags)
}

// count makes a report and prints it, its total last.
func (r *remote) count(
	ctx context.Context, name client.ReportName, by []string, months reportMonths, f reportFlags,
) error {
	q := client.ReportQuery{GroupBy: by, From: months.From, To: months.To, OwnerID: f.Owner}
	if f.CSV {
		raw, err := r.Reports.CSV(ctx, name, q)
		if err == nil {
			_, err = r.Out.Write(raw)
		}
		return err
	}
	return show(r, func(p *printer, found *client.Report) {
		var head []string
		for _, c := range found.Columns {
			head = append(head, strings.ToUpper(c.Name))
		}
		var rows [][]any
		for _, row := range found.Rows {
			rows = append(rows, reportLine(found.Columns, row))
		}
		if len(rows) > 1 {
			total := reportLine(found.Columns, found.Total)
			total[0] = "total"
			rows = append(rows, total)
		}
		p.grid(strings.Join(head, ", "), rows)
		for _, o := range found.Omitted {
			r.say("left out, since you may not read %s: %s", o.Field, strings.Join(o.Columns, ", "))
		}
	})(r.Reports.Get(ctx, name, q))
}

func reportLine(columns []client.ReportColumn, row map[string]any) []any {
	line := make([]any, len(columns))
	for i, c := range columns {
		line[i] = row[c.Name]
	}
	return line
}
