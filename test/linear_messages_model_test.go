package test

import (
	"hash/maphash"
	"maps"
	"math"
	"slices"
	"testing"

	"github.com/anishathalye/porcupine"
)

// A box is the messages of one name and key, and what takes them: executions with some Waits for them, one after the
// other, or a graph that subscribes.
const (
	boxRuns     = 2
	boxWaits    = 3
	boxMessages = 6
)

// box is a box as the model sees it. It is small: the checker has very many.
type box struct {
	subscribed bool
	runs       [boxRuns]boxRun
	messages   [boxMessages]boxMessage
}

// boxRun is an execution of a box, as the model sees it and as it is read.
type boxRun struct {
	status boxState
	by     [boxWaits]int8
}

// boxState is the status of an execution, or the state of a message.
type boxState int8

const (
	boxNone boxState = iota // it was not created, or sent
	boxActive
	boxCompleted
	boxCanceled
	boxIsKept
	boxResumed
	boxStarted
)

// boxStates are the states by their words; others are nothing that the model knows.
var boxStates = map[string]boxState{
	"": boxNone, "ACTIVE": boxActive, "COMPLETED": boxCompleted, "CANCELED": boxCanceled, "KEPT": boxIsKept,
	"RESUMED": boxResumed, "STARTED": boxStarted,
}

// What has resumed a Wait: 1 and more is a message.
const byHand = -1

// waits is the Wait that an execution is at; -1: at none.
func (r *boxRun) waits() int {
	if r.status != boxActive {
		return -1
	}
	return slices.Index(r.by[:], 0)
}

// resume lets the execution go on.
func (r *boxRun) resume(by int) {
	r.by[r.waits()] = int8(by)
	if r.by[boxWaits-1] != 0 {
		r.status = boxCompleted
	}
}

// boxMessage is a message that was sent.
type boxMessage struct {
	state boxState
	body  int8
}

// boxTaken are the Waits that a message has resumed.
type boxTaken [boxRuns][boxWaits]bool

func (b *box) taken(message int) (t boxTaken) {
	for i := range b.runs {
		for j, by := range b.runs[i].by {
			t[i][j] = int(by) == message+1
		}
	}
	return t
}

// boxAsked is an operation on a box.
type boxAsked struct {
	do      string
	message int
	body    int
	run     int
	wait    int
}

// The operations on a box. The last ones are reads.
const (
	boxOpen   = "subscribe" // the graph, before all else
	boxSend   = "send"
	boxCreate = "create"
	boxResume = "resume"
	boxCancel = "cancel"
	boxIdle   = "idle"    // a part of a send: the message was kept, so nobody waited, or another one is before it
	boxGet    = "message" // what became of a message
	boxKept   = "kept"    // which messages are kept
	boxLook   = "look"    // one execution
	boxListed = "waits"   // which Waits are in the list of waits
	boxCount  = "count"   // how many executions the graph that subscribes has
)

// boxAnswer is the result of an operation on a box.
type boxAnswer struct {
	unknown bool
	status  int
	again   bool     // it was a duplicate
	state   boxState // of the message
	taken   boxTaken
	kept    [boxMessages]bool
	run     boxRun
	waits   [boxRuns]int
	total   int
	places  []boxPlace // of which taken and waits are made, when the executions are known
}

// boxPlace is a node of an execution as answers name it.
type boxPlace struct {
	ExecutionID string `json:"executionId"`
	NodeID      string `json:"nodeId"`
}

// deliver is the box after a kept message has resumed some of the Waits. They are chosen by the bits of a number.
func (b box) deliver(message, chosen int) (box, bool) {
	for i := range b.runs {
		if chosen&(1<<i) == 0 {
			continue
		}
		if b.runs[i].waits() < 0 {
			return b, false
		}
		b.runs[i].resume(message + 1)
	}
	b.messages[message].state = boxResumed
	return b, true
}

// boxOrder says of two messages that the first was answered before the other was sent.
type boxOrder [boxMessages][boxMessages]bool

// reach are the boxes that this one may have become meanwhile: the oldest message that is kept is delivered to whom it
// finds waiting, at any time.
func (b box) reach(order *boxOrder) []box {
	all, found := []box{b}, map[box]bool{b: true}
	for i := 0; i < len(all); i++ {
		for message := range all[i].messages {
			if !all[i].oldest(message, order) {
				continue
			}
			for chosen := 1; chosen < 1<<boxRuns; chosen++ {
				if next, ok := all[i].deliver(message, chosen); ok && !found[next] {
					all, found[next] = append(all, next), true
				}
			}
		}
	}
	return all
}

// oldest reports whether a message is kept and none that was sent before it.
func (b *box) oldest(message int, order *boxOrder) bool {
	for i, m := range b.messages {
		if m.state == boxIsKept && order[i][message] {
			return false
		}
	}
	return b.messages[message].state == boxIsKept
}

// send are the boxes after a message was sent, as its answer allows.
func (b box) send(q boxAsked, a boxAnswer) (after []box) {
	m := &b.messages[q.message]
	switch {
	case m.state != boxNone && int(m.body) != q.body:
		return b.when(a.unknown || a.status == 409)
	case m.state != boxNone:
		return b.when(a.unknown || a.status == 200 && a.again && a.state == m.state && a.taken == b.taken(q.message))
	case !a.unknown && (a.again || a.status >= 300):
		return nil
	}
	if m.body = int8(q.body); b.subscribed {
		m.state = boxStarted
		return b.when(a.unknown || a.state == m.state && a.taken == boxTaken{})
	}
	m.state = boxIsKept
	if a.unknown || a.state == boxIsKept {
		return []box{b}
	}
	for chosen := 1; chosen < 1<<boxRuns; chosen++ {
		if next, ok := b.deliver(q.message, chosen); ok && a.state == boxResumed && a.taken == next.taken(q.message) {
			after = append(after, next)
		}
	}
	return after
}

// when is the box, if it may be so.
func (b box) when(may bool) []box {
	if !may {
		return nil
	}
	return []box{b}
}

// drive are the boxes after a command to an execution.
func (b box) drive(q boxAsked, a boxAnswer) []box {
	r := &b.runs[q.run]
	accepts := false
	switch q.do {
	case boxCreate:
		accepts, r.status = r.status == boxNone, boxActive
	case boxResume:
		if accepts = r.waits() == q.wait; accepts {
			r.resume(byHand)
		}
	case boxCancel:
		if accepts = r.status == boxActive || r.status == boxCanceled; accepts {
			r.status = boxCanceled
		}
	}
	return b.when(a.unknown || accepts == (a.status < 300))
}

// read reports whether a read may see the box so.
func (b *box) read(q boxAsked, a boxAnswer) bool {
	m := b.messages[q.message]
	kept, waits, total := [boxMessages]bool{}, [boxRuns]int{}, 0
	for i, m := range b.messages {
		kept[i] = m.state == boxIsKept
		if m.state == boxStarted {
			total++
		}
	}
	for i := range b.runs {
		waits[i] = b.runs[i].waits()
	}
	switch q.do {
	case boxGet:
		return a.state == m.state && (m.state == boxNone || a.taken == b.taken(q.message))
	case boxKept:
		return a.kept == kept
	case boxLook:
		return a.run == b.runs[q.run]
	case boxListed:
		return a.waits == waits
	case boxCount:
		return a.total == total
	}
	kept[q.message] = false
	return slices.Max(waits[:]) < 0 || slices.Contains(kept[:], true) // boxIdle
}

// step are the boxes after an operation, as its answer allows.
func (b box) step(q boxAsked, a boxAnswer) []box {
	switch q.do {
	case boxOpen:
		b.subscribed = true
		return []box{b}
	case boxSend:
		return b.send(q, a)
	case boxCreate, boxResume, boxCancel:
		return b.drive(q, a)
	}
	return b.when(b.read(q, a))
}

// boxModel is what a box would do if everything happened one after the other. Its states are all boxes that there may
// be, for what the answers say.
func boxModel(order *boxOrder) porcupine.Model {
	reached := map[box][]box{} // what was found before
	seed := maphash.MakeSeed()
	return porcupine.Model{
		Init: func() any { return map[box]bool{{}: true} },
		Step: func(state, input, output any) (bool, any) {
			after := map[box]bool{}
			for b := range state.(map[box]bool) {
				if reached[b] == nil {
					reached[b] = b.reach(order)
				}
				for _, b := range reached[b] {
					for _, next := range b.step(input.(boxAsked), output.(boxAnswer)) {
						after[next] = true
					}
				}
			}
			return len(after) > 0, after
		},
		Equal: func(a, b any) bool { return maps.Equal(a.(map[box]bool), b.(map[box]bool)) },
		Hash: func(state any) (all uint64) {
			for b := range state.(map[box]bool) {
				all ^= maphash.Comparable(seed, b)
			}
			return all
		},
	}
}

// orderOf is the order in which the messages of a history were sent.
func orderOf(history []porcupine.Operation) *boxOrder {
	var order boxOrder
	var called, stored [boxMessages]int64 // for the first time
	for i := range called {
		called[i], stored[i] = math.MaxInt64, math.MaxInt64
	}
	for _, op := range history {
		if q := op.Input.(boxAsked); q.do == boxSend {
			called[q.message] = min(called[q.message], op.Call)
			if !op.Output.(boxAnswer).unknown {
				stored[q.message] = min(stored[q.message], op.Return)
			}
		}
	}
	for i := range order {
		for j := range order {
			order[i][j] = stored[i] < called[j]
		}
	}
	return &order
}

// TestTheModelOfMessagesFindsWhatIsNotLinearizable plants what the checker must find.
func TestTheModelOfMessagesFindsWhatIsNotLinearizable(t *testing.T) {
	at := int64(0)
	op := func(q boxAsked, a boxAnswer) porcupine.Operation { // one after the other
		at += 2
		return porcupine.Operation{Call: at, Return: at + 1, Input: q, Output: a}
	}
	during := func(op, other porcupine.Operation) porcupine.Operation {
		op.Call, op.Return = other.Call, other.Return
		return op
	}
	first := boxTaken{0: {0: true}}
	ok := boxAnswer{status: 202}
	create := func() porcupine.Operation { return op(boxAsked{do: boxCreate}, ok) }
	send := func(state boxState, taken boxTaken) porcupine.Operation {
		return op(boxAsked{do: boxSend}, boxAnswer{status: 202, state: state, taken: taken})
	}
	idle := func(of porcupine.Operation) porcupine.Operation {
		return during(porcupine.Operation{Input: boxAsked{do: boxIdle}, Output: boxAnswer{}}, of)
	}
	look := func(by ...int8) porcupine.Operation {
		r := boxRun{status: boxActive}
		copy(r.by[:], by)
		return op(boxAsked{do: boxLook}, boxAnswer{run: r})
	}
	get := func(state boxState, taken boxTaken) porcupine.Operation {
		return op(boxAsked{do: boxGet}, boxAnswer{state: state, taken: taken})
	}
	list := func(waits int) porcupine.Operation {
		return op(boxAsked{do: boxListed}, boxAnswer{waits: [boxRuns]int{waits, -1}})
	}
	again := boxAnswer{status: 200, again: true, state: boxResumed, taken: first}
	none := boxTaken{}
	open := porcupine.Operation{Call: -2, Return: -1, Input: boxAsked{do: boxOpen}, Output: ok}
	tests := []struct {
		name    string
		history []porcupine.Operation
		want    bool
	}{
		{"resumed", []porcupine.Operation{create(), send(boxResumed, first), look(1), list(1)}, true},
		{"kept, then taken", []porcupine.Operation{
			send(boxIsKept, none), create(), look(), list(0), get(boxIsKept, none), look(1), get(boxResumed, first),
		}, true},
		{"taken, then kept", []porcupine.Operation{
			send(boxIsKept, none), create(), look(1), get(boxIsKept, none),
		}, false},
		{"answered and lost", []porcupine.Operation{send(boxIsKept, none), get(boxNone, none)}, false},
		{"answered and not done", []porcupine.Operation{create(), send(boxResumed, first), look()}, false},
		{"a second effect", []porcupine.Operation{create(), send(boxResumed, first), look(1, 1)}, false},
		{"a repetition", []porcupine.Operation{
			create(), send(boxResumed, first), op(boxAsked{do: boxSend}, again), look(1),
		}, true},
		{"a repetition that is not told", []porcupine.Operation{
			create(), send(boxResumed, first), send(boxIsKept, none),
		}, false},
		{"another payload that is taken", []porcupine.Operation{
			create(), send(boxResumed, first),
			op(boxAsked{do: boxSend, body: 1}, boxAnswer{status: 202, state: boxIsKept}),
		}, false},
		{"without an answer", []porcupine.Operation{
			create(),
			{Call: 1, Return: 1 << 40, Input: boxAsked{do: boxSend}, Output: boxAnswer{unknown: true}},
			look(), look(1), list(1),
		}, true},
		{"after a cancel", []porcupine.Operation{
			create(), op(boxAsked{do: boxCancel}, ok), send(boxResumed, first),
		}, false},
		{"kept while nobody waits", func() []porcupine.Operation {
			sent := send(boxIsKept, none)
			return []porcupine.Operation{sent, idle(sent), create()}
		}(), true},
		{"kept while somebody waits", func() []porcupine.Operation {
			made, sent := create(), send(boxIsKept, none)
			return []porcupine.Operation{made, sent, idle(sent)}
		}(), false},
		{"the newest first", []porcupine.Operation{
			send(boxIsKept, none), op(boxAsked{do: boxSend, message: 1}, boxAnswer{status: 202, state: boxIsKept}),
			create(), look(2),
		}, false},
		{"started", []porcupine.Operation{
			open, send(boxStarted, none), op(boxAsked{do: boxCount}, boxAnswer{total: 1}),
		}, true},
		{"started twice", []porcupine.Operation{
			open, send(boxStarted, none), op(boxAsked{do: boxCount}, boxAnswer{total: 2}),
		}, false},
	}
	for _, tt := range tests {
		if got := porcupine.CheckOperations(boxModel(orderOf(tt.history)), slices.Clone(tt.history)); got != tt.want {
			t.Errorf("%s: linearizable is %t", tt.name, got)
		}
	}
}
