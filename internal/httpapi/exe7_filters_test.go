package httpapi_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// pages reads a list of executions from cursor to cursor.
func (s *server) pages(query string) (ids []string) {
	s.t.Helper()
	for cursor, page := "", 1; ; page++ {
		r := s.get("/executions?page_size=10&"+query+cursor).is(200).has("page", fmt.Sprint(page))
		n := 0
		for ; r.text(fmt.Sprintf("items.%d.executionId", n)) != "<none>"; n++ {
			ids = append(ids, r.text(fmt.Sprintf("items.%d.executionId", n)))
		}
		next := r.text("next")
		if next == "<none>" {
			r.has("total", fmt.Sprint(len(ids)))
			return ids
		}
		if cursor = "&cursor=" + next; n != 10 {
			s.t.Fatalf("page %d has %d executions and is not the last", page, n)
		}
	}
}

func TestTheListIsFilteredByWhatExecutionsAreFoundBy(t *testing.T) {
	s := newServer(t)
	s.register("g", linear("default", "a"))
	s.register("h", linear("default", "a"))
	var all []string
	for i := range 24 {
		all = append(all, s.post("/executions", fmt.Sprintf(
			`{"graphId":%q,"start":true,"businessKey":"k-%d","labels":{"region":%q,"tier":%q,"at":"10:30=x y/ä"}}`,
			[]string{"g", "h"}[i%2], i/2, []string{"eu", "us"}[i%2], []string{"gold", "tin", "zinc"}[i%3],
		), "X-Correlation-Id", fmt.Sprintf("chain %d", i/6)).is(202).text("executionId"))
	}
	other := s.post("/executions", `{"graphId":"g"}`).is(202).text("executionId")
	ended := execution{s, all[3]}
	ended.send("cancel", `{}`).is(202)
	at := strings.ReplaceAll(ended.view().text("endedAt"), "+", "%2B")
	some := func(which func(i int) bool) (ids []string) {
		for i := len(all) - 1; i >= 0; i-- {
			if which(i) {
				ids = append(ids, all[i])
			}
		}
		return ids
	}
	for query, want := range map[string][]string{
		"":                                append([]string{other}, some(func(int) bool { return true })...),
		"label=region:eu":                 some(func(i int) bool { return i%2 == 0 }),
		"label=at:10:30%3Dx%20y/%C3%A4":   some(func(int) bool { return true }),
		"label=region:eu&label=tier:gold": some(func(i int) bool { return i%6 == 0 }),
		"label=region:eu&label=region:us": nil,
		"label=tier:gold&graphId=h":       some(func(i int) bool { return i%6 == 3 }),
		"label=nothing:x":                 nil,
		"correlationId=chain%202":         some(func(i int) bool { return i/6 == 2 }),
		"correlationId=chain+2&label=tier:tin&status=ACTIVE": some(func(i int) bool { return i/6 == 2 && i%3 == 1 }),
		"businessKey=k-1":                              some(func(i int) bool { return i/2 == 1 }),
		"businessKey=k-1&status=CANCELED":              some(func(i int) bool { return i == 3 }),
		"businessKey=k-1&graphId=g":                    some(func(i int) bool { return i == 2 }),
		"endedFrom=" + at:                              some(func(i int) bool { return i == 3 }),
		"endedTo=" + at:                                nil,
		"endedFrom=2020-01-01T00:00:00Z&endedTo=" + at: nil,
		"endedFrom=2020-01-01T00:00:00Z":               some(func(i int) bool { return i == 3 }),
		"endedTo=2999-01-01T00:00:00Z":                 some(func(i int) bool { return i == 3 }),
	} {
		if diff := cmp.Diff(want, s.pages(query)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", query, diff)
		}
	}
}

func TestACursorIsGoodForItsListAlone(t *testing.T) {
	s := newServer(t)
	s.register("g", linear("default", "a"))
	var want []string
	for range 12 {
		want = append(want, s.post("/executions", `{"graphId":"g"}`).is(202).text("executionId"))
	}
	slices.Reverse(want)
	next := s.get("/executions?page_size=10&graphId=g").is(200).text("next")
	s.post("/executions", `{"graphId":"g"}`).is(202) // shifts nothing
	s.get("/executions?page_size=10&graphId=g&cursor="+next).is(200).has("items.0.executionId", want[10]).
		has("items.1.executionId", want[11]).has("items.2", "<none>").has("next", "<none>").has("page", "2").
		has("total", "13")
	for query, field := range map[string]string{
		"page_size=10&cursor=" + next:                  "cursor", // another list
		"page_size=11&graphId=g&cursor=" + next:        "cursor",
		"page_size=10&graphId=h&cursor=" + next:        "cursor",
		"page_size=10&graphId=g&cursor=" + next[1:]:    "cursor",
		"page_size=10&graphId=g&page=2&cursor=" + next: "page",
	} {
		s.get("/executions?" + query).invalid(field)
	}
	s.get("/executions?page_size=10&graphId=g&cursor="+next, "X-Tenant-Id", "00000000-0000-0000-0000-00000000000b").
		invalid("cursor")
}

func TestTheListSaysHowExecutionsEnded(t *testing.T) {
	s := newServer(t)
	s.register("g", `{"nodes":[{"nodeId":"start","type":"Start"},{"nodeId":"a","type":"Task"},
		{"nodeId":"done","type":"Success","outcome":"paid"}],
		"edges":[{"from":"start","to":"a"},{"from":"a","to":"done"}]}`)
	var ids []string
	for _, report := range []string{
		`success {"attempt":1,"workerId":"w","output":{}}`,
		`fail {"attempt":1,"workerId":"w","error":{"code":"CARD","message":"declined"}}`, "",
	} {
		id := s.post("/executions", `{"graphId":"g","start":true}`).is(202).text("executionId")
		if ids = append(ids, id); report != "" {
			s.post("/tasks/claim", `{"workerId":"w","queues":["default"],"max":1}`).is(200).
				has("tasks.0.executionId", id)
			how, body, _ := strings.Cut(report, " ")
			execution{s, id}.send("a/"+how, body).is(202)
		}
	}
	for query, want := range map[string][]string{
		"outcome=paid": ids[:1], "outcome=declined": nil, "errorCode=CARD": ids[1:2], "errorCode=card": nil,
		"outcome=paid&errorCode=CARD": nil, "outcome=paid&status=COMPLETED&graphId=g": ids[:1],
	} {
		if diff := cmp.Diff(want, s.pages(query)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", query, diff)
		}
	}
	s.get("/executions").has("items.0.outcome", "<none>").has("items.0.errorCode", "<none>").
		has("items.1.errorCode", "CARD").has("items.2.outcome", "paid")
}
