package flow

import (
	"fmt"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

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
	if err := d.decide(); err != nil {
		return err
	}
	d.run()
	if len(d.need) > 0 {
		d.needAll()
		slices.Sort(d.need)
		return slices.Compact(d.need)
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

func (d *draft) decide() error {
	if err := d.known(); err != nil {
		return err
	}
	switch c := d.command.(type) {
	case Create:
		return d.create(c)
	case Start:
		return d.start()
	case Cancel:
		return d.cancel(c)
	case Archive:
		return d.archive(c)
	case StartNode:
		return d.startNode(c)
	case Progress:
		return d.progress(c)
	case Wait:
		return d.wait(c)
	case Resume:
		return d.resume(c)
	case Succeed:
		return d.succeed(c)
	case Fail:
		return d.failed(c)
	case CancelNode:
		return d.cancelNode(c)
	case Expire:
		d.expire(c)
		return nil
	}
	return fmt.Errorf("flow: command %T does not exist", d.command)
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
	todo    []step // what follows, last first (route.go)
	closed  bitset // the forks whose Join ended in this decision
	need    Need   // data that must be read before this can be decided
	budget  expr.Budget
	gates   int           // bytes of the branches that updates of gates name
	decoded map[*byte]any // data that conditions have looked at, by its first byte
}

func newDraft(s State, c Command, f Facts) draft {
	return draft{
		State: s, command: c, facts: f, plan: f.Plan, base: s.Seq, before: s.Nodes, actor: f.Actor, cause: s.Cause.ID,
		budget: expr.NewBudget(MaxSteps),
	}
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

// largeData is from how many bytes on data is worth a look of its own, before the decision.
const largeData = 4 << 10

// Accept does what Decide does with the data of a command, outside the loop in which a store
// decides: it gives the command with its data checked and in the form that the log keeps, for
// Facts.Accepted. It reports false when that is not worth it, or the data is none: then Decide
// has to look.
func Accept(c Command) (Command, bool) {
	switch own := c.(type) { // only what is accepted is worth the memory of a copy
	case Create:
		if acceptLarge(&own.Input) {
			return own, true
		}
	case Progress:
		if acceptLarge(&own.Metrics) {
			return own, true
		}
	case Wait:
		if acceptLarge(&own.Prompt) {
			return own, true
		}
	case Resume:
		if acceptLarge(&own.Output) {
			return own, true
		}
	case Succeed:
		if acceptLarge(&own.Output) {
			return own, true
		}
	case Fail:
		if own.Error == nil {
			break
		}
		detail := own.Error.Detail
		if acceptLarge(&detail) {
			own.Error = &Error{Code: own.Error.Code, Message: own.Error.Message, Detail: detail}
			return own, true
		}
	}
	return c, false
}

// acceptLarge is accept in place.
func acceptLarge(data *Data) bool {
	if len(*data) < largeData {
		return false
	}
	out, err := accept(*data)
	if err != nil {
		return false
	}
	*data = out
	return true
}

// accept checks a caller's data and brings it into the one form that survives the
// log unchanged: no white space, strings with as few escapes as can be. The
// result shares no memory with the request.
func accept(data Data) (Data, error) {
	if len(data) == 0 {
		return nil, nil
	}
	if string(data) == "{}" {
		return emptyObject, nil
	}
	out, err := jsontext.AppendFormat(make(Data, 0, len(data)), data)
	if err != nil {
		return nil, fault.New(fault.Invalid, "INVALID_JSON", "The data is not valid JSON.")
	}
	return out, nil
}

var emptyObject = Data("{}")

// acceptError is accept for the detail of an error.
func (d *draft) acceptError(e *Error) (*Error, error) {
	if e == nil || d.facts.Accepted {
		return e, nil
	}
	detail, err := accept(e.Detail)
	if err != nil {
		return nil, err
	}
	return &Error{Code: e.Code, Message: e.Message, Detail: detail}, nil
}

// take is accept for data that the execution will hold, beside more bytes of text.
func (d *draft) take(data Data, more int) (Data, error) {
	out := data
	if !d.facts.Accepted {
		var err error
		if out, err = accept(data); err != nil {
			return nil, err
		}
	}
	return out, d.room(int64(len(out) + more))
}

// room checks that the execution may hold so many more bytes of callers' data.
func (d *draft) room(more int64) error {
	if more > 0 && d.Data+more > MaxExecutionData {
		return fault.New(fault.TooLarge, "EXECUTION_TOO_LARGE",
			"The execution would hold %d bytes of data; at most %d are allowed.", d.Data+more, int64(MaxExecutionData))
	}
	return nil
}
