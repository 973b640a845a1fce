package test

import (
	"slices"
	"testing"

	"github.com/anishathalye/porcupine"
)

// The graph of the linearizability test has so many nodes, one after the other. They are Tasks, and
// a Wait.
const (
	links    = 4
	waitLink = 2
)

// chain is an execution of that graph as the model sees it, and as it is read.
type chain struct {
	seq      int
	status   string
	started  bool
	archived bool
	cancel   int // the event that requested the cancel
	tasks    [links]string
}

// newChain is an execution that was created: its own event and one for each node.
func newChain() chain {
	c := chain{seq: 1 + links + 2, status: "ACTIVE"}
	for i := range c.tasks {
		c.tasks[i] = "CREATED"
	}
	return c
}

// asked is an operation on one execution: a command, or a read.
type asked struct {
	execution string
	graph     string
	command   string // look, count and inWaits are reads
	task      int
}

const (
	look    = "look"  // read the execution
	count   = "count" // read how many events it has
	inWaits = "waits" // read which of its nodes are in the list of waits
)

// opResult is the result of an operation.
type opResult struct {
	unknown  bool // no answer came: it may take effect at any time later, or never
	accepted bool
	cancel   int   // of a cancel
	seen     chain // of a look
	total    int   // of a count
	waiting  int   // of inWaits: the node that waits; -1: none does
}

// after is the execution after a command, and whether the command is accepted.
func (c chain) after(q asked) (chain, bool) {
	if q.command == "CancelExecution" || q.command == "ArchiveExecution" {
		return c.ended(q.command)
	}
	if c.status != "ACTIVE" {
		return c, false
	}
	if q.command == "StartExecution" {
		if c.started {
			return c, false
		}
		c.started, c.tasks[0] = true, "READY"
		c.seq += 3 // EXECUTION_STARTED, NODE_SUCCEEDED, NODE_READY
		return c, true
	}
	return c.work(q)
}

// ended is after for the commands that end an execution and that follow its end.
func (c chain) ended(command string) (chain, bool) {
	switch {
	case command == "ArchiveExecution":
		if c.status == "ACTIVE" || c.archived {
			return c, false
		}
		c.archived = true
		c.seq++
		return c, true
	case c.status == "CANCELED":
		return c, true
	case c.status != "ACTIVE":
		return c, false
	}
	c.status, c.cancel = "CANCELED", c.seq+1
	c.seq += 2 + 1 // the request and its confirmation; NODE_CANCELED of the last node
	if !c.started {
		c.seq++ // and of the first
	}
	for i, task := range c.tasks {
		switch task {
		case "SUCCEEDED":
			continue
		case "RUNNING":
			c.seq++ // NODE_INTERRUPT_REQUESTED
		}
		c.tasks[i] = "CANCELED"
		c.seq++
	}
	return c, true
}

// turns are what the commands on a task need, make of it, and add to the log.
var turns = map[string]struct {
	from, to string
	events   int
}{
	"StartNode":          {"READY", "RUNNING", 1},
	"ReportNodeProgress": {"RUNNING", "RUNNING", 1},
	"PutNodeWaiting":     {"RUNNING", "WAITING", 1},
	"ResumeNode":         {"WAITING", "RUNNING", 2},
	"SucceedNode":        {"RUNNING", "SUCCEEDED", 2}, // and the next is ready
	"FailNode":           {"RUNNING", "FAILED", 4},    // and so is the execution
}

// waitResumed is how many events resume the Wait: the node after it is ready.
const waitResumed = 4

// waiting is the node that waits; -1: none does.
func (c chain) waiting() int { return slices.Index(c.tasks[:], "WAITING") }

// work is after for the commands on a task.
func (c chain) work(q asked) (chain, bool) {
	turn := turns[q.command]
	if !c.started || c.tasks[q.task] != turn.from {
		return c, false
	}
	if turn.to == "RUNNING" && q.task == waitLink { // nobody starts a Wait
		turn.to, turn.events = "SUCCEEDED", waitResumed
	}
	c.tasks[q.task] = turn.to
	c.seq += turn.events
	switch {
	case turn.to == "FAILED":
		c.status = "FAILED"
	case turn.to == "SUCCEEDED" && q.task == links-1:
		c.status = "COMPLETED"
		c.seq++
	case turn.to == "SUCCEEDED" && q.task+1 == waitLink:
		c.tasks[waitLink] = "WAITING"
		c.seq++
	case turn.to == "SUCCEEDED":
		c.tasks[q.task+1] = "READY"
	}
	return c, true
}

// chainModel is what one execution would do if everything happened one after the
// other. An operation without an answer ends with the history: one that never took
// effect is one that came last.
var chainModel = porcupine.Model{
	Init: func() any { return newChain() },
	Step: func(state, input, output any) (bool, any) {
		c, q, a := state.(chain), input.(asked), output.(opResult)
		switch q.command {
		case look:
			return a.seen == c, c
		case count:
			return a.total == c.seq, c
		case inWaits:
			return a.waiting == c.waiting(), c
		}
		next, accepted := c.after(q)
		if a.unknown {
			return true, next
		}
		if q.command == "CancelExecution" && accepted && a.cancel != next.cancel {
			return false, c
		}
		return accepted == a.accepted, next
	},
}

// TestTheModelFindsWhatIsNotLinearizable plants what the checker must find.
func TestTheModelFindsWhatIsNotLinearizable(t *testing.T) {
	started, _ := newChain().after(asked{command: "StartExecution"})
	canceled, _ := started.after(asked{command: "CancelExecution"})
	waiting := started
	for _, command := range []string{"StartNode", "PutNodeWaiting"} {
		waiting, _ = waiting.after(asked{command: command})
	}
	op := func(call, end int64, command string, a opResult) porcupine.Operation {
		return porcupine.Operation{Call: call, Return: end, Input: asked{command: command}, Output: a}
	}
	waits := func(call int64, node int) porcupine.Operation {
		return op(call, call+1, inWaits, opResult{waiting: node})
	}
	start := op(1, 2, "StartExecution", opResult{accepted: true})
	begin := op(3, 4, "StartNode", opResult{accepted: true})
	tests := []struct {
		name    string
		history []porcupine.Operation
		want    bool
	}{
		{"in order", []porcupine.Operation{
			start, op(3, 4, look, opResult{seen: started}),
			op(5, 6, count, opResult{total: started.seq}),
		}, true},
		{"a wait that is listed", []porcupine.Operation{
			start, begin, op(5, 8, "PutNodeWaiting", opResult{accepted: true}), waits(6, -1),
			waits(9, waiting.waiting()),
		}, true},
		{"one that is not yet", []porcupine.Operation{
			start, begin, op(5, 6, "PutNodeWaiting", opResult{accepted: true}), waits(7, -1),
		}, false},
		{"a stale read", []porcupine.Operation{start, op(3, 4, look, opResult{seen: newChain()})}, false},
		{"a read at the same time", []porcupine.Operation{start, op(1, 4, look, opResult{seen: newChain()})}, true},
		{"a doubled effect", []porcupine.Operation{start, op(3, 4, "StartExecution", opResult{accepted: true})}, false},
		{"a lost effect", []porcupine.Operation{start, op(3, 4, "StartNode", opResult{})}, false},
		{"an unknown effect that is seen", []porcupine.Operation{
			op(1, 99, "StartExecution", opResult{unknown: true}),
			op(3, 4, look, opResult{seen: started}),
		}, true},
		{"and then is not", []porcupine.Operation{
			op(1, 99, "StartExecution", opResult{unknown: true}), op(3, 4, look, opResult{seen: started}),
			op(5, 6, look, opResult{seen: newChain()}),
		}, false},
		{"an unknown effect that never came", []porcupine.Operation{
			op(1, 99, "StartExecution", opResult{unknown: true}),
			op(3, 4, look, opResult{seen: newChain()}),
		}, true},
		{"a cancel that did not win", []porcupine.Operation{
			start, op(3, 4, "CancelExecution", opResult{accepted: true, cancel: canceled.cancel}),
			op(5, 6, "StartNode", opResult{accepted: true}),
		}, false},
		{"a cancel at another place", []porcupine.Operation{start, op(3, 4, "CancelExecution",
			opResult{accepted: true, cancel: canceled.cancel + 1})}, false},
	}
	for _, tt := range tests {
		if got := porcupine.CheckOperations(chainModel, slices.Clone(tt.history)); got != tt.want {
			t.Errorf("%s: linearizable is %t", tt.name, got)
		}
	}
}
