package sim

import (
	"bytes"
	"context"
	"fmt"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"renga.dev/renga/internal/workflow/engine"
	"renga.dev/renga/internal/workflow/flow"
)

// audit follows the committed log of every execution, row by row, with its own
// copy of the states, and checks each record against them.
type audit struct {
	w      *World
	reader *engine.Engine // reads only; never steps
	all    []*audited     // in order of appearance
	byID   map[flow.ID]*audited
	events map[flow.ID]bool // IDs of all events
	keys   map[logKey]flow.Time
	clean  map[flow.ID]bool // executions that clean up after another one
}

// audited is one execution as its log tells it.
type audited struct {
	tenant   string
	num      int64
	state    flow.State
	plan     *flow.Plan
	commits  int
	data     map[uint64]flow.Data // of events with much data
	starts   map[attempt]*flow.NodeStarted
	past     []past // some states that it had
	late     int    // results that were kept as evidence
	canceled bool   // a client was told so
}

// past is a state after an event, in its stored form.
type past struct {
	seq   uint64
	state []byte
}

type attempt struct {
	node string
	n    int
}

// logKey is what a key is unique for in a log.
type logKey struct {
	execution          flow.ID
	command, node, key string
}

// logged is what the audit reads of a record in a log row; events come from the
// engine's own reader.
type logged struct {
	Command string           `json:"c"`
	Node    string           `json:"n"`
	Key     string           `json:"k"`
	At      int64            `json:"t"`
	Events  []jsontext.Value `json:"e"`
	Refused refused          `json:"f"`
	Late    jsontext.Value   `json:"l"`
}

type refused struct {
	Guard flow.Guard `json:"g"` // "" when the command was accepted
}

func newAudit(w *World) *audit {
	a := &audit{
		w: w, byID: map[flow.ID]*audited{}, events: map[flow.ID]bool{}, keys: map[logKey]flow.Time{},
		clean: map[flow.ID]bool{},
	}
	a.reader = engine.New(w.mem, w.clock, engine.Config{Seed: new([32]byte)})
	return a
}

// catchUp follows all logs to their ends.
func (a *audit) catchUp() {
	for _, h := range a.w.mem.heads(func(*engine.Head) bool { return true }) {
		a.follow(&h)
	}
}

// one follows the log of one execution and gives it; nil if there is none.
func (a *audit) one(tenant string, id flow.ID) *audited {
	x, err := a.w.mem.find(tenant, id)
	if err != nil {
		return nil
	}
	return a.follow(&x.head)
}

func (a *audit) follow(h *engine.Head) *audited {
	defer func(calm bool) { a.w.calm = calm }(a.w.calm)
	a.w.calm = true
	x := a.byID[h.ID]
	if x == nil {
		x = &audited{
			tenant: h.Tenant, num: h.Num, data: map[uint64]flow.Data{},
			starts: map[attempt]*flow.NodeStarted{},
		}
		a.all, a.byID[h.ID] = append(a.all, x), x
		a.w.stress.Executions++
	}
	stored, _ := a.w.mem.find(h.Tenant, h.ID)
	for x.commits < len(stored.log) && a.w.err == nil {
		row := &stored.log[x.commits]
		x.commits++
		if err := a.row(h.ID, x, row); err != nil {
			a.w.fail("execution %v, commit %d: %v", h.ID, row.CommitNo, err)
		}
	}
	return x
}

// row checks one row of a log and takes it over.
func (a *audit) row(id flow.ID, x *audited, row *engine.LogRow) error {
	if row.CommitNo != int64(x.commits) || row.FirstSeq != x.state.Seq+1 {
		return fmt.Errorf("it follows commit %d and event %d", x.commits-1, x.state.Seq)
	}
	if row.Snapshot != nil {
		a.w.stress.Snapshots++
	}
	var records []logged
	if err := json.Unmarshal(row.Body, &records); err != nil {
		return err
	}
	var events []flow.Event
	if n := int(row.LastSeq + 1 - row.FirstSeq); n > 0 {
		var err error
		if events, _, err = a.reader.Events(context.Background(), x.tenant, id, row.FirstSeq, n); err != nil {
			return err
		}
	}
	for i := range records {
		n := min(len(records[i].Events), len(events))
		if err := a.record(id, x, &records[i], events[:n]); err != nil {
			return fmt.Errorf("%s %s: %w", records[i].Command, records[i].Node, err)
		}
		events = events[n:]
	}
	if x.state.Seq != row.LastSeq {
		return fmt.Errorf("it says that it ends with event %d, and ends with %d", row.LastSeq, x.state.Seq)
	}
	if row.CommitNo%4 != 0 {
		return nil
	}
	state, err := flow.AppendState(nil, &x.state)
	x.past = append(x.past, past{x.state.Seq, state})
	return err
}

// record checks that a command was decided as it had to be, once, and follows its events.
func (a *audit) record(id flow.ID, x *audited, r *logged, events []flow.Event) error {
	if r.Key != "" {
		if err := a.decided(id, x, r); err != nil {
			return err
		}
	}
	if r.Refused.Guard != "" && len(events) > 0 {
		return fmt.Errorf("it was refused and has events")
	}
	if r.Command == (flow.Expire{}).Name() {
		a.w.stress.Expired++
	}
	if r.Late != nil {
		x.late++
	}
	canceling := x.state.CancelSeq > 0
	for i := range events {
		if err := a.event(x, &events[i], canceling); err != nil {
			return fmt.Errorf("event %d %v: %w", events[i].Seq, events[i].Type, err)
		}
	}
	if x.plan == nil {
		return a.compile(x)
	}
	if r.Command == (flow.Cancel{}).Name() && r.Refused.Guard == "" && x.state.Status != flow.Canceled {
		return fmt.Errorf("it was accepted and the execution is %v", x.state.Status)
	}
	if r.Command == (flow.Cancel{}).Name() && len(events) > 0 {
		return a.cleanup(x)
	}
	return nil
}

// cleanup checks what a cancel started beside: one execution for one that had begun, stored as soon as the cancel is.
func (a *audit) cleanup(x *audited) error {
	s, on := &x.state, x.plan.Graph.OnCancel
	id := s.Compensation
	switch wanted := on != nil && s.StartedAt != 0; {
	case wanted == id.IsZero():
		return fmt.Errorf("cleaned up after by %v, wanted: %v", id, wanted)
	case !wanted:
		return nil
	case a.clean[id]:
		return fmt.Errorf("%v cleans up after another execution", id)
	}
	a.clean[id] = true
	stored, err := a.w.mem.find(x.tenant, id)
	if err != nil {
		return fmt.Errorf("cleaned up after by %v: %w", id, err)
	}
	first, _, err := a.reader.Events(context.Background(), x.tenant, id, 1, 1)
	if err != nil {
		return err
	}
	var input struct {
		ExecutionID flow.ID
		Input       flow.Data
		Outputs     map[string]flow.Data
		OutputRefs  map[string]struct{ Seq uint64 }
	}
	if err := json.Unmarshal(flow.DataOf(first[0].Payload), &input, json.MatchCaseInsensitiveNames(true)); err != nil {
		return err
	}
	if input.ExecutionID != s.Execution || stored.head.GraphID != on.Graph || !bytes.Equal(input.Input, s.Input) {
		return fmt.Errorf("graph %s cleans up after %v with input %s", stored.head.GraphID, input.ExecutionID,
			input.Input)
	}
	for _, n := range s.Nodes {
		data := input.Outputs[n.ID]
		if ref, ok := input.OutputRefs[n.ID]; ok {
			data = x.data[ref.Seq]
		}
		if !bytes.Equal(data, x.output(n.Output)) {
			return fmt.Errorf("%v got the output %.80s of %s, want %.80s", id, data, n.ID, x.output(n.Output))
		}
	}
	a.w.stress.Cleanups++
	a.w.executions = append(a.w.executions, id)
	return nil
}

// decided checks a record with a key: nobody decided the key before, the client
// has not been told that nothing was done, and the guards said what they had to.
func (a *audit) decided(id flow.ID, x *audited, r *logged) error {
	k := logKey{id, r.Command, r.Node, r.Key}
	if at, twice := a.keys[k]; twice && !a.w.over(at) {
		return fmt.Errorf("key %s was decided before", r.Key)
	}
	a.keys[k] = flow.Time(r.At)
	o := a.w.orders.all[r.Key]
	if o == nil {
		return fmt.Errorf("nobody sent key %s", r.Key)
	}
	if len(o.flights) == 0 && !o.unknown {
		return fmt.Errorf("the client of key %s was told that nothing was done", r.Key)
	}
	o.logged = flow.Time(r.At)
	if x.plan == nil {
		return nil // a creation: no guard looks at it
	}
	if want := guard(&x.state, x.plan, o.req.Command); want != r.Refused.Guard {
		return fmt.Errorf("key %s: refused by %q, want %q", r.Key, r.Refused.Guard, want)
	}
	return nil
}

// event checks one event against the state before it and applies it.
func (a *audit) event(x *audited, ev *flow.Event, canceling bool) error {
	s := &x.state
	switch {
	case ev.Seq != s.Seq+1:
		return fmt.Errorf("it follows %d", s.Seq)
	case a.events[ev.ID]:
		return fmt.Errorf("its ID %v is another event's", ev.ID)
	case s.Status.Terminal() && ev.Type != flow.ExecutionArchivedType:
		return fmt.Errorf("the execution is %v", s.Status)
	case canceling && ev.Type != flow.ExecutionArchivedType:
		return fmt.Errorf("the execution was to be canceled at %d", s.CancelSeq)
	}
	a.events[ev.ID] = true
	a.w.stress.Events++
	n, _ := s.Find(ev.Payload.Node())
	switch p := ev.Payload.(type) {
	case *flow.NodeStarted:
		if n.Status != flow.NodeIsReady || p.Attempt != n.Attempt+1 {
			return fmt.Errorf("attempt %d follows attempt %d, %v", p.Attempt, n.Attempt, n.Status)
		}
		x.starts[attempt{p.NodeID, p.Attempt}] = p
	case *flow.NodeSucceeded:
		if n.Kind == flow.TaskKind && n.Status != flow.NodeIsRunning {
			return fmt.Errorf("the node is %v", n.Status)
		}
	}
	if data := flow.DataOf(ev.Payload); len(data) > flow.MaxInline {
		x.data[ev.Seq] = bytes.Clone(data)
		a.w.stress.Large++
	}
	x.state = flow.Apply(x.state, *ev)
	return nil
}

func (a *audit) compile(x *audited) error {
	row, err := a.w.mem.Graph(context.Background(), x.tenant, x.state.GraphID, x.state.GraphVersion)
	if err != nil {
		return err
	}
	g, err := flow.ParseGraph(row.Body, false)
	if err != nil {
		return err
	}
	x.plan, err = g.Compile(row.ID, row.Version)
	return err
}

// output is the data of a blob.
func (x *audited) output(b flow.Blob) flow.Data {
	if b.Seq == 0 {
		return b.Inline
	}
	return x.data[b.Seq]
}
