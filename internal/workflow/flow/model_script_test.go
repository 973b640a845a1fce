package flow_test

import (
	"fmt"
	"math/rand/v2"
	"strings"

	"renga.dev/renga/internal/workflow/flow"
)

// step is one line of a script: a command, its instant and who sent it.
type step struct {
	command flow.Command
	now     flow.Time
	actor   flow.Actor
}

func (s step) String() string {
	text := fmt.Sprintf("%+v", s.command)
	if f, ok := s.command.(flow.Fail); ok && f.Error != nil {
		text += fmt.Sprintf(" error %s %s", f.Error.Code, f.Error.Detail)
	}
	for _, data := range dataOf(s.command) {
		if len(data) > 100 {
			text = strings.ReplaceAll(text, fmt.Sprint([]byte(data)), fmt.Sprintf("(%d bytes)", len(data)))
		}
	}
	return fmt.Sprintf("%6d %-18s %s", s.now-epoch, s.command.Name(), text)
}

func dataOf(c flow.Command) []flow.Data {
	switch c := c.(type) {
	case flow.Succeed:
		return []flow.Data{c.Output}
	case flow.Resume:
		return []flow.Data{c.Output}
	}
	return nil
}

// epoch is when every script begins.
const epoch flow.Time = 1_800_000_000_000

// player makes up the next step of a script from the state of the model: mostly
// something that could work, now and then something that should not.
type player struct {
	*rand.Rand
	m    *model
	now  flow.Time
	calm int // percent of the steps that are no nonsense
}

func (p *player) odds(percent int) bool { return p.IntN(100) < percent }

func (p *player) next() step {
	c := p.choose()
	p.pass(c)
	if e, ok := c.(flow.Expire); ok && e.At > p.now && p.odds(95) {
		p.now = e.At + flow.Time(pickOne(p.Rand, 0, 0, 1, 50))
	}
	return step{c, p.now, flow.Actor{Kind: flow.KindUser, ID: pickOne(p.Rand, "u1", "u2", "")}}
}

// pass lets time pass.
func (p *player) pass(flow.Command) {
	switch p.IntN(10) {
	case 0, 1, 2, 3, 4:
	case 5, 6, 7:
		p.now += flow.Time(p.IntN(120))
	case 8:
		p.now += flow.Time(p.IntN(1500))
	case 9:
		if at := p.soonest(); at > p.now {
			p.now = at - flow.Time(p.IntN(2))
		}
	}
}

// soonest is the first deadline of the execution.
func (p *player) soonest() flow.Time {
	var first int64
	for _, n := range p.m.nodes {
		if at := n.deadline(); at != 0 && (first == 0 || at < first) {
			first = at
		}
	}
	return flow.Time(first)
}

func (p *player) choose() flow.Command {
	switch {
	case p.m.status == "":
		return flow.Create{Input: p.data(80)}
	case !p.odds(p.calm):
		return p.nonsense()
	case !p.m.started && p.odds(95):
		return flow.Start{}
	case p.m.status != "ACTIVE":
		return pickOne[flow.Command](p.Rand, flow.Archive{Reason: "old"}, flow.Cancel{Reason: "late"}, p.any())
	case p.odds(1) && p.odds(70):
		return flow.Cancel{Reason: pickOne(p.Rand, "", "enough")}
	case p.odds(6):
		return flow.CancelNode{Node: p.victim(), Reason: pickOne(p.Rand, "", "not needed")}
	case p.odds(20):
		if id := p.deadJoin(); id != "" {
			return flow.CancelNode{Node: id}
		}
	}
	return p.sensible()
}

// someNode is any node, in a stable order for one seed.
func (p *player) someNode() string {
	if p.odds(1) {
		return "nowhere"
	}
	return pickOne(p.Rand, p.m.shape.graph.Nodes...).NodeID
}

// victim is a node to cancel: often a Join that a branch has come to, since what
// then follows depends on all that surrounds it.
func (p *player) victim() string {
	if joins := p.joins(); len(joins) > 0 && p.odds(40) {
		return pickOne(p.Rand, joins...)
	}
	return p.someNode()
}

// joins are the Joins that a branch has come to and that have not ended.
func (p *player) joins() []string {
	var all []string
	for _, spec := range p.m.shape.graph.Nodes {
		if n := p.m.nodes[spec.NodeID]; n.gate != nil && len(n.gate.end) > 0 && !n.ended() {
			all = append(all, n.NodeID)
		}
	}
	return all
}

// deadJoin is one of them whose fork an outer Join has closed, "" if there is none.
func (p *player) deadJoin() string {
	for _, id := range p.joins() {
		if p.m.nodes[id].gate.decided {
			return id
		}
	}
	return ""
}

// sensible moves a node that is live.
func (p *player) sensible() flow.Command {
	var live []*modelNode
	for _, spec := range p.m.shape.graph.Nodes {
		if n := p.m.nodes[spec.NodeID]; n.live() {
			live = append(live, n)
		}
	}
	if len(live) == 0 {
		return p.any()
	}
	n := pickOne(p.Rand, live...)
	if at := n.deadline(); at != 0 && (n.retryAt != 0 || p.odds(15)) {
		return flow.Expire{Node: n.NodeID, Attempt: n.attempt, At: flow.Time(at)}
	}
	switch n.status {
	case "READY":
		return flow.StartNode{Node: n.NodeID, Attempt: n.attempt + 1, Worker: p.worker(), Lease: pickOne(p.Rand, 0, 0,
			1, 2, 5)}
	case "WAITING":
		return flow.Resume{Node: n.NodeID, ResumeKey: n.waitKey, Output: p.data(85), As: p.principal()}
	}
	return p.report(n)
}

// principal is mostly somebody who may resume.
func (p *player) principal() flow.Principal {
	return pickOne(p.Rand, flow.Principal{Users: []string{"ann"}}, flow.Principal{Roles: []string{"clerk", "boss"}},
		flow.Principal{Users: []string{"bob"}, Groups: []string{"boss"}})
}

// report is what the worker of a running node says.
func (p *player) report(n *modelNode) flow.Command {
	attempt, worker := pickOne(p.Rand, 0, n.attempt), pickOne(p.Rand, "", n.worker)
	next := p.odds(30)
	switch k := p.IntN(100); {
	case k < 12:
		return p.progress(n.NodeID, attempt, worker)
	case k < 22:
		return flow.Wait{
			Node: n.NodeID, Attempt: attempt, Worker: worker, WaitKey: pickOne(p.Rand, "", "k1", "k2"),
			Prompt: p.data(20),
		}
	case k < 78:
		return flow.Succeed{Node: n.NodeID, Attempt: attempt, Worker: worker, Output: p.data(90), Next: next}
	}
	return flow.Fail{Node: n.NodeID, Attempt: attempt, Worker: worker, Error: p.failure(), Next: next}
}

func (p *player) progress(node string, attempt int, worker string) flow.Command {
	c := flow.Progress{
		Node: node, Attempt: attempt, Worker: worker, Message: pickOne(p.Rand, "", "half way"),
		Metrics: p.data(20),
	}
	if p.odds(70) {
		value := float64(p.IntN(101))
		c.Progress = &value
	}
	return c
}

func (p *player) worker() string { return pickOne(p.Rand, "", "ann", "bob") }

func (p *player) failure() *flow.Error {
	return pickOne(p.Rand,
		nil,
		&flow.Error{Code: "E1", Message: "no luck"},
		&flow.Error{Code: "E2", Detail: flow.Data(`{"k":1}`)},
		&flow.Error{Message: "no code"},
		&flow.Error{Code: "E1", Final: true})
}

// data is an object most of the time, seldom one that is too large for the state.
func (p *player) data(percent int) flow.Data {
	switch {
	case !p.odds(percent):
		return nil
	case p.odds(6):
		return flow.Data(`{}`)
	case p.odds(5):
		return flow.Data(fmt.Sprintf(`{"pad":"%s","x":%d}`, strings.Repeat("p", flow.MaxInline), p.IntN(4)))
	}
	return flow.Data(fmt.Sprintf(`{"x":%d}`, p.IntN(4)))
}

// nonsense is a deadline that does not stand, or a command out of place.
func (p *player) nonsense() flow.Command {
	if p.odds(1) {
		return flow.Expire{Node: "nowhere", At: p.now}
	}
	if p.odds(25) {
		n := p.m.nodes[pickOne(p.Rand, p.m.shape.graph.Nodes...).NodeID]
		return flow.Expire{
			Node:    n.NodeID,
			Attempt: n.attempt + pickOne(p.Rand, 0, 0, 1, -1),
			At:      flow.Time(n.deadline()) + flow.Time(pickOne(p.Rand, 0, 0, 1, -1)),
		}
	}
	return p.any()
}

// any is any command on any node. Half of them are about a node that is live, and
// wrong in one thing only.
func (p *player) any() flow.Command {
	node, attempt, worker := p.someNode(), p.IntN(4), pickOne(p.Rand, "", "ann", "bob", "eve")
	for _, spec := range p.m.shape.graph.Nodes {
		if n := p.m.nodes[spec.NodeID]; n.live() && p.odds(40) {
			node = n.NodeID
			if p.odds(50) {
				attempt = n.attempt
			}
		}
	}
	switch p.IntN(11) {
	case 0:
		return flow.Start{}
	case 1:
		return flow.Archive{}
	case 2:
		if p.odds(80) {
			return flow.CancelNode{Node: node}
		}
		return flow.Cancel{}
	case 3, 4:
		return flow.StartNode{Node: node, Attempt: attempt, Worker: worker, Lease: p.IntN(2)}
	case 5:
		return p.progress(node, attempt, worker)
	case 6:
		return flow.Wait{Node: node, Attempt: attempt, Worker: worker, WaitKey: "k1"}
	case 7, 8:
		return flow.Resume{
			Node: node, ResumeKey: pickOne(p.Rand, "", "k1", "k2"), Output: p.data(80), As: p.principal(),
		}
	case 9:
		return flow.Succeed{Node: node, Attempt: attempt, Worker: worker, Output: p.data(80)}
	}
	return flow.Fail{Node: node, Attempt: attempt, Worker: worker, Error: p.failure()}
}
