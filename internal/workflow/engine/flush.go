package engine

import (
	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/workflow/flow"
)

// flush writes what has gathered. A commit may flush more than once.
func (b *batch) flush() error {
	out := Batch{Keys: b.keys.rows, Taken: b.deleted}
	out.Log, out.Publications = make([]LogRow, 0, len(b.open)), make([]Publication, 0, len(b.open))
	for _, ent := range b.open {
		if err := b.close(ent, &out); err != nil {
			return err
		}
	}
	for i := range b.ready {
		if t := &b.ready[i]; t.ent != nil && !t.written {
			out.Ready = append(out.Ready, t.row)
			t.written = true
		}
	}
	for i := range b.keys.rows {
		delete(b.keys.seen, b.keys.rows[i].KeyRef)
	}
	b.open, b.keys.rows, b.keys.at, b.deleted = nil, nil, nil, nil
	return fault.Wrap("engine.write", b.tx.Write(b.ctx, &out))
}

func (b *batch) close(ent *entry, out *Batch) error {
	open := ent.open
	ent.open = nil
	if len(open.records) == 0 { // only DueAt may have moved
		ent.commitNo--
	} else if err := b.closeRow(ent, open, out); err != nil {
		return err
	}
	if head := b.head(ent, open); open.created {
		out.Create = append(out.Create, head)
		ent.head = head
	} else if head != ent.head {
		out.Update = append(out.Update, Update{head, ent.head.Status, ent.head.Waiting, ent.head.ArchivedAt > 0})
		ent.head = head
	}
	return nil
}

func (b *batch) closeRow(ent *entry, open *openRow, out *Batch) error {
	row := LogRow{
		Execution: ent.num, CommitNo: ent.commitNo, FirstSeq: open.firstSeq, LastSeq: ent.state.Seq,
		Body: append(open.body, ']'),
	}
	ent.logBytes += len(row.Body)
	if ent.logBytes > max(snapshotFrom, snapshotFactor*ent.expectedSize()) {
		snap, err := ent.takeSnapshot(b.now, b.e.retention)
		if err != nil {
			return fault.Wrap("engine.snapshot", err)
		}
		row.Snapshot, row.Reducer = snap, ReducerVersion
		ent.logBytes, ent.snapSize = 0, len(snap)
	}
	out.Log = append(out.Log, row)
	writeWaits(ent, open, out)
	for _, r := range open.records {
		if r.CancelSeq != 0 && len(r.Events) > 0 {
			out.Canceled = append(out.Canceled, Canceled{
				Tenant: ent.tenant, Execution: ent.state.Execution, At: r.At, Actor: r.Actor,
				Reason: ent.state.CancelReason, CorrelationID: r.Corr, Seq: r.CancelSeq,
			})
		}
		if r.Late != nil && !ent.state.Compensation.IsZero() {
			out.Late = append(out.Late, Late{ent.tenant, ent.state.Execution, ent.state.CorrelationID, *r.Late})
		}
	}
	if row.LastSeq >= row.FirstSeq {
		b.notePublication(ent, open, out)
		b.changed = append(b.changed, ent.state.Execution)
	} else {
		b.noted = append(b.noted, ent.state.Execution)
	}
	return nil
}

// labelsOf are the labels of an execution as its row has them.
func labelsOf(s *flow.State) string {
	if len(s.Labels) == 0 {
		return ""
	}
	text, _ := s.Labels.MarshalJSON() // it was written to the log before
	return string(text)
}

// errorCodeOf is the code of what an execution failed of.
func errorCodeOf(s *flow.State) string {
	if s.Error == nil || s.Status != flow.Failed {
		return ""
	}
	return s.Error.Code
}

// failedNodeOf is where an execution failed first.
func failedNodeOf(s *flow.State) string {
	if s.Status != flow.Failed {
		return ""
	}
	return s.FailedNode
}

func (b *batch) head(ent *entry, open *openRow) Head {
	s := &ent.state
	h := Head{
		Num: ent.num, ID: s.Execution, Tenant: ent.tenant, GraphID: s.GraphID, GraphVersion: s.GraphVersion,
		Status: s.Status, CreatedAt: s.CreatedAt, EndedAt: s.EndedAt, ArchivedAt: s.ArchivedAt, DueAt: ent.head.DueAt,
		Outcome: ent.head.Outcome, ErrorCode: ent.head.ErrorCode, FailedNode: ent.head.FailedNode,
		Waiting:       ent.head.Waiting,
		CorrelationID: ent.head.CorrelationID, BusinessKey: ent.head.BusinessKey, Labels: ent.head.Labels,
	}
	if open.created {
		h.CorrelationID, h.BusinessKey, h.Labels = s.CorrelationID, s.BusinessKey, labelsOf(s)
	}
	if len(open.waits) > 0 || h.Waiting == unknown {
		h.Waiting = min(len(waitingNodes(s)), 1)
	}
	if s.Status.Terminal() {
		h.Outcome, h.ErrorCode, h.FailedNode = s.Outcome, errorCodeOf(s), failedNodeOf(s)
	}
	switch {
	case s.Status.Terminal():
		h.DueAt = 0
	case open.swept:
		h.DueAt = s.NextDeadline()
	case open.due > 0 && (h.DueAt == 0 || open.due < h.DueAt):
		h.DueAt = open.due
	}
	if h.DueAt > 0 && (b.due == 0 || h.DueAt < b.due) {
		b.due = h.DueAt
	}
	return h
}
