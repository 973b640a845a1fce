package engine

import (
	"fmt"
	"math"
	"slices"

	"renga.dev/renga/internal/workflow/flow"
)

// answer depends on the record and the log alone, so a replay gives the same.
func (b *batch) answer(ent *entry, r *record) (Answer, error) {
	ans := Answer{
		Execution: ent.state.Execution, Command: r.Command, CorrelationID: r.Corr, Key: r.Idempotency.Key,
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
	n := ent.state.Nodes[i]
	t.Error = ent.state.ErrorAt(n)
	var need flow.Need
	if n.Input.Seq != 0 {
		need = append(need, n.Input.Seq)
	}
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
	whole := func(b flow.Blob) flow.Data {
		if b.Seq != 0 {
			return read[b.Seq]
		}
		return b.Inline
	}
	if input := whole(n.Input); input != nil {
		t.Input = input
	}
	for _, p := range ent.plan.Preds(i) {
		n := ent.state.Nodes[p]
		data := whole(n.Output)
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

func (b *batch) tasks(tenant string, refs []taskRef) (tasks []Task, err error) {
	for _, ref := range refs {
		ent, err := b.entry(tenant, ref.Execution)
		if err != nil {
			return nil, err
		}
		task, err := b.task(ent, ref)
		if err != nil {
			return nil, err
		}
		tasks = append(tasks, task)
	}
	return tasks, nil
}

// outputs reads the data of events, in their order, each row of the log once. It is full, and the
// rest is not read, after most bytes of data or twice as many of rows.
func (b *batch) outputs(ent *entry, need flow.Need, most int, into map[uint64]flow.Data) (full bool, err error) {
	var row []*record // that was read last
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
