package client

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
)

// Reports counts and sums over the records that the caller may see.
type Reports struct{ *transport }

// ReportName is a report that there is.
type ReportName string

// The reports.
const (
	ReportPipeline       ReportName = "pipeline"
	ReportForecast       ReportName = "forecast"
	ReportWonLost        ReportName = "won-lost"
	ReportLeadConversion ReportName = "lead-conversion"
	ReportCampaigns      ReportName = "campaigns"
	ReportApprovals      ReportName = "approvals"
)

// ReportQuery is what is wanted of a report; zero values are what the report says.
type ReportQuery struct {
	GroupBy []string
	From    string // the first month: "2026-01"
	To      string // the last month
	OwnerID string // of records of this owner alone
}

func (q *ReportQuery) values() url.Values {
	return given(map[string]string{
		"groupBy": strings.Join(q.GroupBy, ","), "from": q.From, "to": q.To, "ownerId": q.OwnerID,
	})
}

// Report is a report. The values of a row are by the names of its columns: a string, a
// json.Number, which is exact, or nil.
type Report struct {
	Report  ReportName       `json:"report"`
	GroupBy []string         `json:"groupBy"`
	Columns []ReportColumn   `json:"columns"`
	Rows    []map[string]any `json:"rows"`
	Total   map[string]any   `json:"total"`
	Omitted []ReportOmission `json:"omitted"`
}

// Get makes a report of the records that the caller may see.
func (c Reports) Get(ctx context.Context, name ReportName, q ReportQuery) (*Report, error) {
	r, err := c.do(ctx, call{method: http.MethodGet, path: pathOf(reportPath, string(name)), query: q.values()})
	if err != nil {
		return nil, err
	}
	out, d := &Report{}, json.NewDecoder(bytes.NewReader(r.body))
	d.UseNumber()
	if err := d.Decode(out); err != nil {
		return nil, fmt.Errorf("client: the report %s: %w", name, err)
	}
	return out, nil
}

// CSV makes a report as CSV, with a line of names first.
func (c Reports) CSV(ctx context.Context, name ReportName, q ReportQuery) ([]byte, error) {
	query := q.values()
	query.Set("format", "csv")
	r, err := c.do(ctx, call{method: http.MethodGet, path: pathOf(reportPath, string(name)), query: query})
	if err != nil {
		return nil, err
	}
	return r.body, nil
}

const reportPath = "/reports/{report}"

// Rebuild starts a rebuild of what is counted and gives its id. The same key does it
// once; with "" the client makes one.
func (c Reports) Rebuild(ctx context.Context, key string) (id string, err error) {
	return rebuild(ctx, c.transport, "/reports/rebuild", key, struct{}{})
}

// rebuild starts a rebuild and gives its id.
func rebuild(ctx context.Context, c *transport, path, key string, body any) (id string, err error) {
	started, _, err := post[rebuildStarted](ctx, c, path, key, body)
	return started.RebuildID, err
}

// ListRebuilds reads a page of the rebuilds of what is counted, from the newest on.
func (c Reports) ListRebuilds(ctx context.Context, at Paging) (*Page[ReportRebuild], error) {
	return list[ReportRebuild](ctx, c.transport, "/reports/rebuilds", nil, at)
}

// GetRebuild reads a rebuild of what is counted.
func (c Reports) GetRebuild(ctx context.Context, id string) (*ReportRebuild, error) {
	return get[ReportRebuild](ctx, c.transport, pathOf("/reports/rebuilds/{id}", id), nil)
}
