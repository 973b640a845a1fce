package test

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// view is an execution as it is read.
type view struct {
	ExecutionID string `json:"executionId"`
	Status      string `json:"status"`
	GraphID     string `json:"graphId"`
	StartedAt   string `json:"startedAt"`
	ArchivedAt  string `json:"archivedAt"`
	Seq         uint64 `json:"seq"`
	Cancel      *struct {
		Seq    uint64 `json:"seq"`
		Reason string `json:"reason"`
	} `json:"cancel"`
	Nodes []struct {
		NodeID      string `json:"nodeId"`
		Type        string `json:"type"`
		Status      string `json:"status"`
		Attempt     int    `json:"attempt"`
		NextAttempt int    `json:"nextAttempt"`
		WaitKey     string `json:"waitKey"`
		RetryAt     string `json:"retryAt"`
	} `json:"nodes"`
	Late []struct {
		Command string `json:"command"`
		NodeID  string `json:"nodeId"`
		Attempt int    `json:"attempt"`
		Guard   string `json:"guard"`
		Output  struct {
			By string `json:"by"`
		} `json:"output"`
		Error struct {
			Message string `json:"message"`
		} `json:"error"`
	} `json:"lateResults"`
}

func (v *view) ended() bool { return v.Status != "ACTIVE" }

// event is a line of the log.
type event struct {
	EventID       string `json:"eventId"`
	ExecutionID   string `json:"executionId"`
	Seq           uint64 `json:"seq"`
	Type          string `json:"type"`
	OccurredAt    string `json:"occurredAt"`
	CorrelationID string `json:"correlationId"`
	Actor         struct {
		Kind string `json:"kind"`
	} `json:"actor"`
	Payload struct {
		NodeID  string `json:"nodeId"`
		Attempt int    `json:"attempt"`
		Reason  string `json:"reason"`
	} `json:"payload"`
}

// events reads the whole log of an execution, page by page, and checks that its
// numbers have no gap.
func (c *client) events(id string) []event {
	var all []event
	for page := 1; ; page++ {
		var got struct {
			Items []event `json:"items"`
			Total int     `json:"total"`
		}
		path := "/executions/" + id + "/events?page_size=100&page=" + strconv.Itoa(page)
		if status := c.get(path, &got); status != http.StatusOK {
			c.t.Errorf("GET %s: %d", path, status)
			return all
		}
		for _, ev := range got.Items {
			if want := uint64(len(all) + 1); ev.Seq != want || ev.ExecutionID != id {
				c.t.Errorf("execution %s: event %d of %s where event %d belongs", id, ev.Seq, ev.ExecutionID, want)
			}
			all = append(all, ev)
		}
		if len(all) >= got.Total || len(got.Items) == 0 {
			if len(all) != got.Total {
				c.t.Errorf("execution %s: %d events in pages, %d in all", id, len(all), got.Total)
			}
			return all
		}
	}
}

// view reads an execution.
func (c *client) view(id string) (v view, ok bool) {
	status := c.get("/executions/"+id, &v)
	if status != http.StatusOK && status != http.StatusServiceUnavailable && status != 0 {
		c.t.Errorf("GET /executions/%s: %d", id, status)
	}
	return v, status == http.StatusOK
}

// list reads all executions with a status, or all with "".
func (c *client) list(status string) []view {
	var all []view
	for page := 1; ; page++ {
		var got struct {
			Items []view `json:"items"`
			Total int    `json:"total"`
		}
		path := "/executions?page_size=100&page=" + strconv.Itoa(page)
		if status != "" {
			path += "&status=" + status
		}
		if code := c.get(path, &got); code != http.StatusOK {
			c.t.Errorf("GET %s: %d", path, code)
			return all
		}
		all = append(all, got.Items...)
		if len(all) >= got.Total || len(got.Items) == 0 {
			return all
		}
	}
}

var terminals = map[string]string{
	"EXECUTION_COMPLETED": "COMPLETED", "EXECUTION_FAILED": "FAILED", "EXECUTION_CANCELED": "CANCELED",
}

// checkLog says what no log may hold, whatever happened: two ends, an attempt that
// started twice, anything that moves after the end or after a cancel, a step back in time.
func checkLog(t testing.TB, id string, log []event) (status string) {
	t.Helper()
	status = "ACTIVE"
	once := map[string]int{}
	started := map[string]int{}
	canceling := false
	for i, ev := range log {
		wrong := func(why string) { t.Errorf("execution %s, event %d %s: %s", id, ev.Seq, ev.Type, why) }
		node := ev.Payload.NodeID
		if (ev.Type == "EXECUTION_CREATED") != (i == 0) {
			wrong("creation is the first event and only that")
		}
		if i > 0 && ev.OccurredAt < log[i-1].OccurredAt { // all are written alike, in UTC
			wrong("at " + ev.OccurredAt + ", before the one before, " + log[i-1].OccurredAt)
		}
		if status != "ACTIVE" && ev.Type != "EXECUTION_ARCHIVED" {
			wrong("after the end, which was " + status)
		}
		switch ev.Type {
		case "EXECUTION_COMPLETED", "EXECUTION_FAILED", "EXECUTION_CANCELED":
			status = terminals[ev.Type]
			once["end"]++
		case "EXECUTION_CREATED", "EXECUTION_STARTED", "EXECUTION_ARCHIVED", "EXECUTION_CANCEL_REQUESTED":
			once[ev.Type]++
		case "NODE_SUCCEEDED", "NODE_FAILED", "NODE_CANCELED":
			once["end of "+node]++
		case "NODE_STARTED":
			started[node]++
			if ev.Payload.Attempt != started[node] {
				wrong(fmt.Sprintf("attempt %d of %s where attempt %d was due", ev.Payload.Attempt, node, started[node]))
			}
		}
		switch ev.Type {
		case "EXECUTION_CANCEL_REQUESTED":
			canceling = true
		case "NODE_INTERRUPT_REQUESTED", "NODE_CANCELED", "EXECUTION_CANCELED", "EXECUTION_ARCHIVED":
		default:
			if canceling {
				wrong("after the cancel was requested")
			}
		}
	}
	for what, n := range once {
		if n > 1 {
			t.Errorf("execution %s: %d times %s", id, n, what)
		}
	}
	return status
}

// effect is one thing that somebody outside caused.
type effect struct{ corr, execution, kind, node string }

// effects are the events by which the commands show.
var effects = map[string]string{
	"CreateExecution": "EXECUTION_CREATED", "StartExecution": "EXECUTION_STARTED",
	"CancelExecution":  "EXECUTION_CANCEL_REQUESTED",
	"ArchiveExecution": "EXECUTION_ARCHIVED", "StartNode": "NODE_STARTED",
	"ReportNodeProgress": "NODE_PROGRESS_REPORTED",
	"PutNodeWaiting":     "NODE_WAITING", "ResumeNode": "NODE_RESUME_REQUESTED", "SucceedNode": "NODE_SUCCEEDED",
	"FailNode": "NODE_FAIL_REPORTED", "CancelNode": "NODE_CANCEL_REQUESTED",
}

// books are a ledger and the logs of all executions, to be held against each other.
type books struct {
	t        testing.TB
	logs     map[string][]event
	views    map[string]view
	answered []*request
}

// openBooks reads everything that the server has.
func openBooks(t testing.TB, c *client, answered []*request) *books {
	b := &books{t: t, logs: map[string][]event{}, views: map[string]view{}, answered: answered}
	for _, item := range c.list("") {
		b.logs[item.ExecutionID] = c.events(item.ExecutionID)
		v, _ := c.view(item.ExecutionID)
		b.views[item.ExecutionID] = v
		if v.Status != item.Status || v.Seq != uint64(len(b.logs[item.ExecutionID])) {
			t.Errorf("execution %s: list says %s, view %s after %d of %d events", item.ExecutionID, item.Status,
				v.Status, v.Seq, len(b.logs[item.ExecutionID]))
		}
	}
	return b
}

// check holds the books against each other: everything acknowledged is in the log
// once, and the log holds nothing that was not acknowledged. (At the end every
// request has its answer.)
func (b *books) check() {
	b.t.Helper()
	ids := map[string]bool{}
	got := map[effect]int{}
	for id, log := range b.logs {
		if status := checkLog(b.t, id, log); status != b.views[id].Status {
			b.t.Errorf("execution %s is %s, its log says %s", id, b.views[id].Status, status)
		}
		for _, ev := range log {
			if ids[ev.EventID] {
				b.t.Errorf("execution %s: event id %s is there twice", id, ev.EventID)
			}
			ids[ev.EventID] = true
			if ev.Actor.Kind == "user" || ev.Actor.Kind == "external" {
				got[effect{ev.CorrelationID, id, ev.Type, ev.Payload.NodeID}]++
			}
		}
	}
	want := b.acknowledged()
	for e, n := range want {
		if got[e] != n {
			b.t.Errorf("%+v was acknowledged %d times, the log has it %d times", e, n, got[e])
		}
	}
	left := b.left()
	for e, n := range got {
		if want[e] == 0 && !(e.kind == "NODE_STARTED" && left[e.corr]) {
			b.t.Errorf("%+v was never acknowledged, the log has it %d times", e, n)
		}
	}
}

// left are the claims that were answered with nothing by one process, while another may
// have had them still: an empty claim is not remembered. What that one gave them
// nobody holds, as when a worker dies; the lease ends it.
func (b *books) left() map[string]bool {
	left := map[string]bool{}
	for _, r := range b.answered {
		if r.command == claim && r.tries > 1 && len(r.reply().Tasks) == 0 {
			left[r.corr] = true
		}
	}
	return left
}

// acknowledged are the effects that the ledger promises.
func (b *books) acknowledged() map[effect]int {
	want := map[effect]int{}
	late := map[string]int{}
	for _, r := range b.answered {
		a := r.reply()
		switch {
		case !r.accepted():
			b.refusal(r, &a)
			if a.Error.Details.Late {
				late[r.execution]++
			}
			continue
		case r.command == claim:
		case r.command == "CancelExecution":
			if b.canceled(r, &a) {
				want[effect{r.corr, r.execution, effects[r.command], ""}] = 1 // of two in one request one won
			}
		case r.command == "CreateExecution":
			want[effect{r.corr, a.ExecutionID, effects[r.command], ""}]++
		default:
			want[effect{r.corr, r.execution, effects[r.command], r.node}]++
		}
		if a.Task != nil {
			a.Tasks = append(a.Tasks, *a.Task)
		}
		for _, task := range a.Tasks {
			want[effect{r.corr, task.ExecutionID, "NODE_STARTED", task.NodeID}]++
		}
	}
	for id, n := range late {
		if got := len(b.views[id].Late); got != min(n, 100) {
			b.t.Errorf("execution %s keeps %d late results, %d were acknowledged", id, got, n)
		}
	}
	return want
}

// canceled checks an accepted cancel and says whether it was the one that won.
func (b *books) canceled(r *request, a *reply) bool {
	log := b.logs[r.execution]
	if b.views[r.execution].Status != "CANCELED" {
		b.t.Errorf("execution %s is %s, its cancel (key %s) was accepted", r.execution, b.views[r.execution].Status,
			r.key)
	}
	if a.CancelSeq == 0 || a.CancelSeq > uint64(len(log)) || log[a.CancelSeq-1].Type != "EXECUTION_CANCEL_REQUESTED" {
		b.t.Errorf("execution %s: cancelSeq %d is no cancel request", r.execution, a.CancelSeq)
		return false
	}
	return log[a.CancelSeq-1].CorrelationID == r.corr
}

// refusal checks that what a refusal gave as its cause is in the log.
func (b *books) refusal(r *request, a *reply) {
	log, d := b.logs[r.execution], a.Error.Details
	if d.Cause.Seq == 0 || d.Cause.Seq > uint64(len(log)) || log[d.Cause.Seq-1].EventID != d.Cause.EventID ||
		log[d.Cause.Seq-1].Type != d.Cause.Type {
		b.t.Errorf("%s (key %s) was refused because of event %+v, which is not in the log", r.path(), r.key, d.Cause)
	}
	if d.Guard == "cancel_fence" && (d.Fence == 0 || d.Fence > uint64(len(log)) ||
		log[d.Fence-1].Type != "EXECUTION_CANCEL_REQUESTED") {
		b.t.Errorf("%s (key %s) was refused at the fence %d, which is no cancel request", r.path(), r.key, d.Fence)
	}
}

// counts words how often things were counted, in order of their names.
func counts(m map[string]int) string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(m)) {
		parts = append(parts, fmt.Sprintf("%s %d", name, m[name]))
	}
	return strings.Join(parts, ", ")
}
