package test

import (
	"slices"
	"testing"

	"github.com/anishathalye/porcupine"
)

// instants is how many times of the past the schedules of the linearizability test come at.
const instants = 6

// plan is a schedule as the model sees it: one whose own instants are far away, so that backfills alone start
// executions, which end at once.
type plan struct {
	exists bool
	paused bool
	input  int
	ledger [instants]instant
}

// instant is what became of a past time of a schedule.
type instant string

const (
	instantStarted  instant = "STARTED"
	instantQueued   instant = "QUEUED"
	instantDeleted  instant = "SKIPPED DELETED"
	instantCanceled instant = "SKIPPED CANCELED"
)

// planAsked is an operation on a schedule.
type planAsked struct {
	do       string
	input    int // of the definition
	from, to int // instants of a backfill
}

// The operations on a schedule. The last ones are reads.
const (
	planPut      = "put"
	planDelete   = "delete"
	planPause    = "pause"
	planResume   = "resume"
	planBackfill = "backfill"
	planGiveUp   = "give up" // what waits of backfills
	planGet      = "get"
	planRuns     = "runs"
	planCount    = "count" // the executions that it has started
)

// planAnswer is the result of an operation on a schedule.
type planAnswer struct {
	unknown bool
	status  int
	seen    plan // but for its ledger: of put, pause, resume and get
	ledger  [instants]instant
	queued  int // of a backfill, and of get
	covered int
	total   int
}

// reach are the plans that this one may have become meanwhile: while it is not paused, what waits is started, the
// oldest first.
func (p plan) reach() []plan {
	all := []plan{p}
	for p.exists && !p.paused {
		oldest := slices.Index(p.ledger[:], instantQueued)
		if oldest < 0 {
			break
		}
		p.ledger[oldest] = instantStarted
		all = append(all, p)
	}
	return all
}

// count is how many instants have an outcome.
func (p *plan) count(of instant) (n int) {
	for _, at := range p.ledger {
		if at == of {
			n++
		}
	}
	return n
}

// giveUp skips what waits.
func (p *plan) giveUp(reason instant) {
	for i, at := range p.ledger {
		if at == instantQueued {
			p.ledger[i] = reason
		}
	}
}

// after is the plan after a command, and the answer to it.
func (p plan) after(q planAsked) (plan, planAnswer) {
	a := planAnswer{status: 200}
	if !p.exists && q.do != planPut {
		return p, planAnswer{status: 404}
	}
	switch q.do {
	case planPut:
		if !p.exists {
			p.exists, p.paused, a.status = true, false, 201
		}
		p.input = q.input
	case planDelete:
		p.giveUp(instantDeleted)
		p.exists = false
		return p, planAnswer{status: 204}
	case planGiveUp:
		p.giveUp(instantCanceled)
		return p, planAnswer{status: 204}
	case planPause, planResume:
		p.paused = q.do == planPause
	case planBackfill:
		for i := q.from; i < q.to; i++ {
			if at := &p.ledger[i]; *at == instantStarted || *at == instantQueued {
				a.covered++
			} else {
				*at = instantQueued
				a.queued++
			}
		}
		return p, a
	}
	a.seen = plan{exists: true, paused: p.paused, input: p.input}
	a.queued = p.count(instantQueued)
	return p, a
}

// read reports whether a read may see the plan so.
func (p *plan) read(q planAsked, a planAnswer) bool {
	switch q.do {
	case planGet:
		_, want := p.after(q)
		return a == want
	case planRuns:
		if !p.exists && p.ledger == [instants]instant{} {
			return a.status == 404
		}
		return a.status == 200 && a.ledger == p.ledger
	}
	return a.total == p.count(instantStarted)
}

// step are the plans after an operation, as its answer allows.
func (p plan) step(q planAsked, a planAnswer) []plan {
	switch q.do {
	case planGet, planRuns, planCount:
		if p.read(q, a) {
			return []plan{p}
		}
		return nil
	}
	next, want := p.after(q)
	if !a.unknown && a != want {
		return nil
	}
	return []plan{next}
}

// planModel is what a schedule would do if everything happened one after the other.
var planModel = (&porcupine.NondeterministicModel{
	Init: func() []any { return []any{plan{}} },
	Step: func(state, input, output any) (after []any) {
		for _, p := range state.(plan).reach() {
			for _, next := range p.step(input.(planAsked), output.(planAnswer)) {
				after = append(after, next)
			}
		}
		return after
	},
}).ToModel()

// TestTheModelOfSchedulesFindsWhatIsNotLinearizable plants what the checker must find.
func TestTheModelOfSchedulesFindsWhatIsNotLinearizable(t *testing.T) {
	type step struct {
		q planAsked
		a planAnswer
	}
	made := planAnswer{status: 201, seen: plan{exists: true}}
	is := func(paused bool, queued int) planAnswer {
		return planAnswer{status: 200, seen: plan{exists: true, paused: paused}, queued: queued}
	}
	put, pause := planAsked{do: planPut}, planAsked{do: planPause}
	resume, remove := planAsked{do: planResume}, planAsked{do: planDelete}
	get, count := planAsked{do: planGet}, planAsked{do: planCount}
	fill := planAsked{do: planBackfill, from: 0, to: 2}
	runs := func(ledger ...instant) step {
		a := planAnswer{status: 200}
		copy(a.ledger[:], ledger)
		return step{planAsked{do: planRuns}, a}
	}
	two, gone := planAnswer{status: 200, queued: 2}, planAnswer{status: 204}
	tests := []struct {
		name string
		days []step
		want bool
	}{
		{"started one after the other", []step{
			{put, made},
			{fill, two},
			{count, planAnswer{}},
			{count, planAnswer{total: 1}},
			runs(instantStarted, instantQueued),
			{count, planAnswer{total: 2}},
			runs(instantStarted, instantStarted),
		}, true},
		{"the newest first", []step{{put, made}, {fill, two}, runs(instantQueued, instantStarted)}, false},
		{"started twice", []step{{put, made}, {fill, two}, {count, planAnswer{total: 3}}}, false},
		{"queued twice", []step{{put, made}, {fill, two}, {fill, two}}, false},
		{"covered", []step{{put, made}, {fill, two}, {fill, planAnswer{status: 200, covered: 2}}}, true},
		{"started and then not", []step{
			{put, made}, {fill, two}, {count, planAnswer{total: 1}}, {get, is(false, 2)},
		}, false},
		{"started while it is paused", []step{
			{put, made}, {pause, is(true, 0)}, {fill, two}, {count, planAnswer{total: 1}},
		}, false},
		{"started after the pause", []step{
			{put, made}, {pause, is(true, 0)}, {fill, two}, {resume, is(false, 2)}, {count, planAnswer{total: 1}},
		}, true},
		{"answered and lost", []step{{put, made}, {get, planAnswer{status: 404}}}, false},
		{"a pause that is lost", []step{{put, made}, {pause, is(true, 0)}, {get, is(false, 0)}}, false},
		{"started after the deletion", []step{
			{put, made}, {fill, two}, {remove, gone}, {count, planAnswer{}}, {count, planAnswer{total: 1}},
		}, false},
		{"its ledger is there after the deletion", []step{
			{put, made},
			{fill, two},
			{remove, gone},
			runs(instantStarted, instantDeleted),
			{put, made},
			{fill, planAnswer{status: 200, queued: 1, covered: 1}},
		}, true},
		{"without an answer", []step{{put, made}, {remove, planAnswer{unknown: true}}, {get, is(false, 0)}}, true},
	}
	for _, tt := range tests {
		var history []porcupine.Operation
		for i, s := range tt.days {
			op := porcupine.Operation{Call: int64(2 * i), Return: int64(2*i + 1), Input: s.q, Output: s.a}
			if s.a.unknown {
				op.Return = 1 << 40
			}
			history = append(history, op)
		}
		if got := porcupine.CheckOperations(planModel, history); got != tt.want {
			t.Errorf("%s: linearizable is %t", tt.name, got)
		}
	}
}
