package client

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"
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
	v := url.Values{}
	for name, value := range map[string]string{
		"groupBy": strings.Join(q.GroupBy, ","), "from": q.From, "to": q.To,
		"ownerId": q.OwnerID,
	} {
		if value != "" {
			v.Set(name, value)
		}
	}
	return v
}

// ReportColumn is a column of a report.
type ReportColumn struct {
	Name string `json:"name"`
	Type string `json:"type"` // text, count, sum, rate, hours
}

// ReportOmission is what a report leaves out, since the caller may not read a field.
type ReportOmission struct {
	Field   string   `json:"field"`
	Columns []string `json:"columns"`
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
	r, err := c.do(ctx, call{method: http.MethodGet, path: reportPath(name), query: q.values()})
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
	r, err := c.do(ctx, call{method: http.MethodGet, path: reportPath(name), query: query})
	if err != nil {
		return nil, err
	}
	return r.body, nil
}

func reportPath(name ReportName) string { return "/reports/" + url.PathEscape(string(name)) }

// ReportRebuild is what is counted, held against the records and put right.
type ReportRebuild struct {
	RebuildID        string    `json:"rebuildId"`
	Status           string    `json:"status"` // RUNNING, DONE, CANCELED
	ExecutionID      string    `json:"executionId,omitempty"`
	RecordsProcessed int       `json:"recordsProcessed"`
	RecordsTotal     int       `json:"recordsTotal"`
	CreatedAt        time.Time `json:"createdAt"`
	EndedAt          time.Time `json:"endedAt,omitzero"`
}

// Rebuild starts a rebuild of what is counted and gives its id. The same key does it
// once; with "" the client makes one.
func (c Reports) Rebuild(ctx context.Context, key string) (id string, err error) {
	if key == "" {
		key = newKey()
	}
	var out struct {
		RebuildID string `json:"rebuildId"`
	}
	err = c.exchange(ctx, call{method: http.MethodPost, path: "/reports/rebuild", key: key, body: []byte("{}")}, &out)
	return out.RebuildID, err
}

// ListRebuilds reads a page of the rebuilds of what is counted, from the newest on.
func (c Reports) ListRebuilds(ctx context.Context, at Paging) (*Page[ReportRebuild], error) {
	return list[ReportRebuild](ctx, c.transport, "/reports/rebuilds", url.Values{}, at)
}

// GetRebuild reads a rebuild of what is counted.
func (c Reports) GetRebuild(ctx context.Context, id string) (*ReportRebuild, error) {
	b := new(ReportRebuild)
	if err := c.read(ctx, "/reports/rebuilds/"+url.PathEscape(id), nil, b); err != nil {
		return nil, err
	}
	return b, nil
}
