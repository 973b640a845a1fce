package engine

import (
	"context"
	"slices"
	"sync"

	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/workflow/flow"
)

// MaxHeld is how many held tasks are remembered.
const MaxHeld = 100_000

// TaskRef names one attempt of one node.
type TaskRef struct {
	Execution flow.ID `json:"executionId"`
	Node      string  `json:"nodeId"`
	Attempt   int     `json:"attempt"`
}

// LostTask is a task that its attempt does not hold: the node is neither RUNNING
// nor WAITING, or in another attempt, or there is none.
type LostTask struct {
	TaskRef
	Found  bool
	Status flow.NodeStatus // of the node, when it was found
}

// Lost gives those of the tasks that their attempts do not hold, in order. Workers ask again and
// again about the same tasks: an execution is read only when it has moved since.
func (r *Reads) Lost(ctx context.Context, tenant string, tasks []TaskRef) ([]LostTask, error) {
	commits, err := r.newest(ctx, tasks)
	if err != nil {
		return nil, err
	}
	states := map[flow.ID]*flow.State{}
	var lost []LostTask
	for _, t := range tasks {
		key := heldKey{tenant, t.Execution}
		if r.held.has(key, commits[t.Execution], t) {
			continue
		}
		s := states[t.Execution]
		if s == nil {
			if s, err = r.state(ctx, tenant, t.Execution); err != nil {
				return nil, err
			}
			states[t.Execution] = s
			r.held.note(key, commits[t.Execution], s)
		}
		if l := lostIn(s, t); l != nil {
			lost = append(lost, *l)
		}
	}
	return lost, nil
}

// newest are the commit numbers of the executions. They are read before the states, so a state is
// never older than its number.
func (r *Reads) newest(ctx context.Context, tasks []TaskRef) (map[flow.ID]int64, error) {
	commits := make(map[flow.ID]int64, len(tasks))
	ids := make([]flow.ID, 0, len(tasks))
	for _, t := range tasks {
		if _, known := commits[t.Execution]; !known {
			commits[t.Execution] = 0
			ids = append(ids, t.Execution)
		}
	}
	for chunk := range slices.Chunk(ids, maxAsked) {
		numbers, err := r.store.Commits(ctx, chunk)
		if err != nil {
			return nil, fault.Wrap("engine.lost", err)
		}
		for i, id := range chunk {
			commits[id] = numbers[i]
		}
	}
	return commits, nil
}

// state is the state of an execution; one that does not exist has no nodes.
func (r *Reads) state(ctx context.Context, tenant string, id flow.ID) (*flow.State, error) {
	h, err := r.store.History(ctx, tenant, id, 0)
	if fault.KindOf(err) == fault.NotFound {
		return &flow.State{}, nil
	}
	if err != nil {
		return nil, fault.Wrap("engine.lost", err)
	}
	ent, err := rebuild(&h)
	if err != nil {
		return nil, fault.Wrap("engine.lost", err)
	}
	return &ent.state, nil
}

func holds(n *flow.Node) bool {
	return n.Kind == flow.TaskKind && (n.Status == flow.NodeIsRunning || n.Status == flow.NodeIsWaiting)
}

// lostIn is nil when an attempt holds its task.
func lostIn(s *flow.State, t TaskRef) *LostTask {
	n, _ := s.Find(t.Node)
	switch {
	case n == nil:
		return &LostTask{TaskRef: t}
	case holds(n) && n.Attempt == t.Attempt:
		return nil
	}
	return &LostTask{TaskRef: t, Found: true, Status: n.Status}
}

// heldTasks remembers which tasks of an execution were held as of a commit.
type heldTasks struct {
	mu    sync.Mutex
	all   map[heldKey]heldAt
	tasks int // in all
}

type heldKey struct {
	tenant string
	id     flow.ID
}

type heldAt struct {
	commit int64
	tasks  []TaskRef
}

// has reports whether a task is known to be held as of a commit; 0 is that of no execution.
func (h *heldTasks) has(key heldKey, commit int64, t TaskRef) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	at, known := h.all[key]
	return known && commit > 0 && at.commit == commit && slices.Contains(at.tasks, t)
}

// note remembers the tasks that are held in a state that is not older than a commit. Should it be
// newer, the number will not be met again.
func (h *heldTasks) note(key heldKey, commit int64, s *flow.State) {
	var tasks []TaskRef
	for _, n := range s.Nodes {
		if holds(n) {
			tasks = append(tasks, TaskRef{s.Execution, n.ID, n.Attempt})
		}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.tasks += len(tasks) - len(h.all[key].tasks)
	switch {
	case len(tasks) == 0:
		delete(h.all, key)
		return
	case h.all == nil || h.tasks > MaxHeld:
		h.all, h.tasks = map[heldKey]heldAt{}, len(tasks)
	}
	h.all[key] = heldAt{commit, tasks}
}
