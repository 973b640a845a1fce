package flow

import (
	"fmt"
	"slices"

	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/workflow/expr"
)

// Decide is what a command leads to: the events, all of them or none. Its errors
// are a *Refusal (a guard said no), a Need (data must be read first) or a
// *fault.Error (an unknown node, data beyond the limit). s is not touched.
//
// The events continue the log after s. A command that is accepted and changes
// nothing (a second cancel, a deadline that no longer applies) has none.
func Decide(s State, c Command, f Facts) ([]Event, error) {
	d := newDraft(s, c, f)
	if err := d.settle(); err != nil {
		return nil, err
	}
	return d.events, nil
}

// settle decides a command and everything that follows, up to the next rest point.
func (d *draft) settle() error {
	if err := d.known(); err != nil {
		return err
	}
	if err := d.command.decide(d); err != nil {
		return err
	}
	if d.ended.how != 0 {
		r := &d.router
		r.d, r.budget = d, expr.NewBudget(MaxSteps)
		r.run(d.ended)
		if len(r.need) > 0 {
			return r.needed()
		}
	}
	switch c := d.command.(type) {
	case Succeed:
		if c.Next {
			d.startNext(c.Node, c.Worker)
		}
	case Fail:
		if c.Next {
			d.startNext(c.Node, c.Worker)
		}
	}
	return nil
}

// known checks that what a command names exists and that the plan is the
// execution's own. A cancel needs no plan: nothing may stand in its way.
func (d *draft) known() error {
	c := d.command
	if _, ok := c.(Create); ok {
		if d.Seq > 0 {
			return fault.New(fault.Conflict, "EXECUTION_EXISTS", "Execution %s exists already.", d.Execution)
		}
		if d.plan == nil || d.facts.Execution.IsZero() {
			return fmt.Errorf("flow: %s without a plan or an ID", c.Name())
		}
		return nil
	}
	if d.Seq == 0 {
		return fault.New(fault.NotFound, "EXECUTION_NOT_FOUND", "The execution does not exist.")
	}
	switch c.(type) {
	case Cancel, Archive:
		return nil
	}
	if d.plan == nil || len(d.plan.nodes) != len(d.Nodes) || d.plan.Version != d.GraphVersion {
		return fmt.Errorf("flow: %s with another plan than that of graph %s version %d", c.Name(), d.GraphID,
			d.GraphVersion)
	}
	return nil
}

// draft is a decision in the making: the state as it becomes, and the events that
// make it so. It shares the nodes of the state it came from until it changes them.
type draft struct {
	State
	command Command
	facts   Facts
	plan    *Plan
	base    uint64  // the last seq before the decision
	before  []*Node // the nodes before the decision
	events  []Event
	actor   Actor  // of the first event
	cause   ID     // of the first event
	ended   ending // of the node whose work the command ends
	router  router // from there on; a part of the draft, so that a decision is one object in memory
}

func newDraft(s State, c Command, f Facts) *draft {
	return &draft{
		State: s, command: c, facts: f, plan: f.Plan, base: s.Seq, before: s.Nodes, actor: f.Actor, cause: s.Cause.ID,
	}
}

// ending is how a node ended, for the router to go on from.
type ending struct {
	how    branchEnd
	node   int
	output Data   // of one that has completed
	err    *Error // of one that has failed
}

// open makes the draft independent of the state it came from. Guards are asked
// before, so that a refusal costs nothing.
func (d *draft) open() {
	d.Nodes = slices.Clone(d.Nodes)
	d.draft, d.fresh = true, bitset{}
	d.events = make([]Event, 0, 4)
}

// emit appends an event and applies it, with the code of Apply.
func (d *draft) emit(p Payload) { d.emitAs(p, Actor{Kind: KindSystem}) }

// emitAs is emit with an actor; the first event of a decision has the decision's own.
func (d *draft) emitAs(p Payload, by Actor) {
	n := len(d.events)
	cause := d.cause
	if n == 0 {
		by = d.actor
	} else {
		cause = d.events[n-1].ID
	}
	d.events = append(d.events, Event{
		ID: d.facts.ID.Plus(n), Execution: d.Execution, Seq: d.base + uint64(n) + 1, Type: p.Type(), At: d.facts.Now,
		Actor: by, CorrelationID: d.facts.CorrelationID, CausationID: cause, Payload: p,
	})
	d.apply(&d.events[n])
}
