package engine

import (
	"math"
	"slices"

	"renga.dev/renga/internal/workflow/flow"
)

// Task is work that a worker got.
type Task struct {
	Execution  flow.ID
	Node       string
	Attempt    int
	GraphID    string
	Queue      string
	Corr       string               // the correlation id of the execution
	Input      flow.Data            // what the Task declares, else the input of the execution
	Error      *flow.Error          // the first failure of those that led to it over a failure edge
	Outputs    map[string]flow.Data // of the nodes before it: of the direct predecessors all, of earlier ones the small
	OutputRefs map[string]OutputRef // of earlier nodes, which a worker reads with Reads.Output
	LeaseUntil flow.Time
}

// OutputRef names an output that a Task does not carry.
type OutputRef struct {
	Seq  uint64 `json:"seq"` // of the event that carries it
	Size int    `json:"size"`
}

func (t *Task) size() int {
	n := len(t.Input)
	for _, output := range t.Outputs {
		n += len(output)
	}
	return n
}

// task is a started Task with everything a worker needs.
func (b *batch) task(ent *entry, ref taskRef) (Task, error) {
	if err := b.planOf(ent); err != nil {
		return Task{}, err
	}
	i, _ := ent.plan.Node(ref.Node)
	n := ent.state.Nodes[i]
	t := Task{
		Execution: ent.state.Execution, Node: ref.Node, Attempt: ref.Attempt, GraphID: ent.state.GraphID,
		Corr: ent.state.CorrelationID, Queue: ent.plan.Spec(i).Queue, Input: ent.state.Input,
		Error: ent.state.ErrorAt(n), LeaseUntil: ref.LeaseUntil,
	}
	carried := t.before(ent, i)
	var need flow.Need
	if n.Input.Seq != 0 {
		need = append(need, n.Input.Seq)
	}
	for _, p := range carried {
		if p.Output.Seq != 0 {
			need = append(need, p.Output.Seq)
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
	if len(carried) > 0 {
		t.Outputs = make(map[string]flow.Data, len(carried))
	}
	for _, p := range carried {
		t.Outputs[p.ID] = whole(p.Output)
	}
	return t, nil
}

// before chooses the outputs that a Task carries among those of the nodes before it, and makes refs of the others. All
// these nodes have ended, so a replay chooses the same.
func (t *Task) before(ent *entry, i int) (carried []*flow.Node) {
	direct, earlier, room := len(ent.plan.Preds(i)), 0, MaxTaskOutputs
	ent.plan.Ancestors(i, func(k int) bool { // the direct predecessors come first
		n := ent.state.Nodes[k]
		size := n.Output.Size
		switch {
		case direct > 0:
			if direct--; size > 0 {
				carried = append(carried, n)
			}
			return true
		case earlier == MaxTaskNodes:
			return false
		case size == 0:
		case n.Output.Seq == 0 && size <= room:
			room -= size
			carried = append(carried, n)
		default:
			if t.OutputRefs == nil {
				t.OutputRefs = make(map[string]OutputRef, 1)
			}
			t.OutputRefs[n.ID] = OutputRef{n.Cause.Seq, size}
		}
		earlier++
		return true
	})
	return carried
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
