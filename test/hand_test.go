package test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
)

// graphs are what the hands run: steps in a row, waits for people, forks with
// every way to join, tasks that are tried again and tasks that run out of time.
var graphs = map[string]string{
	"line": `{"nodes":[{"nodeId":"start","type":"Start"},{"nodeId":"a","type":"Task","queue":"work"},
		{"nodeId":"b","type":"Task","queue":"work"},{"nodeId":"c","type":"Task","queue":"work"},
		{"nodeId":"end","type":"Success"}],
		"edges":[{"from":"start","to":"a"},{"from":"a","to":"b"},{"from":"b","to":"c"},{"from":"c","to":"end"}]}`,
	"flaky": `{"nodes":[{"nodeId":"start","type":"Start"},
		{"nodeId":"a","type":"Task","queue":"work","timeout":"2s","retry":{"maxAttempts":4,"initialInterval":"5ms"}},
		{"nodeId":"b","type":"Task","queue":"rare","timeout":"300ms","retry":{"maxAttempts":3,"initialInterval":"0s"}},
		{"nodeId":"end","type":"Success"},{"nodeId":"bad","type":"Failed"}],
		"edges":[{"from":"start","to":"a"},{"from":"a","to":"b"},{"from":"b","to":"end"},
		{"from":"b","to":"bad","on":"failure"}]}`,
	"asks": `{"nodes":[{"nodeId":"start","type":"Start"},{"nodeId":"ask","type":"Wait","waitKey":"yes"},
		{"nodeId":"a","type":"Task","queue":"work"},{"nodeId":"end","type":"Success"}],
		"edges":[{"from":"start","to":"ask"},{"from":"ask","to":"a"},{"from":"a","to":"end"}]}`,
	"all": `{"nodes":[{"nodeId":"start","type":"Start"},{"nodeId":"fork","type":"Fork"},
		{"nodeId":"a","type":"Task","queue":"work"},
		{"nodeId":"b","type":"Task","queue":"work","retry":{"maxAttempts":2,"initialInterval":"1ms"}},
		{"nodeId":"ask","type":"Wait"},
		{"nodeId":"join","type":"Join","policy":"ALL_DONE"},{"nodeId":"z","type":"Task","queue":"work"},
		{"nodeId":"end","type":"Success"}],
		"edges":[{"from":"start","to":"fork"},{"from":"fork","to":"a"},{"from":"fork","to":"b"},
		{"from":"fork","to":"ask"},
		{"from":"a","to":"join"},{"from":"b","to":"join"},{"from":"ask","to":"join"},{"from":"join","to":"z"},
		{"from":"z","to":"end"}]}`,
	"diary": `{"nodes":[{"nodeId":"start","type":"Start"},{"nodeId":"a","type":"Task","queue":"mine"},
		{"nodeId":"end","type":"Success"}],
		"edges":[{"from":"start","to":"a"},{"from":"a","to":"end"}]}`,
	"any": `{"nodes":[{"nodeId":"start","type":"Start"},{"nodeId":"fork","type":"Fork"},
		{"nodeId":"a","type":"Task","queue":"work"},
		{"nodeId":"b","type":"Task","queue":"rare"},{"nodeId":"join","type":"Join","policy":"ANY_SUCCESS"},
		{"nodeId":"end","type":"Success"}],
		"edges":[{"from":"start","to":"fork"},{"from":"fork","to":"a"},{"from":"fork","to":"b"},
		{"from":"a","to":"join"},{"from":"b","to":"join"},{"from":"join","to":"end"}]}`,
}

var graphNames = []string{"all", "any", "asks", "flaky", "line"}

// hand is one of the many: it starts executions and steers them, and works on the
// tasks of everybody's.
type hand struct {
	*client
	rand *rand.Rand
	own  []string          // executions that it created and does not know to have ended
	past []string          // executions that ended
	held []task            // tasks in its hands
	seen map[string]uint64 // the newest event of an execution that it was shown
	end  map[string]string // the end of an execution that it was shown

	diary string // an execution that grows long enough for snapshots
	lease int    // seconds, of most tasks that it claims
}

func newHand(c *client, seed uint64) *hand {
	c.roams = rand.New(rand.NewPCG(seed, 2))
	return &hand{
		client: c, rand: rand.New(rand.NewPCG(seed, 1)), lease: 60, seen: map[string]uint64{},
		end: map[string]string{},
	}
}

const maxOwn = 12 // executions that a hand steers at a time

// run does one thing after the other until ctx ends or enough says so.
func (h *hand) run(ctx context.Context, enough func() bool) {
	deeds := []struct {
		weight int
		do     func(context.Context) error
	}{
		{6, h.create},
		{4, h.createMany},
		{6, h.claim},
		{30, h.work},
		{4, h.workAll},
		{6, h.parkAndResume},
		{5, h.steer},
		{3, h.startNode},
		{2, h.cancel},
		{2, h.cancelNode},
		{4, h.archive},
		{4, h.sayAgain},
		{5, h.look},
		{6, h.write},
	}
	total := 0
	for _, d := range deeds {
		total += d.weight
	}
	for ctx.Err() == nil && !enough() && !h.t.Failed() {
		n := h.rand.IntN(total)
		for _, d := range deeds {
			if n -= d.weight; n < 0 {
				if err := d.do(ctx); err != nil && ctx.Err() == nil && !errors.Is(err, errUnanswered) {
					h.t.Error(err)
				}
				break
			}
		}
	}
}

// post sends one command until it is answered.
func (h *hand) post(ctx context.Context, command, execution, node, format string, args ...any) (*request, error) {
	r := h.request(command, execution, node, fmt.Sprintf(format, args...))
	err := h.do(ctx, r)
	return r, err
}

func (h *hand) create(ctx context.Context) error {
	if len(h.own) >= maxOwn {
		return nil
	}
	r, err := h.post(ctx, "CreateExecution", "", "", `"graphId":%q,"input":{"by":%q}`,
		graphNames[h.rand.IntN(len(graphNames))], h.name)
	if err != nil || r.status == http.StatusConflict {
		return err
	}
	id := r.reply().ExecutionID
	h.own = append(h.own, id)
	_, err = h.post(ctx, "StartExecution", id, "", "")
	return err
}

// createMany creates and starts by POST /commands, and works the first task of
// one in the same request that starts it.
func (h *hand) createMany(ctx context.Context) error {
	if len(h.own) >= maxOwn {
		return nil
	}
	var rs []*request
	for range 1 + h.rand.IntN(4) {
		rs = append(rs, h.request("CreateExecution", "", "", `"graphId":"line","input":{"many":true}`))
	}
	if err := h.batch(ctx, rs...); err != nil {
		return err
	}
	var next []*request
	for _, r := range rs {
		id := r.reply().ExecutionID
		h.own = append(h.own, id)
		next = append(next, h.request("StartExecution", id, "", ""))
	}
	id := h.own[len(h.own)-1]
	next = append(next, h.request("StartNode", id, "a", `"attempt":1,"workerId":"`+h.name+`"`),
		h.request("ReportNodeProgress", id, "a", `"progress":50,"attempt":1`),
		h.request("SucceedNode", id, "a", `"attempt":1,"next":true`))
	if h.rand.IntN(3) == 0 {
		next = append(next, h.request("CancelExecution", h.own[len(h.own)-h.rand.IntN(len(rs))-1], "", ""))
	}
	err := h.batch(ctx, next...)
	for _, r := range next {
		h.take(r)
	}
	return err
}

// take keeps the tasks of an answer.
func (h *hand) take(r *request) {
	if !r.accepted() {
		return
	}
	a := r.reply()
	h.held = append(h.held, a.Tasks...)
	if a.Task != nil {
		h.held = append(h.held, *a.Task)
	}
}

func (h *hand) claim(ctx context.Context) error {
	if len(h.held) > 8 {
		return nil
	}
	queues, lease := `["work"]`, h.lease
	if h.rand.IntN(4) == 0 {
		queues, lease = `["rare","work"]`, 1
	}
	r, err := h.post(ctx, claim, "", "", `"workerId":%q,"queues":%s,"max":%d,"waitSeconds":%d,"leaseSeconds":%d`,
		h.name, queues, 1+h.rand.IntN(4), h.rand.IntN(2), lease)
	if err != nil {
		return err
	}
	if lease == 1 && h.rand.IntN(4) == 0 {
		return nil // drop them: the leases run out, over a restart or not
	}
	h.take(r)
	return nil
}

// work does something with one held task.
func (h *hand) work(ctx context.Context) error {
	if len(h.held) == 0 {
		return nil
	}
	i := h.rand.IntN(len(h.held))
	t := h.held[i]
	if h.rand.IntN(5) == 0 {
		_, err := h.post(ctx, "ReportNodeProgress", t.ExecutionID, t.NodeID,
			`"progress":%d,"message":"on it","workerId":%q`, h.rand.IntN(101), h.name)
		return err
	}
	h.held = slices.Delete(h.held, i, i+1)
	r := h.finish(t)
	err := h.do(ctx, r)
	h.take(r)
	return err
}

// finish is how a task ends, well or badly.
func (h *hand) finish(t task) *request {
	head := fmt.Sprintf(`"attempt":%d,"workerId":%q,"next":%v`, t.Attempt, h.name, h.rand.IntN(2) == 0)
	if h.rand.IntN(6) == 0 {
		return h.request("FailNode", t.ExecutionID, t.NodeID, head+`,"error":{"code":"OUT_OF_PAPER","message":"by `+
			h.name+`"}`)
	}
	note := ""
	if h.rand.IntN(8) == 0 {
		note = strings.Repeat("much to say ", 500) // more than a state holds inline
	}
	return h.request("SucceedNode", t.ExecutionID, t.NodeID, head+`,"output":{"by":"`+h.name+`","note":"`+note+`"}`)
}

// workAll finishes all held tasks in one request.
func (h *hand) workAll(ctx context.Context) error {
	if len(h.held) < 2 {
		return nil
	}
	var rs []*request
	for _, t := range h.held {
		rs = append(rs, h.finish(t))
	}
	h.held = nil
	err := h.batch(ctx, rs...)
	for _, r := range rs {
		h.take(r)
	}
	return err
}

// parkAndResume lets a held task wait for somebody and wakes it again.
func (h *hand) parkAndResume(ctx context.Context) error {
	if len(h.held) == 0 {
		return nil
	}
	t := h.held[h.rand.IntN(len(h.held))]
	if _, err := h.post(ctx, "PutNodeWaiting", t.ExecutionID, t.NodeID,
		`"waitKey":"k","prompt":{"ask":"go on?"}`); err != nil {
		return err
	}
	_, err := h.post(ctx, "ResumeNode", t.ExecutionID, t.NodeID, `"resumeKey":"k"`)
	return err
}

// show reads an execution. What was shown once stays: its events do not become
// fewer, its end is the end.
func (h *hand) show(id string) (view, bool) {
	v, ok := h.view(id)
	if !ok {
		return v, false
	}
	if v.Seq < h.seen[id] {
		h.t.Errorf("execution %s has %d events, it was shown with %d", id, v.Seq, h.seen[id])
	}
	if end := h.end[id]; end != "" && v.Status != end {
		h.t.Errorf("execution %s is %s, it was shown as %s", id, v.Status, end)
	}
	h.seen[id] = v.Seq
	if v.ended() {
		h.end[id] = v.Status
	}
	return v, true
}

// pick reads one of the hand's executions, and notes when it has ended.
func (h *hand) pick() (view, bool) {
	if len(h.own) == 0 {
		return view{}, false
	}
	i := h.rand.IntN(len(h.own))
	v, ok := h.show(h.own[i])
	if ok && v.ended() {
		h.past = append(h.past, h.own[i])
		h.own = slices.Delete(h.own, i, i+1)
	}
	return v, ok
}

// steer resumes what waits for a person.
func (h *hand) steer(ctx context.Context) error {
	v, ok := h.pick()
	if !ok || v.ended() {
		return nil
	}
	if v.StartedAt == "" {
		_, err := h.post(ctx, "StartExecution", v.ExecutionID, "", "")
		return err
	}
	for _, n := range v.Nodes {
		if n.Status == "WAITING" && n.Type == "Wait" {
			_, err := h.post(
				ctx,
				"ResumeNode",
				v.ExecutionID,
				n.NodeID,
				`"resumeKey":"yes","output":{"by":%q}`,
				h.name,
			)
			return err
		}
	}
	return nil
}

// startNode takes a ready task without a claim.
func (h *hand) startNode(ctx context.Context) error {
	v, ok := h.pick()
	if !ok {
		return nil
	}
	for _, n := range v.Nodes {
		if n.Status != "READY" {
			continue
		}
		r, err := h.post(
			ctx,
			"StartNode",
			v.ExecutionID,
			n.NodeID,
			`"attempt":%d,"workerId":%q`,
			n.NextAttempt,
			h.name,
		)
		if err == nil && r.accepted() {
			h.held = append(h.held, task{v.ExecutionID, n.NodeID, n.NextAttempt})
		}
		return err
	}
	return nil
}

func (h *hand) cancel(ctx context.Context) error {
	if len(h.own) == 0 {
		return nil
	}
	id := h.own[h.rand.IntN(len(h.own))]
	if h.rand.IntN(4) > 0 {
		_, err := h.post(ctx, "CancelExecution", id, "", `"reason":"by %s"`, h.name)
		return err
	}
	return h.batch(ctx, h.request("CancelExecution", id, "", ""), h.request("CancelExecution", id, "",
		`"reason":"twice"`))
}

func (h *hand) cancelNode(ctx context.Context) error {
	v, ok := h.pick()
	if !ok || v.ended() {
		return nil
	}
	for _, i := range h.rand.Perm(len(v.Nodes)) {
		if n := v.Nodes[i]; n.Status == "READY" || n.Status == "RUNNING" || n.Status == "WAITING" {
			_, err := h.post(ctx, "CancelNode", v.ExecutionID, n.NodeID, `"reason":"not needed"`)
			return err
		}
	}
	return nil
}

func (h *hand) archive(ctx context.Context) error {
	if len(h.past) == 0 {
		return nil
	}
	_, err := h.post(ctx, "ArchiveExecution", h.past[h.rand.IntN(len(h.past))], "", "")
	return err
}

// write adds to the one long execution of the hand.
func (h *hand) write(ctx context.Context) error {
	if h.diary == "" {
		r, err := h.post(ctx, "CreateExecution", "", "", `"graphId":"diary"`)
		if err != nil {
			return err
		}
		h.diary = r.reply().ExecutionID
		return h.batch(ctx, h.request("StartExecution", h.diary, "", ""), h.request("StartNode", h.diary, "a",
			`"attempt":1`))
	}
	_, err := h.post(ctx, "ReportNodeProgress", h.diary, "a", `"metrics":{"page":%d,"text":%q}`, h.keys,
		strings.Repeat("dear diary ", 400))
	return err
}

// sayAgain repeats something that was answered long ago, perhaps by a process
// that is dead.
func (h *hand) sayAgain(ctx context.Context) error {
	for range 5 {
		if len(h.ledger) == 0 {
			return nil
		}
		r := h.ledger[h.rand.IntN(len(h.ledger))]
		if r.command == claim && len(r.reply().Tasks) == 0 {
			continue // an empty claim is not remembered
		}
		return h.repeat(ctx, r)
	}
	return nil
}

func (h *hand) look(context.Context) error {
	if len(h.past) > 0 && h.rand.IntN(2) == 0 {
		h.show(h.past[h.rand.IntN(len(h.past))])
		return nil
	}
	h.pick()
	return nil
}

// layDown finishes what is in the hand.
func (h *hand) layDown(ctx context.Context) {
	if h.diary != "" {
		h.held = append(h.held, task{h.diary, "a", 1})
		h.diary = ""
	}
	for len(h.held) > 0 && ctx.Err() == nil && !h.t.Failed() {
		t := h.held[0]
		h.held = h.held[1:]
		r, err := h.post(ctx, "SucceedNode", t.ExecutionID, t.NodeID, `"attempt":%d,"workerId":%q,"next":true`,
			t.Attempt, h.name)
		if err == nil {
			h.take(r)
		}
	}
}

// clear works until no execution is active any more.
func (h *hand) clear(ctx context.Context) {
	for ctx.Err() == nil && !h.t.Failed() {
		active := h.list("ACTIVE")
		if len(active) == 0 {
			return
		}
		for _, item := range active {
			h.own = []string{item.ExecutionID}
			if err := h.steer(ctx); err != nil {
				return
			}
			h.wake(ctx, item.ExecutionID)
		}
		r, err := h.post(
			ctx,
			claim,
			"",
			"",
			`"workerId":%q,"queues":["work","rare"],"max":100,"waitSeconds":1`,
			h.name,
		)
		if err != nil {
			return
		}
		h.take(r)
		h.layDown(ctx)
	}
}

// wake resumes the tasks of an execution that somebody parked.
func (h *hand) wake(ctx context.Context, id string) {
	v, ok := h.view(id)
	if !ok {
		return
	}
	for _, n := range v.Nodes {
		if n.Status != "WAITING" || n.Type != "Task" {
			continue
		}
		r, err := h.post(ctx, "ResumeNode", id, n.NodeID, `"resumeKey":"k"`)
		if err == nil && r.accepted() {
			h.held = append(h.held, task{id, n.NodeID, n.Attempt})
		}
	}
}
