package engine

import (
	"fmt"

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
