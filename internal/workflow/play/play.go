// Package play plays executions of a graph without a server, with the very code that decides on one: for who
// writes a graph and wants to see what it does. It stores nothing and asks nobody.
//
// The invariant: the same graph and script always give the same events.
package play

import (
	"cmp"
	"errors"
	"maps"
	"slices"
	"time"

	"renga.dev/renga/internal/platform/canonical"
	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/workflow/flow"
)

// Play is an execution without a server: flow decides, the play is the workers, the people and the clock,
// which moves to the next thing that happens.
type Play struct {
	State     flow.State
	Log       []flow.Event
	Decisions []Decision

	plan        *flow.Plan
	limits      Limits
	lease       time.Duration // that workers claim with; whole seconds
	outcomes    map[string]Outcomes
	taskTime    time.Duration // how long a Task takes and a Wait waits, where its outcome does not say
	cancelAfter uint64        // cancel when the log has this event; 0: never

	now    flow.Time
	used   map[string]int // outcomes of each node so far
	agenda []appointment
	bytes  int // of the payloads in the log, where they are limited
}

// Limits are what a play may take. Zero values mean the default, or no limit.
type Limits struct {
	Events int          // default MaxEvents
	Bytes  int          // of the payloads of its events
	Alive  func() error // asked before each command; its error ends the play. nil: nobody is asked
}

// appointment is a command that somebody will send.
type appointment struct {
	at      flow.Time
	order   int
	command flow.Command
	since   uint64 // of a renewal: the event that began what it renews; it is not sent when another followed
}

// Decision is a command and what followed: events, or why it was refused.
type Decision struct {
	At      flow.Time
	Command flow.Command
	Events  []flow.Event
	Refused *flow.Refusal
}

// Beginning is when every simulation starts.
var Beginning = flow.At(time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC))

// The defaults of a script, and the most events of a play: years of work are renewals of leases above all.
const (
	DefaultTaskTime = time.Second
	DefaultLease    = 60 * time.Second
	MaxEvents       = 100_000

	beats = 3 // how often a worker renews a lease in its time, as that of the client does
)

// New makes a play of a graph as a script says.
func New(plan *flow.Plan, s *Script, limits Limits) (*Play, error) {
	limits.Events = cmp.Or(limits.Events, MaxEvents)
	p := &Play{
		plan: plan, limits: limits, outcomes: s.Outcomes, cancelAfter: uint64(max(s.CancelAfter, 0)),
		taskTime: DefaultTaskTime, lease: DefaultLease,
	}
	if s.TaskTime != nil {
		p.taskTime = time.Duration(*s.TaskTime)
	}
	if s.Lease != nil {
		p.lease = time.Duration(*s.Lease)
	}
	if p.taskTime < 0 || s.CancelAfter < 0 {
		return nil, invalid("the time of a task and the event to cancel after cannot be negative")
	}
	if err := CheckLease(p.lease); err != nil {
		return nil, err
	}
	for _, node := range slices.Sorted(maps.Keys(p.outcomes)) {
		for i := range p.outcomes[node] {
			if err := p.outcomes[node][i].check(plan, node); err != nil {
				return nil, err
			}
		}
	}
	return p, nil
}

// CheckLease refuses a lease that no server gives.
func CheckLease(d time.Duration) error {
	if d < time.Second || d > time.Hour || d%time.Second != 0 {
		return invalid("a lease is whole seconds, 1s to 1h, not %v", d)
	}
	return nil
}

// invalid is an error about a script.
func invalid(format string, args ...any) error {
	return fault.New(fault.Invalid, canonical.CodeInvalid, format, args...)
}

// Run runs the execution from its creation until nothing happens any more.
func (p *Play) Run(input flow.Data) error {
	p.now, p.used = Beginning, map[string]int{}
	for _, c := range []flow.Command{flow.Create{Input: input}, flow.Start{}} {
		if err := p.do(c); err != nil {
			return err
		}
	}
	for {
		deadline := p.State.NextDeadline()
		switch {
		case len(p.agenda) > 0 && (deadline == 0 || p.agenda[0].at <= deadline):
			next := p.agenda[0]
			p.agenda = p.agenda[1:]
			if n, _ := p.State.Find(next.command.Target()); next.since > 0 && n.Cause.Seq != next.since {
				continue // that worker was interrupted, or is done
			}
			p.now = next.at
			if err := p.do(next.command); err != nil {
				return err
			}
		case deadline > 0:
			p.now = max(p.now, deadline)
			for _, due := range p.State.Due(p.now) {
				if err := p.do(due); err != nil {
					return err
				}
			}
		default:
			return nil
		}
	}
}

// do decides a command, applies what follows and lets everybody react to it.
func (p *Play) do(c flow.Command) error {
	if p.limits.Alive != nil {
		if err := p.limits.Alive(); err != nil {
			return err
		}
	}
	events, err := p.decide(c)
	var refused *flow.Refusal
	if e, ok := fault.As(err); ok && e.Code == flow.CodeUnfit {
		return invalid("%s: say what it is resumed with, such as the outcome '%s=resume:{…}'", e.Message, c.Target())
	}
	if err != nil && !errors.As(err, &refused) {
		return err
	}
	p.Decisions = append(p.Decisions, Decision{p.now, c, events, refused})
	for _, ev := range events {
		p.State = flow.Apply(p.State, ev)
	}
	if err := p.keep(events); err != nil {
		return err
	}
	p.arrange(events)
	if p.cancelAfter > 0 && p.State.Seq >= p.cancelAfter && !p.State.Status.Terminal() {
		p.cancelAfter = 0
		if err := p.do(flow.Cancel{Reason: "the simulation asked for it"}); err != nil {
			return err
		}
	}
	return p.startReady(events)
}

// keep adds events to the log, up to the limits.
func (p *Play) keep(events []flow.Event) error {
	p.Log = append(p.Log, events...)
	for i := range events {
		if p.limits.Bytes == 0 {
			break
		}
		payload, err := flow.AppendPayload(nil, events[i].Payload)
		if err != nil {
			return err
		}
		p.bytes += len(payload)
	}
	switch {
	case len(p.Log) > p.limits.Events:
		return invalid("the simulation has more than %d events; with a longer lease it needs fewer renewals",
			p.limits.Events)
	case p.limits.Bytes > 0 && p.bytes > p.limits.Bytes:
		return invalid("the events of the simulation have more than %d bytes; simulate it with smaller data or locally",
			p.limits.Bytes)
	}
	return nil
}

// decide asks flow, and gives it data that the state holds by reference.
func (p *Play) decide(c flow.Command) ([]flow.Event, error) {
	facts := flow.Facts{
		Now: p.now, ID: simulated(p.State.Seq + 1), Execution: simulated(0), Plan: p.plan,
		Actor: actorOf(c), CorrelationID: "simulation", Compensation: simulated(MaxEvents + 1),
	}
	for {
		events, err := flow.Decide(p.State, c, facts)
		var need flow.Need
		if !errors.As(err, &need) {
			return events, err
		}
		if facts.Outputs == nil {
			facts.Outputs = map[uint64]flow.Data{}
		}
		for _, seq := range need {
			facts.Outputs[seq] = flow.DataOf(p.Log[seq-1].Payload)
		}
	}
}

// Cleanup is the graph that a cancel started to clean up, "" when none did.
func (p *Play) Cleanup() string {
	if p.State.Compensation.IsZero() {
		return ""
	}
	return p.plan.Graph.OnCancel.Graph
}

// simulated is the ID of the n-th event, or with 0 of the execution.
func simulated(n uint64) flow.ID { return flow.ID{6: 0x70, 8: 0x80}.Plus(int(n)) }

func actorOf(c flow.Command) flow.Actor {
	switch c.(type) {
	case flow.StartNode, flow.Progress, flow.Succeed, flow.Fail, flow.Wait:
		return flow.Actor{Kind: flow.KindExternal, ID: "worker"}
	}
	return flow.Actor{Kind: flow.KindUser, ID: "user"}
}

// startReady lets workers take what became ready, in the order of the events.
func (p *Play) startReady(events []flow.Event) error {
	for _, ev := range events {
		n, _ := p.State.Find(ev.Payload.Node())
		if n == nil || n.Cause.Seq != ev.Seq || n.Status != flow.NodeIsReady || n.Kind != flow.TaskKind {
			continue
		}
		start := flow.StartNode{Node: n.ID, Attempt: n.Attempt + 1, Worker: "worker", Lease: int(p.lease / time.Second)}
		if err := p.do(start); err != nil {
			return err
		}
	}
	return nil
}

// arrange puts into the agenda what will happen to the nodes that began to run or to wait.
func (p *Play) arrange(events []flow.Event) {
	for _, ev := range events {
		n, i := p.State.Find(ev.Payload.Node())
		if n == nil {
			continue
		}
		spec := p.plan.Spec(i)
		switch {
		case ev.Type == flow.NodeProgressReportedType:
			p.renew(n)
		case n.Cause.Seq != ev.Seq: // another event followed
		case n.Status == flow.NodeIsWaiting && spec.Type == flow.TaskKind: // it waits for somebody
			p.meet(n, Outcome{Do: doResume})
		case n.Status == flow.NodeIsRunning, n.Status == flow.NodeIsWaiting:
			p.meet(n, p.nextOutcome(spec))
		}
	}
}

// nextOutcome is the outcome that a node has now. The last one stands for all that follow.
func (p *Play) nextOutcome(spec *flow.NodeSpec) Outcome {
	list := p.outcomes[spec.NodeID]
	used := p.used[spec.NodeID]
	p.used[spec.NodeID]++
	switch {
	case used < len(list):
		return list[used]
	case len(list) > 0 && list[len(list)-1].Do != doWait:
		return list[len(list)-1]
	}
	if spec.For != 0 {
		return Outcome{Do: doTimeout} // nobody has to do anything
	}
	return Outcome{Do: outcomesOf[spec.Type][0]}
}

// meet puts an outcome of a node into the agenda. A worker that is alive renews its lease meanwhile.
func (p *Play) meet(n *flow.Node, o Outcome) {
	if o.Do != doTimeout && o.Do != doLost {
		after := p.taskTime
		if o.After != nil {
			after = time.Duration(*o.After)
		}
		p.book(appointment{at: p.now.Add(after), command: commandOf(n, o)})
	}
	if n.Status == flow.NodeIsRunning && o.Do != doLost {
		p.renew(n)
	}
}

// renew books the next renewal of a lease.
func (p *Play) renew(n *flow.Node) {
	at := p.now.Add(p.lease / beats)
	if n.TimeoutAt == 0 || at < n.TimeoutAt {
		p.book(appointment{
			at: at, command: flow.Progress{Node: n.ID, Attempt: n.Attempt, Worker: n.Worker},
			since: n.Cause.Seq,
		})
	}
}

func (p *Play) book(at appointment) {
	at.order = len(p.Decisions)
	place, _ := slices.BinarySearchFunc(p.agenda, at, func(a, b appointment) int {
		return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.order, b.order), -1) // behind those of the same instant
	})
	p.agenda = slices.Insert(p.agenda, place, at)
}

func commandOf(n *flow.Node, o Outcome) flow.Command {
	switch o.Do {
	case doSucceed:
		return flow.Succeed{Node: n.ID, Attempt: n.Attempt, Worker: n.Worker, Output: o.Output}
	case doFail:
		fail := flow.Fail{Node: n.ID, Attempt: n.Attempt, Worker: n.Worker}
		if o.Code != "" || o.Message != "" || o.Detail != nil {
			fail.Error = &flow.Error{Code: o.Code, Message: o.Message, Detail: o.Detail}
		}
		return fail
	case doFinal:
		return flow.Fail{
			Node: n.ID, Attempt: n.Attempt, Worker: n.Worker,
			Error: &flow.Error{Code: o.Code, Message: o.Message, Detail: o.Detail, Final: true},
		}
	case doWait:
		return flow.Wait{Node: n.ID, Attempt: n.Attempt, Worker: n.Worker, WaitKey: o.WaitKey}
	case doResume:
		resume := flow.Resume{Node: n.ID, ResumeKey: n.WaitKey, Output: o.Output}
		if n.Assignees != nil { // it comes from all of them
			resume.As = flow.Principal(*n.Assignees)
		}
		return resume
	}
	return flow.CancelNode{Node: n.ID, Reason: o.Reason}
}
