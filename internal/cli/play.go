package cli

import (
	"cmp"
	"errors"
	"slices"
	"time"

	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/workflow/flow"
)

// player plays an execution without a server: flow decides, the player is the workers, the people and the clock,
// which moves to the next thing that happens. The same graph and outcomes always give the same events.
type player struct {
	plan        *flow.Plan
	lease       time.Duration // that workers claim with; whole seconds
	outcomes    map[string]outcomes
	taskTime    time.Duration // how long a Task takes and a Wait waits, where its outcome does not say
	cancelAfter uint64        // cancel when the log has this event; 0: never

	now       flow.Time
	state     flow.State
	log       []flow.Event
	used      map[string]int // outcomes of each node so far
	agenda    []appointment
	decisions []decision
}

// appointment is a command that somebody will send.
type appointment struct {
	at      flow.Time
	order   int
	command flow.Command
	since   uint64 // of a renewal: the event that began what it renews; it is not sent when another followed
}

type decision struct {
	at      flow.Time
	command flow.Command
	events  []flow.Event
	refused *flow.Refusal
}

// beginning is when every simulation starts.
var beginning = flow.At(time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC))

const (
	defaultTaskTime = time.Second
	defaultLease    = 60 * time.Second // of a claim that does not say
	beats           = 3                // how often a worker renews a lease in its time, as that of the client does
	maxEvents       = 100_000          // of a simulation: years of work are renewals of leases above all
)

// play runs an execution from its creation until nothing happens any more.
func (p *player) play(input flow.Data) error {
	p.now, p.used = beginning, map[string]int{}
	for _, c := range []flow.Command{flow.Create{Input: input}, flow.Start{}} {
		if err := p.do(c); err != nil {
			return err
		}
	}
	for {
		deadline := p.state.NextDeadline()
		switch {
		case len(p.agenda) > 0 && (deadline == 0 || p.agenda[0].at <= deadline):
			next := p.agenda[0]
			p.agenda = p.agenda[1:]
			if n, _ := p.state.Find(next.command.Target()); next.since > 0 && n.Cause.Seq != next.since {
				continue // that worker was interrupted, or is done
			}
			p.now = next.at
			if err := p.do(next.command); err != nil {
				return err
			}
		case deadline > 0:
			p.now = max(p.now, deadline)
			for _, due := range p.state.Due(p.now) {
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
func (p *player) do(c flow.Command) error {
	events, err := p.decide(c)
	var refused *flow.Refusal
	if e, ok := fault.As(err); ok && e.Code == flow.CodeUnfit {
		return usage("%s: say what it is resumed with, such as --outcome '%s=resume:{…}'", e.Message, c.Target())
	}
	if err != nil && !errors.As(err, &refused) {
		return err
	}
	p.decisions = append(p.decisions, decision{p.now, c, events, refused})
	for _, ev := range events {
		p.state = flow.Apply(p.state, ev)
	}
	if p.log = append(p.log, events...); len(p.log) > maxEvents {
		return usage("the simulation has more than %d events; with a longer --lease it needs fewer renewals", maxEvents)
	}
	p.arrange(events)
	if p.cancelAfter > 0 && p.state.Seq >= p.cancelAfter && !p.state.Status.Terminal() {
		p.cancelAfter = 0
		if err := p.do(flow.Cancel{Reason: "the simulation asked for it"}); err != nil {
			return err
		}
	}
	return p.startReady(events)
}

// decide asks flow, and gives it data that the state holds by reference.
func (p *player) decide(c flow.Command) ([]flow.Event, error) {
	facts := flow.Facts{
		Now: p.now, ID: simulated(p.state.Seq + 1), Execution: simulated(0), Plan: p.plan,
		Actor: actorOf(c), CorrelationID: "simulation",
	}
	for {
		events, err := flow.Decide(p.state, c, facts)
		var need flow.Need
		if !errors.As(err, &need) {
			return events, err
		}
		if facts.Outputs == nil {
			facts.Outputs = map[uint64]flow.Data{}
		}
		for _, seq := range need {
			facts.Outputs[seq] = flow.DataOf(p.log[seq-1].Payload)
		}
	}
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
func (p *player) startReady(events []flow.Event) error {
	for _, ev := range events {
		n, _ := p.state.Find(ev.Payload.Node())
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
func (p *player) arrange(events []flow.Event) {
	for _, ev := range events {
		n, i := p.state.Find(ev.Payload.Node())
		if n == nil {
			continue
		}
		spec := p.plan.Spec(i)
		switch {
		case ev.Type == flow.NodeProgressReportedType:
			p.renew(n)
		case n.Cause.Seq != ev.Seq: // another event followed
		case n.Status == flow.NodeIsWaiting && spec.Type == flow.TaskKind: // it waits for somebody
			p.meet(n, outcome{Do: doResume})
		case n.Status == flow.NodeIsRunning, n.Status == flow.NodeIsWaiting:
			p.meet(n, p.nextOutcome(spec))
		}
	}
}

// nextOutcome is the outcome that a node has now. The last one stands for all that follow.
func (p *player) nextOutcome(spec *flow.NodeSpec) outcome {
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
		return outcome{Do: doTimeout} // nobody has to do anything
	}
	return outcome{Do: outcomesOf[spec.Type][0]}
}

// meet puts an outcome of a node into the agenda. A worker that is alive renews its lease meanwhile.
func (p *player) meet(n *flow.Node, o outcome) {
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
func (p *player) renew(n *flow.Node) {
	at := p.now.Add(p.lease / beats)
	if n.TimeoutAt == 0 || at < n.TimeoutAt {
		p.book(appointment{
			at: at, command: flow.Progress{Node: n.ID, Attempt: n.Attempt, Worker: n.Worker},
			since: n.Cause.Seq,
		})
	}
}

func (p *player) book(at appointment) {
	at.order = len(p.decisions)
	place, _ := slices.BinarySearchFunc(p.agenda, at, func(a, b appointment) int {
		return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.order, b.order), -1) // behind those of the same instant
	})
	p.agenda = slices.Insert(p.agenda, place, at)
}

func commandOf(n *flow.Node, o outcome) flow.Command {
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
