package sim

import (
	"bytes"
	"context"
	"slices"

	"renga.dev/renga/internal/workflow/engine"
	"renga.dev/renga/internal/workflow/flow"
)

// check holds what is stored against what its logs say. idle says that the
// engine had nothing left to do.
func (a *audit) check(idle bool) {
	defer func(calm bool) { a.w.calm = calm }(a.w.calm)
	a.w.calm = true
	a.catchUp()
	ready := map[engine.ReadyRow]bool{}
	for _, x := range a.all {
		a.checkHead(x)
		x.ready(ready)
	}
	a.checkReady(ready)
	a.checkWaits()
	if idle {
		a.checkIdle(ready)
	}
	if len(a.all) > 0 && a.w.dice.one(4) {
		a.checkView(pick(a.w.dice, a.all))
	}
	if a.w.dice.one(100) {
		a.verify()
	}
}

// checkHead compares the row of an execution with its log.
func (a *audit) checkHead(x *audited) {
	stored, _ := a.w.mem.find(x.tenant, x.state.Execution)
	s, h := &x.state, &stored.head
	code := "" // also of a failure that says nothing
	if s.Status == flow.Failed && s.Error != nil {
		code = s.Error.Code
	}
	if h.Status != s.Status || h.EndedAt != s.EndedAt || h.ArchivedAt != s.ArchivedAt || h.CreatedAt != s.CreatedAt ||
		h.GraphID != s.GraphID || h.GraphVersion != s.GraphVersion || h.Outcome != s.Outcome ||
		h.ErrorCode != code {
		a.w.fail("execution %v: the row is %+v, the state is %v, ended %v, archived %v, outcome %q, error %v",
			s.Execution, *h, s.Status, s.EndedAt, s.ArchivedAt, s.Outcome, s.Error)
	}
	if due := s.NextDeadline(); due > 0 && (h.DueAt == 0 || h.DueAt > due) {
		a.w.fail("execution %v: due at %v, the row says %v", s.Execution, due, h.DueAt)
	}
	if s.Status.Terminal() && h.DueAt != 0 {
		a.w.fail("execution %v has ended and is due at %v", s.Execution, h.DueAt)
	}
	if x.canceled && s.Status != flow.Canceled {
		a.w.fail("execution %v was canceled, somebody was told so, and it is %v", s.Execution, s.Status)
	}
}

// ready adds the tasks of an execution that anybody may claim.
func (x *audited) ready(all map[engine.ReadyRow]bool) {
	if x.state.Status.Terminal() {
		return
	}
	for i, n := range x.state.Nodes {
		if n.Kind == flow.TaskKind && n.Status == flow.NodeIsReady {
			all[engine.ReadyRow{
				Tenant: x.tenant, Queue: x.plan.Spec(i).Queue, At: n.Cause.At, Execution: x.num, Node: n.ID,
			}] = true
		}
	}
}

// checkWaits compares the rows of waits with the states.
func (a *audit) checkWaits() {
	n := 0
	for _, x := range a.all {
		before := n
		for _, node := range x.state.Nodes {
			if node.Status != flow.NodeIsWaiting {
				continue
			}
			n++
			row, ok := a.w.mem.waits[engine.WaitRef{Tenant: x.tenant, Execution: x.num, Node: node.ID}]
			if !ok || row.Since != node.Cause.At || row.Until != node.WaitUntil || row.WaitKey != node.WaitKey ||
				row.Reminders != node.Reminders || row.RemindAt != node.RemindAt || row.GraphID != x.state.GraphID ||
				row.Assignees.String() != node.Assignees.String() || row.Awaits.String() != node.Awaits.String() {
				a.w.fail("node %s of %s waits, and its row is %+v", node.ID, short(x.state.Execution), row)
			}
		}
		if head := a.w.mem.execs[x.num].head; head.Waiting != min(n-before, 1) {
			a.w.fail("%d nodes of %s wait, and its row says %d", n-before, short(x.state.Execution), head.Waiting)
		}
	}
	if n != len(a.w.mem.waits) {
		a.w.fail("%d nodes wait, and there are %d rows", n, len(a.w.mem.waits))
	}
}

// checkReady compares the rows of ready tasks with the states.
func (a *audit) checkReady(want map[engine.ReadyRow]bool) {
	a.w.mem.mu.RLock()
	defer a.w.mem.mu.RUnlock()
	for row := range want {
		if !a.w.mem.ready[row] {
			a.w.fail("%+v is ready and has no row", row)
		}
	}
	for row := range a.w.mem.ready {
		if !want[row] {
			a.w.fail("%+v has a row and is not ready", row)
		}
	}
}

// checkIdle asks for what must be true when the engine rests: no deadline has
// passed, and nobody waits for a task that is there.
func (a *audit) checkIdle(ready map[engine.ReadyRow]bool) {
	now := flow.At(a.w.clock.Now())
	if len(a.w.fleet.machines) > 1 { // each looks twice a second for what another has set
		now -= 500
	}
	for _, x := range a.all {
		if due := x.state.NextDeadline(); due > 0 && due <= now && now >= a.w.fleet.pause {
			a.w.fail("execution %v: the deadline of %v has passed", x.state.Execution, due)
		}
	}
	for _, c := range a.w.crew.claims {
		if !c.flying {
			continue
		}
		for row := range ready {
			if row.Tenant == c.req.Tenant && slices.Contains(c.req.Queues, row.Queue) {
				a.w.fail("claim %s waits while %+v is ready", c.req.Idempotency.Key, row)
			}
		}
	}
}

// checkView reads an execution as a client does, now and as it was once.
func (a *audit) checkView(x *audited) {
	want, err := flow.AppendState(nil, &x.state)
	if err != nil {
		a.w.fail("execution %v: %v", x.state.Execution, err)
	}
	view := a.view(x, 0, want)
	if len(view.Late) != x.late {
		a.w.fail("execution %v: %d late results, want %d", x.state.Execution, len(view.Late), x.late)
	}
	if len(x.past) > 0 {
		p := pick(a.w.dice, x.past)
		a.view(x, p.seq, p.state)
	}
}

func (a *audit) view(x *audited, at uint64, want []byte) engine.View {
	view, err := a.reader.Execution(context.Background(), x.tenant, x.state.Execution, at)
	if err != nil {
		a.w.fail("execution %v at %d: %v", x.state.Execution, at, err)
		return view
	}
	if got, err := flow.AppendState(nil, &view.State); err != nil || !bytes.Equal(got, want) {
		a.w.fail("execution %v at %d: read as\n%s\nwant\n%s\n%v", x.state.Execution, at, got, want, err)
	}
	return view
}

// verify lets the engine check its own log.
func (a *audit) verify() {
	rep, err := a.reader.Verify(context.Background(), nil)
	if err != nil {
		a.w.fail("verify: %v", err)
	}
	for _, p := range rep.Problems {
		a.w.fail("verify: execution %v: %s", p.Execution, p.What)
	}
	if rep.Executions != len(a.all) {
		a.w.fail("verify: %d executions, want %d", rep.Executions, len(a.all))
	}
}
