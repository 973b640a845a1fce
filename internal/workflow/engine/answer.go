package engine

import (
	"fmt"
	"math"
	"slices"

	"github.com/go-json-experiment/json"

	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/platform/wire"
	"renga.dev/renga/internal/workflow/flow"
)

// answer is what a record answers. It depends on the record and the log alone, so
// a replay gives the same.
func (b *batch) answer(ent *entry, r *record) (Answer, error) {
	ans := Answer{
		Execution: ent.state.Execution, Command: r.Command, CorrelationID: r.Corr, Key: r.Once.Key,
		Changed: len(r.Events) > 0, CancelSeq: r.CancelSeq, Refused: r.Refused, Late: r.Late != nil,
	}
	if r.Task == nil {
		return ans, nil
	}
	task, err := b.task(ent, *r.Task)
	ans.Task = &task
	return ans, err
}

// task is a started Task with everything a worker needs.
func (b *batch) task(ent *entry, ref taskRef) (Task, error) {
	if err := b.planOf(ent); err != nil {
		return Task{}, err
	}
	i, _ := ent.plan.Node(ref.Node)
	t := Task{
		Execution: ent.state.Execution, Node: ref.Node, Attempt: ref.Attempt, GraphID: ent.state.GraphID,
		Queue: ent.plan.Spec(i).Queue, Input: ent.state.Input, LeaseUntil: ref.LeaseUntil,
	}
	var need flow.Need
	for _, p := range ent.plan.Preds(i) {
		if seq := ent.state.Nodes[p].Output.Seq; seq != 0 {
			need = append(need, seq)
		}
	}
	slices.Sort(need)
	read := make(map[uint64]flow.Data, len(need))
	if _, err := b.outputs(ent, need, math.MaxInt, read); err != nil {
		return Task{}, err
	}
	for _, p := range ent.plan.Preds(i) {
		n := ent.state.Nodes[p]
		data := n.Output.Inline
		if n.Output.Seq != 0 {
			data = read[n.Output.Seq]
		}
		if data == nil {
			continue
		}
		if t.Outputs == nil {
			t.Outputs = make(map[string]flow.Data, 1)
		}
		t.Outputs[n.ID] = data
	}
	return t, nil
}

// outputs reads the data of events, in their order, each row of the log once. It is full when
// that are more than some bytes, or twice as many of rows, which hold all that happened to an
// execution in one commit; what is missing then was not read.
func (b *batch) outputs(ent *entry, need flow.Need, most int, into map[uint64]flow.Data) (full bool, err error) {
	var row []record // that was read last
	read, size := 0, 0
	for _, seq := range need {
		if read/2 > most || size > most {
			return true, nil
		}
		ev := ent.open.event(seq)
		if ev == nil {
			ev = eventOf(row, seq)
		}
		if ev == nil {
			n := 0
			if row, n, err = rowOf(b.ctx, b.tx, ent.num, ent.state.Execution, seq); err != nil {
				return false, err
			}
			read += n
			ev = eventOf(row, seq)
		}
		if ev == nil {
			return false, fmt.Errorf("engine: execution %v has no event %d", ent.state.Execution, seq)
		}
		into[seq] = flow.DataOf(ev.Payload)
		size += len(into[seq])
	}
	return false, nil
}

// lateResult keeps the result of a worker that came too late to count.
func lateResult(ent *entry, req *Request, refusal *flow.Refusal, now flow.Time) *LateResult {
	late := &LateResult{Command: req.Command.Name(), NodeID: req.Command.Target(), At: now, Guard: refusal.Guard}
	switch c := req.Command.(type) {
	case flow.Succeed:
		late.Attempt, late.WorkerID, late.Output = c.Attempt, c.Worker, c.Output
	case flow.Fail:
		late.Attempt, late.WorkerID, late.Error = c.Attempt, c.Worker, c.Error
	default:
		return nil
	}
	if n, _ := ent.state.Find(late.NodeID); n == nil || n.Attempt == 0 || len(ent.late) >= MaxLate {
		return nil // it never ran, or enough is kept
	}
	size := len(late.Output)
	if late.Error != nil {
		size = len(late.Error.Code) + len(late.Error.Message) + len(late.Error.Detail)
	}
	if size > MaxLateBytes {
		late.Output, late.Error, late.Size = nil, nil, size
	}
	return late
}

// storedKey is the body of a KeyRow.
type storedKey struct {
	Members   map[string]uint32 `json:"m,omitempty"`
	Corr      string            `json:"r,omitempty"`
	Execution flow.ID           `json:"e,omitzero"` // of a creation
	Tasks     []taskRef         `json:"x,omitempty"`
}

// keyTable is the idempotency keys of a batch that belong to no execution: those of creations and claims.
type keyTable struct{ *batch }

func (k keyTable) rememberKey(tenant string, once *wire.Once, body *storedKey) error {
	body.Members = make(map[string]uint32, len(once.Members))
	for _, m := range once.Members {
		body.Members[m.Name] = m.Digest
	}
	raw, err := json.Marshal(body, json.Deterministic(true))
	if err != nil {
		return fault.Wrap("engine.key", err)
	}
	ref := KeyRef{Tenant: tenant, Endpoint: once.Endpoint, Key: once.Key}
	if k.keyAt == nil {
		k.keyAt = map[KeyRef]int{}
	}
	k.keyAt[ref] = len(k.keys)
	k.keys = append(k.keys, KeyRow{KeyRef: ref, Hash: once.Hash, At: k.now, Body: raw})
	return nil
}

// recallKey finds what is remembered under a key that belongs to no execution.
func (k keyTable) recallKey(tenant string, once *wire.Once) (*storedKey, error) {
	if once.Key == "" {
		return nil, nil
	}
	ref := KeyRef{Tenant: tenant, Endpoint: once.Endpoint, Key: once.Key}
	found, seen := k.seen[ref]
	if i, ok := k.keyAt[ref]; ok {
		found = &k.keys[i]
	} else if !seen {
		if err := k.look([]KeyRef{ref}); err != nil {
			return nil, err
		}
		found = k.seen[ref]
	}
	if found == nil || found.At+k.e.retention <= k.now {
		return nil, nil
	}
	var body storedKey
	if err := json.Unmarshal(found.Body, &body); err != nil {
		return nil, fault.Wrap("engine.recall", err)
	}
	if found.Hash != once.Hash {
		return nil, k.e.conflict(once, membersOf(body.Members), found.At)
	}
	return &body, nil
}

// look reads keys in one go.
func (k keyTable) look(refs []KeyRef) error {
	rows, err := k.tx.Keys(k.ctx, refs)
	if err != nil {
		return fault.Wrap("engine.recall", err)
	}
	for i, ref := range refs {
		k.seen[ref] = rows[i]
	}
	return nil
}

// lookAll reads the keys of all creations and claims in w, where that saves trips to the
// database.
func (k keyTable) lookAll(w *work) error {
	if k.ahead() == 1 {
		return nil
	}
	var refs []KeyRef
	add := func(tenant string, once *wire.Once) {
		if once.Key != "" {
			refs = append(refs, KeyRef{Tenant: tenant, Endpoint: once.Endpoint, Key: once.Key})
		}
	}
	creations := func(reqs []Request) {
		for i := range reqs {
			if reqs[i].Execution.IsZero() {
				add(reqs[i].Tenant, &reqs[i].Once)
			}
		}
	}
	for _, c := range w.calls {
		creations(c.reqs[c.decided:])
	}
	for _, u := range w.units {
		creations(u.unit.Commands)
	}
	for _, c := range w.claims {
		add(c.req.Tenant, &c.req.Once)
	}
	if len(refs) == 0 {
		return nil
	}
	return k.look(refs)
}

// conflict says that a key was used before with another body, and how they differ.
func (e *Engine) conflict(once *wire.Once, first []wire.Member, at flow.Time) error {
	return fault.New(fault.Conflict, "IDEMPOTENCY_CONFLICT",
		"this idempotency key was used before with another body; repeat the first request unchanged or use a new key").
		With(map[string]any{
			"differs":     wire.Differing(first, once.Members),
			"firstUsedAt": at,
			"expiresAt":   at + e.retention,
		})
}
