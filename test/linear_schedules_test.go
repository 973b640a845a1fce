package test

import (
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"renga.dev/renga/test/tier"
)

const (
	hotPlans   = 8  // schedules that all clients work on at a time
	opsPerPlan = 24 // then another takes its place

	leapDay      = "0 0 29 2 *" // the schedules come on it, so that they start nothing by themselves meanwhile
	firstLeapDay = 2004         // the year of the first instant
)

// TestTheHistoryOfSchedulesIsLinearizable lets clients store, pause, resume and delete schedules, ask for backfills of
// past instants and give them up, and read schedules, ledgers and how many executions were started, through all
// processes, while processes are killed and connections to the database are cut. Each schedule must look as if
// everything had happened one after the other, with nothing between but the start of what waits, the oldest first: none
// twice, none while it is paused or deleted.
func TestTheHistoryOfSchedulesIsLinearizable(t *testing.T) {
	tier.System(t)
	schedules := int64(100)
	if long() {
		schedules = 10_000
	}
	l := &linearSchedules{storm: newStorm(t, 18, 40)}
	for i := range l.hot {
		l.renew(l.hands[0].client, i)
	}
	l.rage(schedules*opsPerPlan, l.operate)
	l.judge(always(planModel), func(output any) bool { return output.(planAnswer).unknown })
	t.Logf("%d schedules; %d executions were seen started, %d instants queued", l.plans.Load(), l.started.Load(),
		l.queued.Load())
	l.atLeast("executions that were seen started", int(l.started.Load()), int(schedules)/4)
	l.atLeast("instants that were queued", int(l.queued.Load()), int(schedules))
	l.end()
}

// linearSchedules is one run of the test.
type linearSchedules struct {
	*storm
	hot     [hotPlans]atomic.Pointer[hotPlan]
	plans   atomic.Int64
	queued  atomic.Int64
	started atomic.Int64 // counted as often as they are seen
}

// hotPlan is a schedule that clients work on; its graph has the same name.
type hotPlan struct {
	name string
	ops  atomic.Int64
}

// renew puts another schedule in a place.
func (l *linearSchedules) renew(c *client, place int) {
	x := &hotPlan{name: fmt.Sprint("plan-", l.plans.Add(1))}
	const graph = `{"nodes":[{"nodeId":"s","type":"Start"},{"nodeId":"e","type":"Success"}],
		"edges":[{"from":"s","to":"e"}]}`
	for known := false; !known && !l.t.Failed(); { // to store it twice changes nothing
		_, known = l.say(c, http.MethodPut, "/graphs/"+x.name, "", graph)
	}
	l.hot[place].Store(x)
}

// operate does one operation on one of the schedules.
func (l *linearSchedules) operate(c *client) {
	place := c.roams.IntN(hotPlans)
	x := l.hot[place].Load()
	n := x.ops.Add(1)
	if n == opsPerPlan {
		l.renew(c, place)
	}
	q := planAsked{do: planPut}
	if n > 1 {
		q = l.choose(c)
	}
	called := l.now()
	if a, ok := l.ask(c, x, q); ok {
		l.note("schedule "+x.name, q, a, called)
		l.started.Add(int64(a.total))
	}
}

// choose draws an operation.
func (l *linearSchedules) choose(c *client) planAsked {
	n := c.roams.IntN(100)
	for _, choice := range []struct {
		do     string
		weight int
	}{
		{planPut, 12},
		{planDelete, 4},
		{planPause, 7},
		{planResume, 11},
		{planBackfill, 16},
		{planGiveUp, 4},
		{planGet, 14},
		{planRuns, 16},
		{planCount, 16},
	} {
		if n -= choice.weight; n < 0 {
			q := planAsked{do: choice.do}
			switch q.do {
			case planPut:
				q.input = c.roams.IntN(2)
			case planBackfill:
				q.from = c.roams.IntN(instants)
				q.to = q.from + 1 + c.roams.IntN(instants-q.from)
			}
			return q
		}
	}
	return planAsked{do: planGet}
}

// ask does an operation. A read without an answer is none.
func (l *linearSchedules) ask(c *client, x *hotPlan, q planAsked) (planAnswer, bool) {
	at := "/schedules/" + x.name
	switch q.do {
	case planGet:
		var seen planSeen
		return l.answer(q, c.get(at, &seen), &seen)
	case planRuns:
		return l.runs(c, at)
	case planCount:
		var page struct {
			Total int `json:"total"`
		}
		status := c.get("/executions?graphId="+x.name, &page)
		return planAnswer{total: page.Total}, status == http.StatusOK
	}
	c.keys++
	method, key, body := http.MethodPost, fmt.Sprint(c.name, "-", c.keys), "{}"
	switch q.do {
	case planPut:
		method, key = http.MethodPut, ""
		body = fmt.Sprintf(`{"graph":%q,"cron":%q,"input":{"n":%d}}`, x.name, leapDay, q.input)
	case planDelete:
		method, key, body = http.MethodDelete, "", ""
	case planGiveUp:
		method, key, body, at = http.MethodDelete, "", "", at+"/backfill"
	case planBackfill:
		at += "/backfill"
		body = fmt.Sprintf(`{"from":"%d-01-01T00:00:00Z","to":"%d-01-01T00:00:00Z"}`, firstLeapDay+4*q.from,
			firstLeapDay+4*q.to-3)
	default:
		at += "/" + q.do
	}
	got, known := l.say(c, method, at, key, body)
	if !known {
		return planAnswer{unknown: true}, true
	}
	var seen planSeen
	if got.status == http.StatusOK || got.status == http.StatusCreated {
		if err := json.Unmarshal([]byte(got.body), &seen); err != nil {
			l.t.Error(err)
		}
	}
	return l.answer(q, got.status, &seen)
}

// planSeen is what is read of a schedule, or of the answer to a backfill.
type planSeen struct {
	ID      string `json:"id"`
	Paused  bool   `json:"paused"`
	Queued  int    `json:"queued"`
	Covered int    `json:"covered"`
	Input   struct {
		N int `json:"n"`
	} `json:"input"`
}

// answer is an answer as the model sees it.
func (l *linearSchedules) answer(q planAsked, status int, seen *planSeen) (planAnswer, bool) {
	switch status {
	case http.StatusOK, http.StatusCreated, http.StatusNoContent, http.StatusNotFound:
	case 0:
		return planAnswer{}, false
	default:
		if status != http.StatusServiceUnavailable {
			l.t.Errorf("%+v: %d", q, status)
		}
		return planAnswer{}, false
	}
	a := planAnswer{status: status, queued: seen.Queued, covered: seen.Covered}
	if seen.ID != "" {
		a.seen = plan{exists: true, paused: seen.Paused, input: seen.Input.N}
	} else {
		l.queued.Add(int64(seen.Queued))
	}
	return a, true
}

// runs reads the ledger.
func (l *linearSchedules) runs(c *client, at string) (a planAnswer, ok bool) {
	var page struct {
		Items []struct {
			DueAt   time.Time `json:"dueAt"`
			Outcome string    `json:"outcome"`
			Reason  string    `json:"reason"`
		} `json:"items"`
	}
	a.status = c.get(at+"/runs", &page)
	for _, row := range page.Items {
		i := (row.DueAt.Year() - firstLeapDay) / 4
		if i < 0 || i >= instants || a.ledger[i] != "" {
			l.t.Errorf("%s: there is no instant for %+v", at, row)
			continue
		}
		a.ledger[i] = instant(strings.TrimSpace(row.Outcome + " " + row.Reason))
	}
	return a, a.status == http.StatusOK || a.status == http.StatusNotFound
}
