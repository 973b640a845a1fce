package engine

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"maps"
	"math"
	"slices"

	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/workflow/flow"
)

// Report is what Verify found.
type Report struct {
	Executions int
	Commits    int
	Events     uint64
	Snapshots  int
	Problems   []Problem
}

// Problem is a place where the log and what is stored beside it disagree.
type Problem struct {
	Execution flow.ID
	What      string
}

const (
	verifyPage  = 500
	maxProblems = 1000 // more are counted by nobody: the store is broken
)

// Verify reduces every execution again from its first event and compares it with its row and its
// snapshots. progress, when not nil, is called with how many executions were checked.
func (r *Reads) Verify(ctx context.Context, progress func(done int)) (Report, error) {
	var rep Report
	after := int64(0)
	for {
		heads, err := r.store.Scan(ctx, after, verifyPage)
		if err != nil {
			return rep, fault.Wrap("engine.verify", err)
		}
		for i := range heads {
			if err := r.verifyOne(ctx, &heads[i], &rep); err != nil {
				return rep, fault.Wrap("engine.verify", err)
			}
			after = heads[i].Num
		}
		if progress != nil {
			progress(rep.Executions)
		}
		if len(heads) < verifyPage || len(rep.Problems) >= maxProblems {
			return rep, nil
		}
	}
}

func (r *Reads) verifyOne(ctx context.Context, head *Head, rep *Report) error {
	rows, err := r.store.Rows(ctx, head.Num, 1, math.MaxInt32)
	if err != nil {
		return err
	}
	waits, names, err := r.store.WaitsOf(ctx, head.Tenant, head.Num)
	if err != nil {
		return err
	}
	// The row and the waits are compared only when no command has changed them meanwhile.
	newest, last, err := r.store.Head(ctx, head.Tenant, head.ID)
	if err != nil {
		return err
	}
	rep.Executions++
	problem := func(format string, args ...any) {
		rep.Problems = append(rep.Problems, Problem{head.ID, fmt.Sprintf(format, args...)})
	}
	ent := &entry{tenant: head.Tenant, num: head.Num}
	for i := range rows {
		row := &rows[i]
		if err := ent.add(head.ID, row); err != nil {
			problem("%v", err)
			return nil
		}
		rep.Commits++
		rep.Events += row.LastSeq + 1 - row.FirstSeq
		if row.Snapshot == nil || row.Reducer != ReducerVersion {
			continue
		}
		rep.Snapshots++
		if why := compareSnapshot(ent, row); why != "" {
			problem("%s", why)
		}
	}
	s := &ent.state
	if s.Execution != head.ID {
		problem("the log has no EXECUTION_CREATED of this execution")
		return nil
	}
	if err := r.verifyOthers(ctx, head, s, problem); err != nil {
		return err
	}
	if newest != *head {
		return nil
	}
	why := compareHead(head, s)
	if last.CommitNo == ent.commitNo && head.Waiting != unknown {
		why = append(why, compareWaits(ent, waits, names)...)
		if waits := len(waitingNodes(s)) > 0; waits != (head.Waiting > 0) {
			why = append(why, fmt.Sprintf("the row says that a node waits: %t, the log: %t", !waits, waits))
		}
	}
	for _, what := range why {
		problem("%s", what)
	}
	return nil
}

// verifyOthers checks that the executions exist that a log names.
func (r *Reads) verifyOthers(
	ctx context.Context, head *Head, s *flow.State, problem func(format string, args ...any),
) error {
	for _, other := range [...]struct {
		id   flow.ID
		does string
	}{{s.Compensation, "cleans up after it"}, {s.RerunOf, "it does again"}} {
		if other.id.IsZero() {
			continue
		}
		_, _, err := r.store.Head(ctx, head.Tenant, other.id)
		if fault.KindOf(err) == fault.NotFound {
			problem("execution %v, which %s, does not exist", other.id, other.does)
		} else if err != nil {
			return err
		}
	}
	return nil
}

// compareWaits compares the rows of an execution among the waits with its log.
func compareWaits(ent *entry, rows []WaitRow, names map[string][]string) (why []string) {
	stored := map[string]*WaitRow{}
	for i := range rows {
		stored[rows[i].Node] = &rows[i]
	}
	for _, n := range waitingNodes(&ent.state) {
		want := waitRow(ent, n)
		if row := stored[n.ID]; row == nil {
			why = append(why, fmt.Sprintf("node %s waits and is not among the waits", n.ID))
		} else if !row.same(&want) {
			why = append(why, fmt.Sprintf("among the waits node %s is not as in the log", n.ID))
		}
		var assignees []string
		if a := n.Assignees; a != nil {
			assignees = AssigneeNames(a.Users, a.Roles, a.Groups)
		}
		if !slices.Equal(slices.Sorted(slices.Values(assignees)), slices.Sorted(slices.Values(names[n.ID]))) {
			why = append(why, fmt.Sprintf("node %s is found by the assignees %q, the log says %q", n.ID, names[n.ID],
				assignees))
		}
		delete(stored, n.ID)
		delete(names, n.ID)
	}
	for _, node := range slices.Sorted(maps.Keys(stored)) {
		why = append(why, fmt.Sprintf("node %s is among the waits and does not wait", node))
	}
	for _, node := range slices.Sorted(maps.Keys(names)) {
		why = append(why, fmt.Sprintf("node %s is found by the assignees %q and does not wait", node, names[node]))
	}
	return why
}

func compareHead(head *Head, s *flow.State) (why []string) {
	differ := func(format string, args ...any) { why = append(why, fmt.Sprintf(format, args...)) }
	if s.Status != head.Status || s.GraphID != head.GraphID || s.GraphVersion != head.GraphVersion {
		differ("the row says %v of %s version %d, the log %v of %s version %d",
			head.Status, head.GraphID, head.GraphVersion, s.Status, s.GraphID, s.GraphVersion)
	}
	for _, t := range [...]struct {
		what     string
		row, log string
	}{
		{"correlation id", cmp.Or(head.CorrelationID, s.CorrelationID), s.CorrelationID}, // older rows have none
		{"business key", head.BusinessKey, s.BusinessKey},
		{"outcome", cmp.Or(head.Outcome, s.Outcome), s.Outcome}, // like the next, of older rows unknown
		{"error code", cmp.Or(head.ErrorCode, errorCodeOf(s)), errorCodeOf(s)},
		{"failed node", cmp.Or(head.FailedNode, failedNodeOf(s)), failedNodeOf(s)},
		{"labels", head.Labels, labelsOf(s)},
	} {
		if t.row != t.log {
			differ("the row says %s %q, the log %q", t.what, t.row, t.log)
		}
	}
	for _, t := range [...]struct {
		what     string
		row, log flow.Time
	}{
		{"created", head.CreatedAt, s.CreatedAt},
		{"ended", head.EndedAt, s.EndedAt},
		{"archived", head.ArchivedAt, s.ArchivedAt},
	} {
		if t.row != t.log {
			differ("the row says %s %q, the log %q", t.what, t.row, t.log)
		}
	}
	// DueAt is a lower bound: when it is too late, or missing, a deadline does not come.
	if next := s.NextDeadline(); next > 0 && (head.DueAt == 0 || head.DueAt > next) {
		differ("the row says due %q, the log %q", head.DueAt, next)
	}
	return why
}

func compareSnapshot(ent *entry, row *LogRow) string {
	var stored entry
	if err := stored.restore(row); err != nil {
		return err.Error()
	}
	want, err := flow.AppendState(nil, &ent.state)
	if err != nil {
		return err.Error()
	}
	got, err := flow.AppendState(nil, &stored.state)
	if err != nil {
		return err.Error()
	}
	if !bytes.Equal(got, want) {
		return fmt.Sprintf("the snapshot at commit %d is not what the log gives", row.CommitNo)
	}
	return ""
}
