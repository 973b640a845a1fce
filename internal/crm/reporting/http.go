package reporting

import (
	"bytes"
	"context"
	"encoding/csv"
	"mime"
	"net/http"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"renga.dev/renga/internal/crm/kit"
	"renga.dev/renga/internal/crm/kit/rebuild"
	"renga.dev/renga/internal/platform/gate"
	"renga.dev/renga/internal/platform/rest"
)

// reports are the operations of the reports, their names, and their parameters beside format and ownerId.
var reports = []struct {
	operation, name string
	params          []string
}{
	{"pipelineReport", "pipeline", []string{"groupBy"}},
	{"forecastReport", "forecast", []string{"groupBy", "from", "to"}},
	{"wonLostReport", "won-lost", []string{"groupBy", "from", "to"}},
	{"leadConversionReport", "lead-conversion", []string{"groupBy", "from", "to"}},
	{"campaignsReport", "campaigns", nil},
	{"approvalsReport", "approvals", []string{"groupBy", "from", "to"}},
}

// api answers the calls of reporting.
type api struct{ reports *Reporting }

// Routes are the routes of reports.
func (s *Reporting) Routes() []gate.Route {
	a := &api{s}
	routes := []gate.Route{
		{Operation: "rebuildReports", Heavy: true, Do: a.rebuild},
		{Operation: "listReportRebuilds", Do: s.runs.ServeList},
		{Operation: "getReportRebuild", Do: rest.NoQuery(rest.WithID("id", s.runs.ServeGet))},
	}
	for _, r := range reports {
		do := a.report(r.name, append([]string{"format", "ownerId"}, r.params...))
		routes = append(routes, gate.Route{Operation: r.operation, Heavy: true, Do: do})
	}
	return rest.Routes(routes)
}

// rebuild answers POST /reports/rebuild.
func (a *api) rebuild(ctx context.Context, c *gate.Call) (gate.Reply, error) {
	key, err := rest.OptionalKey(c)
	if err != nil {
		return gate.Reply{}, err
	}
	if err := c.Decode(&struct{}{}); err != nil {
		return gate.Reply{}, err
	}
	id, _, err := a.reports.Rebuild(ctx, c.Principal.Tenant, key)
	return rebuild.Accepted(id, err)
}

// report answers GET /reports/{name}.
func (a *api) report(name string, params []string) rest.Handler {
	return func(ctx context.Context, c *gate.Call) (gate.Reply, error) {
		q := rest.ReadQuery(c, params...)
		want := Query{From: q.Month("from"), To: q.Month("to")}
		if text, given := q.Text("groupBy"); given {
			want.GroupBy = strings.Split(text, ",")
		}
		want.Owner = q.ID("ownerId")
		format, given := q.Text("format")
		if given && format != "json" && format != "csv" {
			q.Fail("format", "format must be json or csv")
		}
		if q.Err != nil {
			return gate.Reply{}, q.Err
		}
		t, err := a.reports.Report(ctx, kit.CallerOf(c), name, want)
		if err != nil {
			return gate.Reply{}, err
		}
		header := http.Header{"Vary": {"Accept"}}
		if format != "csv" && (given || !wantsCSV(c.Request.Header)) {
			raw, err := reportJSON(&t)
			return gate.Reply{Raw: raw, Header: header}, err
		}
		header.Set("Content-Disposition", mime.FormatMediaType("attachment", map[string]string{"filename": name +
			".csv"}))
		raw, err := reportCSV(&t)
		return gate.Reply{Raw: raw, Type: "text/csv; charset=utf-8", Header: header}, err
	}
}

// wantsCSV reports whether a caller names CSV as what it takes, and not JSON.
func wantsCSV(header http.Header) bool {
	takes := func(media string) bool {
		return slices.ContainsFunc(header.Values("Accept"),
			func(v string) bool { return strings.Contains(strings.ToLower(v), media) })
	}
	return takes("text/csv") && !takes("application/json")
}

// reportJSON is a report as an object: rows and their total with a member for each column. The total
// has none of the columns that rows are grouped by.
func reportJSON(t *Table) ([]byte, error) {
	rows, total := make([]reportLine, len(t.Rows)), reportLine{}
	for i, values := range t.Rows {
		rows[i] = reportLine{t.Columns, values}
	}
	for i, c := range t.Columns {
		if c.Type != Text {
			total.columns, total.values = append(total.columns, c), append(total.values, t.Total[i])
		}
	}
	return json.Marshal(struct {
		Report  string       `json:"report"`
		GroupBy []string     `json:"groupBy"`
		Columns []Column     `json:"columns"`
		Rows    []reportLine `json:"rows"`
		Total   reportLine   `json:"total"`
		Omitted []Omitted    `json:"omitted"`
	}{t.Report, t.GroupBy, t.Columns, rows, total, t.Omitted})
}

// reportLine is a row, in JSON an object.
type reportLine struct {
	columns []Column
	values  []Value
}

// MarshalJSONTo writes the members in the order of the columns.
func (l reportLine) MarshalJSONTo(e *jsontext.Encoder) error {
	err := e.WriteToken(jsontext.BeginObject)
	for i, c := range l.columns {
		if err == nil {
			err = e.WriteToken(jsontext.String(c.Name))
		}
		switch value := l.values[i]; {
		case err != nil:
			return err
		case c.Type == Text:
			err = e.WriteToken(jsontext.String(string(value)))
		case value == "":
			err = e.WriteToken(jsontext.Null)
		default:
			err = e.WriteValue(jsontext.Value(value))
		}
	}
	if err != nil {
		return err
	}
	return e.WriteToken(jsontext.EndObject)
}

// reportCSV is a report as RFC 4180 has it, with a line of names first and without the
// total.
func reportCSV(t *Table) ([]byte, error) {
	var b bytes.Buffer
	w := csv.NewWriter(&b)
	w.UseCRLF = true
	line := make([]string, len(t.Columns))
	for i, c := range t.Columns {
		line[i] = c.Name
	}
	if err := w.Write(line); err != nil {
		return nil, err
	}
	for _, row := range t.Rows {
		for i, c := range t.Columns {
			line[i] = string(row[i])
			if c.Type == Text {
				line[i] = plainCell(line[i])
			}
		}
		if err := w.Write(line); err != nil {
			return nil, err
		}
	}
	w.Flush()
	return b.Bytes(), w.Error()
}

// plainCell is a text that no spreadsheet takes for a formula, also none that reads
// characters of full width as their likes. Numbers are none.
func plainCell(text string) string {
	if first, _ := utf8.DecodeRuneInString(text); text != "" && strings.ContainsRune("=+-@\t\r\n＝＋－＠", first) {
		return "'" + text
	}
	return text
}
