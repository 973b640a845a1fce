package httpapi_test

import (
	"encoding/csv"
	"net/http"
	"slices"
	"strings"
	"testing"
)

// count lets reporting take everything that was published, in its order.
func (s *server) count() {
	s.t.Helper()
	s.deliver(s.reports.Consumer())
}

func TestReportsCountWhatACallerSees(t *testing.T) {
	s := newServer(t)
	const set, anna, ben = "00000000-0000-7000-8000-000000000001", "00000000-0000-7000-8000-00000000000a",
		"00000000-0000-7000-8000-00000000000b"
	s.define("permission-sets/"+set,
		`{"name":"Sales","objects":{"Opportunity":{"read":true,"create":true},"Campaign":{"read":true}}}`)
	s.define("users/"+anna, `{"name":"=Anna","isActive":true,"permissionSetIds":["`+set+`"]}`)
	s.define("users/"+ben, `{"name":"Ben","isActive":true,"permissionSetIds":["`+set+`"]}`)
	for _, deal := range []string{
		`{"ownerId":"` + anna + `","fields":{"Name":"A","StageName":"Negotiation","CloseDate":"2026-02-28",` +
			`"Amount":100.25}}`,
		`{"ownerId":"` + anna + `","fields":{"Name":"B","StageName":"Closed Won","CloseDate":"2026-02-28",` +
			`"Amount":40}}`,
		`{"ownerId":"` + ben + `","fields":{"Name":"C","StageName":"Prospecting","CloseDate":"2026-03-31",` +
			`"Amount":-7}}`,
	} {
		s.want(http.StatusCreated, "POST", "/records/Opportunity", deal)
	}
	s.want(http.StatusCreated, "POST", "/records/Campaign", `{"ownerId":"`+anna+
		`","fields":{"Name":"@SUM(A1:A9),\"x\""}}`)
	s.handOut()
	s.count()
	for _, see := range []struct{ path, user, want string }{
		{"pipeline", "", `"rows":[{"stage":"Prospecting","count":1,"amount":-7,"weightedAmount":-0.7},` +
			`{"stage":"Negotiation","count":1,"amount":100.25,"weightedAmount":90.23}],"total":{"count":2,` +
			`"amount":93.25,"weightedAmount":89.53}`},
		{"pipeline?groupBy=owner", anna, `"rows":[{"ownerId":"` + anna +
			`","owner":"=Anna","count":1,"amount":100.25,"weightedAmount":90.23}]`},
		{"pipeline", ben, `"rows":[{"stage":"Prospecting","count":1,"amount":-7,"weightedAmount":-0.7}]`},
		{"pipeline?ownerId=" + anna, ben, `"rows":[],"total":{"count":0,"amount":0,"weightedAmount":0}`},
		{"won-lost", anna, `"rows":[{"month":"2026-02","wonCount":1,"wonAmount":40,"lostCount":0,"lostAmount":0,` +
			`"winRate":1}]`},
		{"won-lost", ben, `"rows":[],"total":{"wonCount":0,"wonAmount":0,"lostCount":0,"lostAmount":0,"winRate":null}`},
		{
			"forecast?to=2026-02&groupBy=month", anna,
			`"rows":[{"month":"2026-02","count":2,"amount":140.25,"weightedAmount":130.23}]`,
		},
	} {
		var header []string
		if see.user != "" {
			header = []string{"X-User-Id", see.user}
		}
		r := s.get("/reports/"+see.path, header...).is(200)
		if !strings.Contains(string(r.body), see.want) {
			t.Errorf("%s of %q: %s\nwant %s", see.path, see.user, r.body, see.want)
		}
	}
	s.get("/reports/lead-conversion", "X-User-Id", anna).is(403).has("error.code", "ACCESS_DENIED")
	s.get("/reports/pipeline?groupBy=month").is(422).has("error.details.field", "groupBy")
	s.get("/reports/forecast?from=2026-02&to=2026-01").is(422).has("error.details.field", "to")
	s.get("/reports/pipeline?format=xml").is(422).has("error.details.field", "format")
}

// TestReportsAsCSVHoldNoFormulas reads reports as a spreadsheet would.
func TestReportsAsCSVHoldNoFormulas(t *testing.T) {
	s := newServer(t)
	const anna = "00000000-0000-7000-8000-00000000000a"
	s.define("users/"+anna, `{"name":"=Anna","isActive":true}`)
	s.want(http.StatusCreated, "POST", "/records/Opportunity", `{"ownerId":"`+anna+
		`","fields":{"Name":"A","StageName":"Negotiation","CloseDate":"2026-02-28","Amount":-100.25}}`)
	for _, name := range []string{`@SUM(A1:A9),\"x\"`, "-1+1", "+1", "=1", "plain", "＝1"} {
		s.want(http.StatusCreated, "POST", "/records/Campaign", `{"fields":{"Name":"`+name+`"}}`)
	}
	s.handOut()
	s.count()
	table := func(path string, header ...string) [][]string {
		t.Helper()
		r := s.get(path, header...).is(200)
		if kind := r.header.Get("Content-Type"); kind != "text/csv; charset=utf-8" ||
			!strings.HasSuffix(string(r.body),
				"\r\n") {
			t.Errorf("%s: %s %q", path, kind, r.body)
		}
		rows, err := csv.NewReader(strings.NewReader(string(r.body))).ReadAll()
		if err != nil {
			t.Fatal(err)
		}
		return rows
	}
	rows := table("/reports/pipeline?groupBy=owner&format=csv")
	if got := strings.Join(rows[1], "|"); len(rows) != 2 || got != anna+"|'=Anna|1|-100.25|-90.23" {
		t.Errorf("by owner: %q", rows)
	}
	var names []string
	for _, row := range table("/reports/campaigns", "Accept", "text/csv")[1:] {
		names = append(names, row[1])
	}
	if want := []string{"'+1", "'-1+1", "'=1", `'@SUM(A1:A9),"x"`, "plain", "'＝1"}; !slices.Equal(names, want) {
		t.Errorf("campaigns are called %q, want %q", names, want)
	}
	if kind := s.get("/reports/pipeline", "Accept", "text/csv, application/json").is(200).header.Get(
		"Content-Type"); kind != "application/json" {
		t.Errorf("who takes both gets %s", kind)
	}
}
