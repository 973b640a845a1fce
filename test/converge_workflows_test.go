package test

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/google/go-cmp/cmp"
)

// claimKeys is how many keys the claims of the turmoil share.
const claimKeys = 6

// workflows defines what executions of the turmoil do: claims wait for people and for messages, a schedule has
// executions of past months.
func (o *turmoil) workflows() {
	o.put("/graphs/claim", map[string]any{
		"nodes": []map[string]any{
			{"nodeId": "start", "type": "Start"},
			{"nodeId": "paid", "type": "Success"},
			{
				"nodeId": "pay", "type": "Wait", "timeout": "24h", "prompt": map[string]string{"title": "Paid?"},
				"message": map[string]string{"name": "paid", "key": "input.key"},
			},
		},
		"edges": []map[string]string{{"from": "start", "to": "pay"}, {"from": "pay", "to": "paid"}},
	})
	o.put("/graphs/month", map[string]any{
		"nodes": []map[string]string{{"nodeId": "start", "type": "Start"}, {"nodeId": "done", "type": "Success"}},
		"edges": []map[string]string{{"from": "start", "to": "done"}},
	})
	o.put("/schedules/monthly", map[string]string{"graph": "month", "cron": "0 0 1 1 *"})
}

// command posts what has a key of its own.
func (o *turmoil) command(path string, body, answer any) bool {
	o.t.Helper()
	return o.try(http.MethodPost, path, body, answer, "X-Idempotency-Key", fmt.Sprint("step ", o.steps))
}

func (o *turmoil) claimKey() string { return fmt.Sprint("claim ", o.rand.IntN(claimKeys)) }

func (o *turmoil) claim() bool {
	var made struct{ ExecutionID string }
	body := map[string]any{"graphId": "claim", "start": true, "input": map[string]string{"key": o.claimKey()}}
	if !o.command("/executions", body, &made) {
		return false
	}
	o.ids["claim"] = append(o.ids["claim"], made.ExecutionID)
	return true
}

// message is one of few ids, so that some are sent twice.
func (o *turmoil) message() bool {
	key := o.claimKey()
	return o.command("/messages", map[string]string{
		"name": "paid", "key": key, "messageId": fmt.Sprint(key[len("claim "):], "-", o.rand.IntN(12)),
	}, nil)
}

func (o *turmoil) resumeClaim() bool {
	return o.command("/executions/"+o.some("claim")+"/nodes/pay/resume", map[string]any{}, nil)
}

func (o *turmoil) cancelClaim() bool {
	return o.command("/executions/"+o.some("claim")+"/cancel", map[string]any{}, nil)
}

func (o *turmoil) backfill() bool {
	year := 1980 + o.rand.IntN(30)
	return o.command("/schedules/monthly/backfill", map[string]string{
		"from": fmt.Sprintf("%d-01-01T00:00:00Z", year), "to": fmt.Sprintf("%d-06-01T00:00:00Z", year+3),
	}, nil)
}

func (o *turmoil) pauseSchedule() bool {
	return o.command("/schedules/monthly/"+o.one("pause", "resume", "resume"), map[string]any{}, nil)
}

// pages are all items of a list.
func pages[Item any](o *turmoil, path string) (all []Item) {
	o.t.Helper()
	for n := 1; ; n++ {
		var page struct {
			Items []Item
			Total int
		}
		o.send(http.MethodGet, fmt.Sprintf("%s&page_size=100&page=%d", path, n), nil, &page)
		if all = append(all, page.Items...); len(page.Items) < 100 {
			if len(all) != page.Total {
				o.t.Errorf("%s has %d items and says %d", path, len(all), page.Total)
			}
			return all
		}
	}
}

// awaited are the keys for which claims wait, by execution, as the list of waits has them.
func (o *turmoil) awaited() map[string]string {
	keys := map[string]string{}
	for _, w := range pages[struct {
		ExecutionID string
		Awaits      struct{ Key string }
	}](o, "/waits?graphId=claim") {
		keys[w.ExecutionID] = w.Awaits.Key
	}
	return keys
}

// message of a list.
type turmoilMessage struct {
	MessageID, Key string
	Deliveries     []struct{ ExecutionID, Reason string }
}

func (o *turmoil) messages(state string) []turmoilMessage {
	return pages[turmoilMessage](o, "/messages?name=paid&state="+state)
}

// workflowsConverge waits until messages and instants have met those that wait for them, and compares waits, messages
// and instants with the executions.
func (o *turmoil) workflowsConverge() {
	o.t.Helper()
	o.steps++
	o.command("/schedules/monthly/resume", map[string]any{}, nil)
	eventually(o.t, "no message is kept that a node waits for, and no instant waits", settleWithin, func() bool {
		wanted := slices.Collect(maps.Values(o.awaited()))
		for _, m := range o.messages("KEPT") {
			if slices.Contains(wanted, m.Key) {
				return false
			}
		}
		var schedule struct{ Queued int }
		o.send(http.MethodGet, "/schedules/monthly", nil, &schedule)
		return schedule.Queued == 0
	})
	o.claimsConverge()
	o.monthsConverge()
}

// claimsConverge compares the claims with the list of waits and with the messages.
func (o *turmoil) claimsConverge() {
	o.t.Helper()
	by := map[string]string{} // executions, and the message that resumed each
	for _, m := range o.messages("RESUMED") {
		for _, d := range m.Deliveries {
			if before := by[d.ExecutionID]; before != "" || d.Reason != "" {
				o.t.Errorf("execution %s has messages %s and %s (%s)", d.ExecutionID, before, m.MessageID, d.Reason)
			}
			by[d.ExecutionID] = m.MessageID
		}
	}
	waiting, resumed := map[string]string{}, map[string]string{}
	for _, id := range o.ids["claim"] {
		var e struct {
			Input struct{ Key string }
			Nodes []struct{ NodeID, Status string }
		}
		o.send(http.MethodGet, "/executions/"+id, nil, &e)
		for _, n := range e.Nodes {
			if n.NodeID == "pay" && n.Status == "WAITING" {
				waiting[id] = e.Input.Key
			}
		}
		for _, event := range pages[struct{ Payload struct{ MessageID string } }](o, "/executions/"+id+
			"/events?") {
			if event.Payload.MessageID != "" {
				resumed[id] += event.Payload.MessageID
			}
		}
	}
	if diff := cmp.Diff(waiting, o.awaited()); diff != "" {
		o.t.Errorf("the list of waits (-executions +list):\n%s", diff)
	}
	if diff := cmp.Diff(resumed, by); diff != "" {
		o.t.Errorf("the messages (-logs +deliveries):\n%s", diff)
	}
	if len(waiting) == 0 || len(resumed) == 0 {
		o.t.Errorf("too weak: %d claims wait, messages resumed %d", len(waiting), len(resumed))
	}
}

// monthsConverge compares the ledger of the schedule with its executions.
func (o *turmoil) monthsConverge() {
	o.t.Helper()
	ledger := map[string]string{} // executions, by instant
	for _, run := range pages[struct{ DueAt, Outcome, ExecutionID string }](o, "/schedules/monthly/runs?") {
		if ledger[run.DueAt] != "" || run.Outcome != "STARTED" {
			o.t.Errorf("instant %s is %s, and was started as %q", run.DueAt, run.Outcome, ledger[run.DueAt])
		}
		ledger[run.DueAt] = run.ExecutionID
	}
	started := map[string]string{}
	for _, e := range pages[struct{ ExecutionID, Status, CorrelationID string }](o, "/executions?graphId=month") {
		due := strings.TrimPrefix(e.CorrelationID, "schedule:monthly:")
		if started[due] != "" || e.Status != "COMPLETED" {
			o.t.Errorf("instant %s was started as %q and %q, which is %s", due, started[due], e.ExecutionID, e.Status)
		}
		started[due] = e.ExecutionID
	}
	if diff := cmp.Diff(started, ledger); diff != "" || len(ledger) < 3 {
		o.t.Errorf("%d instants (-executions +ledger):\n%s", len(ledger), diff)
	}
}
