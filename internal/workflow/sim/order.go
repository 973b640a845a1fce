package sim

import (
	"fmt"
	"reflect"
	"slices"

	"renga.dev/renga/internal/platform/canonical"
	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/workflow/engine"
	"renga.dev/renga/internal/workflow/flow"
)

// order is a command that a client wants done, and what it was told so far. A
// client repeats an order with its key until it is answered.
type order struct {
	req     engine.Request
	body    []byte
	flights []*machine     // where it is under way
	unknown bool           // it was under way when an engine died: it may have been done
	poison  bool           // nothing can be done with it as long as the disk is as it is
	lost    bool           // what it names does not exist for its tenant
	answer  *engine.Answer // what the client was told
	at      flow.Time      // when that was decided
	logged  flow.Time      // when the log says that it was decided last
}

// orders are those of all clients.
type orders struct {
	w      *World
	placed int // so far, claims too
	all    map[string]*order
	open   []*order // not answered yet
	done   []*order // answered
}

// place writes a new order.
func (b *orders) place(tenant string, execution flow.ID, cmd flow.Command) *order {
	b.placed++
	key := fmt.Sprintf("k%05d", b.placed)
	o := &order{body: fmt.Appendf(nil, `{"command":%q,"n":%d,"on":%q}`, cmd.Name(), b.placed, cmd.Target())}
	o.req = engine.Request{
		Tenant: tenant, Execution: execution, Command: cmd, Idempotency: b.w.keyOf(key, cmd.Name(), o.body),
		Actor: flow.Actor{Kind: flow.KindUser, ID: "ann"}, CorrelationID: "c" + key,
	}
	b.all[key] = o
	b.open = append(b.open, o)
	return o
}

func (w *World) keyOf(key, endpoint string, body []byte) canonical.IdempotencyKey {
	idempotencyKey, err := canonical.ParseIdempotencyKey(key, endpoint, body)
	if err != nil {
		w.fail("body %s: %v", body, err)
	}
	return idempotencyKey
}

// another is the identity of the same key with another body.
func (w *World) another(key canonical.IdempotencyKey, body []byte) canonical.IdempotencyKey {
	return w.keyOf(key.Key, key.Endpoint, append(body[:len(body)-1:len(body)-1], `,"reason":"x"}`...))
}

// landed notes that an order is no longer under way at a machine.
func (o *order) landed(m *machine) {
	i := slices.Index(o.flights, m)
	o.flights = slices.Delete(o.flights, i, i+1)
}

// settled takes an answer to an order and checks it.
func (b *orders) settled(m *machine, o *order, res engine.Result) {
	defer o.landed(m)
	b.w.trace.say("  %s", describe(o, res))
	if res.Err != nil {
		b.declined(o, res.Err)
		return
	}
	ans := res.Answer
	b.w.stress.Acks++
	if ans.Replay {
		b.replayed(o, &ans)
	} else {
		b.decided(o, &ans)
	}
	o.unknown = false
	if o.answer == nil {
		ans.Replay = false
		o.answer = &ans
	}
}

// replayed checks an answer from memory: it is the first one again.
func (b *orders) replayed(o *order, ans *engine.Answer) {
	b.w.stress.Replays++
	first := *ans
	first.Replay = false
	switch {
	case o.answer == nil && !o.unknown:
		b.w.fail("%s: answered from memory, but it was never done", o.req.Idempotency.Key)
	case o.answer != nil && reflect.DeepEqual(*o.answer, first):
		if !o.unknown && o.at+b.w.retention <= flow.At(b.w.clock.Now()) {
			b.w.fail("%s: answered from memory, but its key of %v has expired", o.req.Idempotency.Key, o.at)
		}
	case o.answer != nil && o.unknown: // it had expired, and was decided anew when the engine died
		o.answer = nil
		b.decided(o, &first)
	case o.answer != nil:
		b.w.fail("%s: answered\n%+v, at first\n%+v", o.req.Idempotency.Key, show(&first), show(o.answer))
	default:
		b.decided(o, &first)
	}
}

// decided checks a first answer: it is durable, and it says what the log says.
func (b *orders) decided(o *order, ans *engine.Answer) {
	if o.answer != nil && !b.w.expired(o) {
		b.w.fail("%s: decided again, at first: %s", o.req.Idempotency.Key, show(o.answer))
		return
	}
	if o.answer != nil {
		b.w.stress.Forgot++
		o.answer = nil
	}
	if _, ok := o.req.Command.(flow.Create); ok && ans.Refused != nil {
		b.held(o, ans)
		return
	}
	x := b.w.audit.one(o.req.Tenant, ans.Execution)
	if x == nil {
		b.w.fail("%s: execution %v is not stored", o.req.Idempotency.Key, ans.Execution)
		return
	}
	if !b.remembered(o, ans.Execution) {
		b.w.fail("%s: answered before it was durable", o.req.Idempotency.Key)
	}
	b.count(o, ans)
	o.at = o.logged
	switch c := o.req.Command.(type) {
	case flow.Create:
		if x.state.RerunOf != c.RerunOf {
			b.w.fail("%s: it does %v again, want %v", o.req.Idempotency.Key, x.state.RerunOf, c.RerunOf)
		}
		o.at = x.state.CreatedAt
		b.w.executions = append(b.w.executions, ans.Execution)
	case flow.Cancel:
		if ans.Refused == nil {
			x.canceled = true
			if ans.CancelSeq != x.state.CancelSeq || ans.CancelSeq == 0 {
				b.w.fail("%s: cancel won at %d, want %d", o.req.Idempotency.Key, ans.CancelSeq, x.state.CancelSeq)
			}
		}
	}
	if ans.Task != nil {
		b.w.stress.Next++
		b.w.crew.got(x, *ans.Task, "")
	}
	b.gotEager(o, x, ans.Tasks)
}

// held checks that a creation was refused since another execution had its business key at that time.
func (b *orders) held(o *order, ans *engine.Answer) {
	key := &o.req.Idempotency
	row, durable := b.w.mem.remembered(engine.KeyRef{Tenant: o.req.Tenant, Endpoint: key.Endpoint, Key: key.Key})
	if !durable {
		b.w.fail("%s: refused before that was durable", key.Key)
		return
	}
	b.count(o, ans)
	b.w.stress.Held++
	o.at = row.At
	want, _ := o.req.Command.(flow.Create)
	x := b.w.audit.one(o.req.Tenant, ans.Refused.Holder)
	if ans.Refused.Guard != flow.GuardBusinessKey || x == nil || want.BusinessKey == "" ||
		x.state.BusinessKey != want.BusinessKey || x.state.GraphID != o.req.GraphID ||
		b.w.stress.Jumps == 0 && x.state.EndedAt != 0 && x.state.EndedAt < row.At { // else it may end before
		b.w.fail("%s: the business key %q is not with the execution that was named: %s", key.Key, want.BusinessKey,
			show(ans))
	}
}

// gotEager checks the tasks that came with a creation: its own, of the queues that
// were asked for, no more than were.
func (b *orders) gotEager(o *order, x *audited, tasks []engine.Task) {
	c := o.req.Claim
	if (c != nil) != (tasks != nil) || c != nil && len(tasks) > c.Max {
		b.w.fail("%s: %d tasks for the claim %+v", o.req.Idempotency.Key, len(tasks), c)
		return
	}
	for _, t := range tasks {
		b.w.stress.Eager++
		if !slices.Contains(c.Queues, t.Queue) || t.Execution != x.state.Execution {
			b.w.fail("%s: a task of queue %s, execution %s", o.req.Idempotency.Key, t.Queue, short(t.Execution))
		}
		b.w.crew.got(x, t, c.Worker)
	}
}

func (b *orders) count(o *order, ans *engine.Answer) {
	if ans.Refused != nil {
		b.w.stress.Refusals++
	}
	if ans.Late {
		b.w.stress.Late++
	}
	if _, ok := o.req.Command.(flow.Cancel); ok && ans.Refused == nil {
		b.w.stress.Cancels++
	}
}

// remembered reports whether the store holds the key of an order.
func (b *orders) remembered(o *order, execution flow.ID) bool {
	key := &o.req.Idempotency
	if _, ok := o.req.Command.(flow.Create); ok {
		_, ok := b.w.mem.remembered(engine.KeyRef{Tenant: o.req.Tenant, Endpoint: key.Endpoint, Key: key.Key})
		return ok
	}
	_, ok := b.w.audit.keys[logKey{execution, o.req.Command.Name(), o.req.Command.Target(), key.Key}]
	return ok
}

func (m *Memory) remembered(ref engine.KeyRef) (engine.KeyRow, bool) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	row, ok := m.keys[ref]
	return row, ok
}

// expired reports whether the engine may have forgotten the key of an order: the
// clock has shown, at some time, an instant at which it need not be remembered.
func (w *World) expired(o *order) bool { return w.over(o.at) }

func (w *World) over(at flow.Time) bool {
	return at+w.retention <= max(w.fleet.latest, flow.At(w.clock.Now()))
}

// declined checks a failure: only what was to fail may, and as it should.
func (b *orders) declined(o *order, err error) {
	kind := fault.KindOf(err)
	switch {
	case kind == fault.Unavailable:
		if f, ok := fault.As(err); !ok || f.RetryAfter == 0 {
			b.w.fail("%s: unavailable without advice: %v", o.req.Idempotency.Key, err)
		}
	case kind == fault.Internal && o.poison:
		o.poison = len(o.flights) > 1 // then the disk is repaired
	case kind == fault.NotFound && o.lost:
		b.w.stress.Strangers++
		b.drop(o)
	case b.w.unfit(o, err):
		b.w.stress.Unfit++
		b.drop(o)
	default:
		b.w.fail("%s: %v", o.req.Idempotency.Key, err)
	}
}

// contradicted checks the answer to a key that was used with another body.
func (w *World) contradicted(key string, at flow.Time, err error) {
	w.trace.say("  %s with another body: %v", key, err)
	if fault.KindOf(err) == fault.Unavailable || w.over(at) {
		return
	}
	f, ok := fault.As(err)
	if !ok || f.Kind != fault.Conflict || f.Code != "IDEMPOTENCY_CONFLICT" {
		w.fail("%s with another body: %v", key, err)
		return
	}
	details, _ := f.Details.(map[string]any)
	if differs := fmt.Sprint(details["differs"]); differs != "[reason]" || details["firstUsedAt"] != at {
		w.fail("%s with another body: %s differ, first used at %v, want %v", key, differs, details["firstUsedAt"], at)
	}
	w.stress.Conflicts++
}

// unfit reports that an error is that of a resume whose output does not fit the schema of its Wait.
func (w *World) unfit(o *order, err error) bool {
	resume, ok := o.req.Command.(flow.Resume)
	f, isFault := fault.As(err)
	if !ok || !isFault || f.Code != flow.CodeUnfit || resume.Output != nil {
		return false
	}
	x := w.audit.one(o.req.Tenant, o.req.Execution)
	i, found := x.plan.Node(resume.Node)
	return found && x.plan.Spec(i).Schema != nil
}

// drop forgets an order that will never be answered well.
func (b *orders) drop(o *order) { o.lost, o.answer = true, &engine.Answer{} }

// describe is one line about an answer.
func describe(o *order, res engine.Result) string {
	head := fmt.Sprintf("%s %s %s %s: ", o.req.Idempotency.Key, o.req.Command.Name(), o.req.Command.Target(),
		short(o.req.Execution))
	if res.Err != nil {
		return head + res.Err.Error()
	}
	return head + show(&res.Answer)
}

// show is an answer in words.
func show(ans *engine.Answer) string {
	s := "accepted"
	if ans.Refused != nil {
		s = fmt.Sprintf("refused by %s: %+v", ans.Refused.Guard, *ans.Refused)
	}
	if ans.Replay {
		s = "replay, " + s
	}
	if ans.CancelSeq > 0 {
		s += fmt.Sprintf(", cancel won at %d", ans.CancelSeq)
	}
	if ans.Task != nil {
		s += ", next " + showTask(ans.Task)
	}
	for i := range ans.Tasks {
		s += ", got " + showTask(&ans.Tasks[i])
	}
	if ans.Late {
		s += ", kept as late"
	}
	return s + " " + short(ans.Execution)
}

func showTask(t *engine.Task) string {
	s := fmt.Sprintf("%s/%s#%d until %v input %.60s", short(t.Execution), t.Node, t.Attempt, t.LeaseUntil, t.Input)
	for _, id := range sortedNames(t.Outputs) {
		s += fmt.Sprintf(" %s=%.40s(%d)", id, t.Outputs[id], len(t.Outputs[id]))
	}
	return s
}

// short is the end of an ID, which is random; its beginning is the time.
func short(id flow.ID) string {
	if id.IsZero() {
		return ""
	}
	return id.String()[28:]
}
