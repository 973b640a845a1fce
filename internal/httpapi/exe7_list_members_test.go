package httpapi_test

import (
	"fmt"
	"testing"
)

// EXE-7: what the list of executions says of each, and the filter of the archive.

func TestAListSaysWhereExecutionsAre(t *testing.T) {
	s := newServer(t)
	s.register("g", `{"nodes":[{"nodeId":"start","type":"Start"},{"nodeId":"fork","type":"Fork"},
		{"nodeId":"a","type":"Task"},{"nodeId":"b","type":"Task"},{"nodeId":"w","type":"Wait"},
		{"nodeId":"c","type":"Task"},
		{"nodeId":"join","type":"Join"},{"nodeId":"done","type":"Success"}],
		"edges":[{"from":"start","to":"fork"},{"from":"fork","to":"a"},{"from":"fork","to":"b"},
		{"from":"fork","to":"w"},{"from":"fork","to":"c"},{"from":"a","to":"join"},{"from":"b","to":"join"},
		{"from":"w","to":"join"},
		{"from":"c","to":"join"},{"from":"join","to":"done"}]}`)
	id := s.post("/executions", `{"graphId":"g","start":true}`).is(202).text("executionId")
	e := execution{server: s, id: id}
	list := func() reply { return s.get("/executions?include=nowAt").is(200) }
	list().has("items.0.nowAt", `["a","b","w"]`).has("items.0.waiting", "true").has("items.0.failedNodeId", "<none>")
	s.get("/executions").is(200).has("items.0.nowAt", "<none>").has("items.0.waiting", "true")
	e.send("a/start", `{"attempt":1}`).is(202)
	e.send("a/success", `{}`).is(202)
	e.send("w/resume", `{}`).is(202)
	list().has("items.0.nowAt", `["b","c"]`).has("items.0.waiting", "false")
	e.send("b/start", `{"attempt":1}`).is(202)
	e.send("b/fail", `{"error":{"code":"E","message":"m","final":true}}`).is(202)
	e.view().has("status", "FAILED")
	list().has("items.0.status", "FAILED").has("items.0.nowAt", "<none>").has("items.0.waiting", "false").
		has("items.0.failedNodeId", e.view().text("failedNodeId"))
	s.get("/executions?include=everything").invalid("include")
}

func TestAListIsFilteredByTheArchive(t *testing.T) {
	s := newServer(t)
	s.register("g", linear("default", "a"))
	for i := range 9 {
		graph := "g"
		if i == 8 {
			graph = "h"
			s.register("h", linear("default", "a"))
		}
		id := s.post("/executions", fmt.Sprintf(`{"graphId":%q,"start":true,"labels":{"i":"%d"}}`, graph, i%2)).
			is(202).text("executionId")
		e := execution{server: s, id: id}
		if i > 0 {
			e.send("cancel", "").is(202)
		}
		if i > 4 {
			e.send("archive", "").is(202)
		}
	}
	for query, total := range map[string]int{
		"archived=true": 4, "archived=false": 5, "": 9,
		"archived=true&graphId=g": 3, "archived=false&graphId=g": 5, "archived=false&graphId=h": 0,
		"archived=true&status=ACTIVE": 0, "archived=false&status=ACTIVE": 1, "archived=false&status=CANCELED,FAILED": 4,
		"archived=true&label=i:1": 2, "archived=false&label=i:1": 2, "archived=true&createdTo=2000-01-01T00:00:00Z": 0,
	} {
		r := s.get("/executions?page_size=10&"+query).is(200).has("total", fmt.Sprint(total))
		r.has(fmt.Sprintf("items.%d", total), "<none>")
		if total > 0 {
			r.text(fmt.Sprintf("items.%d.executionId", total-1))
		}
	}
	s.get("/executions?archived=1").invalid("archived")
}
