package test

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"testing"
	"time"

	"renga.dev/renga/test/tier"
)

// TestAutomationSurvivesKills lets rules act on records while the process is killed again and
// again in the middle of it. When it is quiet, and all events have come again, every action
// was done once for every record.
func TestAutomationSurvivesKills(t *testing.T) {
	tier.System(t)
	kills, records := 3, 25
	if long() {
		kills, records = 20, 80
	}
	o := &office{t: t, at: newSite(t), rand: rand.New(rand.NewPCG(8, 8))}
	o.c = serve(t, o.at)
	o.open()
	o.put("/graphs/greet", map[string]any{
		"nodes": []map[string]string{
			{"nodeId": "start", "type": "Start"},
			{"nodeId": "call", "type": "Task"},
			{"nodeId": "done", "type": "Success"},
		},
		"edges": []map[string]string{{"from": "start", "to": "call"}, {"from": "call", "to": "done"}},
	})
	o.put("/metadata/workflow-rules/"+officeID(51), map[string]any{
		"name": "Welcome", "object": "Account", "on": []string{"create"}, "when": "after", "actions": []map[string]any{
			{"key": "tell", "type": "notify", "message": "new"},
			{"key": "todo", "type": "createTask", "message": "call"},
			{"key": "rate", "type": "updateField", "field": "Rating", "value": "Hot"},
			{"key": "go", "type": "startGraph", "graphId": "greet"},
		},
	})
	o.put("/metadata/workflow-rules/"+officeID(52), map[string]any{ // acts on what the first one changed
		"name": "Follow", "object": "Account", "on": []string{"update"}, "when": "after",
		"condition": `record.Rating == "Hot" && old.Rating == null`,
		"actions":   []map[string]any{{"key": "phone", "type": "updateField", "field": "Phone", "value": "1"}},
	})
	owner := officeID(20 + boss)
	total := func(path string) (n int) {
		var page struct{ Total int }
		o.send(http.MethodGet, path, nil, &page, "X-User-Id", owner)
		return page.Total
	}
	for n := range kills {
		for range records {
			var r struct{ ID string }
			o.send(http.MethodPost, "/records/Account", map[string]any{"ownerId": owner, "fields": map[string]string{
				"Name": fmt.Sprint("A", n),
			}}, &r)
			o.ids = append(o.ids, r.ID)
		}
		done := o.rand.IntN(5*len(o.ids)) + 1 // to be killed somewhere else each time
		eventually(t, "some actions were done", time.Minute, func() bool { return total("/automation/runs") >= done })
		o.c.kill()
		o.c = serve(t, o.at)
	}
	want := len(o.ids)
	eventually(t, "every action was done", time.Minute,
		func() bool { return total("/automation/runs?outcome=DONE") == 5*want })
	var replay struct{ ReplayID, Status string }
	o.send(http.MethodPost, "/events/replays", map[string]string{
		"consumer": "automation",
		"from":     "2020-01-01T00:00:00Z",
	}, &replay, "X-Idempotency-Key", "again")
	eventually(t, "all events came again", time.Minute, func() bool {
		o.send(http.MethodGet, "/events/replays/"+replay.ReplayID, nil, &replay)
		return replay.Status == "DONE"
	})
	for path, n := range map[string]int{
		"/automation/inbox": want, "/automation/tasks": want, "/executions?graphId=greet": want,
		"/automation/runs": 5 * want, "/events/dlq": 0,
		"/records/Account?Phone=1&Rating=Hot": want,
	} {
		if got := total(path); got != n {
			t.Errorf("%s: got %d, want %d", path, got, n)
		}
	}
	for _, id := range o.ids {
		if n := total("/records/Account/" + id + "/history"); n != 3 {
			t.Errorf("%s was changed %d times, want that it was created and updated twice", id, n)
		}
	}
}
