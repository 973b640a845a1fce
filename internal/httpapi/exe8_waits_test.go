package httpapi_test

import (
	"slices"
	"testing"
)

// EXE-8: whoever waits is in the list of waits, for as long as it waits.
func TestNodesThatWaitAreListed(t *testing.T) {
	s := newServer(t)
	e := s.started(`{"nodes":[{"nodeId":"start","type":"Start"},{"nodeId":"both","type":"Fork"},
		{"nodeId":"approve","type":"Wait","timeout":"24h","waitKey":"k","assignees":{"users":["ann"]},
			"prompt":{"title":"Pay?","fields":{"n":"input.n"}}},
		{"nodeId":"pay","type":"Task"},{"nodeId":"all","type":"Join"},{"nodeId":"ok","type":"Success"}],
		"edges":[{"from":"start","to":"both"},{"from":"both","to":"approve"},{"from":"both","to":"pay"},
			{"from":"approve","to":"all"},{"from":"pay","to":"all"},{"from":"all","to":"ok"}]}`)
	s.get("/waits").is(200).has("total", "1").has("items.0.executionId", e.id).has("items.0.nodeId", "approve").
		has("items.0.graphId", "g").has("items.0.prompt", `{"fields":{"n":1},"title":"Pay?"}`).
		has("items.0.waitKey", "k").has("items.0.assignees", `{"users":["ann"]}`)
	e.send("pay/start", `{"attempt":1}`).is(202)
	e.send("pay/wait", `{"prompt":{"question":"Which account?"}}`).is(202)
	s.get("/waits").is(200).has("total", "2").has("items.1.nodeId", "pay")
	s.get("/waits?nodeId=pay").is(200).has("total", "1")
	s.get("/waits?graphId=h").is(200).has("total", "0")
	s.get("/waits?from=2999-01-01T00:00:00Z").is(200).has("total", "0")
	s.do("GET", "/waits?assignee=me", "", "X-User-Id", "ann").is(200).has("total", "2").
		has("items.0.nodeId", "approve").has("items.1.nodeId", "pay")
	s.do("GET", "/waits?assignee=me", "", "X-User-Id", "ben").is(200).has("total", "1").
		has("items.0.nodeId", "pay") // which everybody may resume
	s.get("/waits?assignee=ann").is(422)
	e.send("pay/resume", "").is(202)
	s.get("/waits").is(200).has("total", "1")
	e.send("cancel", "").is(202)
	s.get("/waits").is(200).has("total", "0")

	for range 12 {
		s.post("/executions", `{"graphId":"g","input":{"n":1},"start":true}`).is(202)
	}
	first := s.get("/waits?page_size=10").is(200).has("total", "12")
	second := s.get("/waits?page_size=10&cursor="+first.text("next")).is(200).has("total", "12").has("page", "2").
		has("next", "<none>").has("items.2", "<none>")
	next := []string{second.text("items.0.executionId"), second.text("items.1.executionId")}
	for _, seen := range []string{"items.0.executionId", "items.9.executionId"} {
		if slices.Contains(next, first.text(seen)) {
			t.Errorf("%s is on both pages", seen)
		}
	}
	s.get("/waits?page_size=10&nodeId=pay&cursor=" + first.text("next")).is(422)
}

// EXE-8: the list of waits tells a node that waits for people from one for a message and from a timer, in
// whatever version its execution has the graph.
func TestWaitsSayWhatTheyAreFor(t *testing.T) {
	s := newServer(t)
	e := s.started(`{"nodes":[{"nodeId":"start","type":"Start"},{"nodeId":"all","type":"Fork"},
		{"nodeId":"ask","type":"Wait","timeout":"2h","waitKey":"k"},{"nodeId":"later","type":"Wait","for":"2h"},
		{"nodeId":"paid","type":"Wait","timeout":"2h","message":{"name":"paid"}},
		{"nodeId":"join","type":"Join"},{"nodeId":"ok","type":"Success"}],
		"edges":[{"from":"start","to":"all"},{"from":"all","to":"ask"},{"from":"all","to":"later"},
			{"from":"all","to":"paid"},{"from":"ask","to":"join"},{"from":"later","to":"join"},
			{"from":"paid","to":"join"},{"from":"join","to":"ok"}]}`)
	s.started(`{"nodes":[{"nodeId":"start","type":"Start"},{"nodeId":"later","type":"Wait","timeout":"2h"},
		{"nodeId":"ok","type":"Success"}],"edges":[{"from":"start","to":"later"},{"from":"later","to":"ok"}]}`)
	for node, want := range map[string]string{"ask": "person", "later": "timer", "paid": "message"} {
		s.get("/waits?nodeId="+node).is(200).has("items.0.executionId", e.id).has("items.0.waitsFor", want)
	}
	s.get("/waits?nodeId=later").is(200).has("total", "2").has("items.1.waitsFor", "person")
}

// EXE-8: executions are found by what waits in them, from the commit that made it wait to the one that made it go on.
func TestExecutionsAreFoundByWhatWaits(t *testing.T) {
	s := newServer(t)
	e := s.started(`{"nodes":[{"nodeId":"start","type":"Start"},{"nodeId":"both","type":"Fork"},
		{"nodeId":"approve","type":"Wait"},{"nodeId":"pay","type":"Task"},{"nodeId":"all","type":"Join"},
		{"nodeId":"ok","type":"Success"}],
		"edges":[{"from":"start","to":"both"},{"from":"both","to":"approve"},{"from":"both","to":"pay"},
			{"from":"approve","to":"all"},{"from":"pay","to":"all"},{"from":"all","to":"ok"}]}`)
	totals := func(waiting, approve, pay string) {
		t.Helper()
		s.get("/executions?waiting=true").is(200).has("total", waiting)
		s.get("/executions?waiting=true&status=ACTIVE&graphId=g").is(200).has("total", waiting)
		s.get("/executions?nodeId=approve").is(200).has("total", approve)
		s.get("/executions?waiting=true&nodeId=pay").is(200).has("total", pay)
	}
	totals("1", "1", "0")
	e.send("pay/start", `{"attempt":1}`).is(202)
	e.send("pay/wait", "").is(202)
	totals("1", "1", "1")
	e.send("approve/resume", "").is(202)
	totals("1", "0", "1")
	e.send("pay/resume", "").is(202)
	totals("0", "0", "0")
	e.send("pay/success", "").is(202)
	s.get("/executions?waiting=false").is(422).has("error.message", "waiting must be true, or be left out")
	s.get("/executions?nodeId=a/b").is(422)

	for range 12 {
		s.post("/executions", `{"graphId":"g","start":true}`).is(202)
	}
	first := s.get("/executions?nodeId=approve&page_size=10").is(200).has("total", "12")
	s.get("/executions?nodeId=approve&page_size=10&cursor="+first.text("next")).is(200).has("total", "12").
		has("items.1.status", "ACTIVE").has("items.2", "<none>").has("next", "<none>")
	s.get("/executions?waiting=true&page_size=10&cursor=" + first.text("next")).is(422)
}

// EXE-8: whoever may resume a node is reminded of it; since when it waits does not change.
func TestAWaitIsRemindedOf(t *testing.T) {
	s := newServer(t)
	e := s.started(`{"nodes":[{"nodeId":"start","type":"Start"},
		{"nodeId":"approve","type":"Wait","remind":{"after":"1ms","every":"24h","max":3},"prompt":{"title":"Pay?"},
			"timeout":"48h"},{"nodeId":"ok","type":"Success"}],
		"edges":[{"from":"start","to":"approve"},{"from":"approve","to":"ok"}]}`)
	since := s.get("/waits").is(200).text("items.0.since")
	s.eventually(func() bool { return s.get("/waits").is(200).text("items.0.reminders") == "1" })
	next := s.get("/waits").is(200).has("items.0.since", since).has("items.0.prompt", `{"title":"Pay?"}`).
		text("items.0.nextReminderAt")
	e.view().has("nodes.1.reminders", "1").has("nodes.1.nextReminderAt", next).has("nodes.1.prompt", `{"title":"Pay?"}`)
	reminders := 0
	for _, ev := range e.events() {
		if ev.Type == "NODE_WAITING" && ev.Payload["reminder"] == 1.0 {
			reminders++
		}
	}
	if reminders != 1 {
		t.Errorf("%d reminders in the log, want 1", reminders)
	}
	s.get("/executions/"+e.id+"/attempts").is(200).has("nodes.0.attempts.0.waits.0.since", since).
		has("nodes.0.attempts.0.waits.1", "<none>")
	e.send("approve/resume", "").is(202)
	s.get("/waits").is(200).has("total", "0")
}
