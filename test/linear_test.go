package test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"renga.dev/renga/test/tier"
)

const (
	hotChains   = 4  // executions that all clients work on at a time
	opsPerChain = 80 // then another takes its place
)

// TestTheHistoryOfEveryExecutionIsLinearizable lets clients send commands to a few
// executions and read them, through all processes, while processes are killed and
// connections to the database are cut. Each execution must look as if everything had
// happened one after the other, each operation between its call and its answer.
func TestTheHistoryOfEveryExecutionIsLinearizable(t *testing.T) {
	tier.System(t)
	operations := int64(2_000)
	if long() {
		operations = 20_000
	}
	l := &linear{storm: newStorm(t, 6, 100)}
	for i := range 2 * operations / opsPerChain {
		l.hands[0].put(chainName(i), chainGraph())
	}
	for i := range l.hot {
		l.renew(l.hands[0].client, i)
	}
	l.rage(operations, l.operate)
	l.judge(always(chainModel), func(output any) bool { return output.(opResult).unknown })
	total := int(l.count.Load())
	l.atLeast("commands that were accepted", int(l.agreed.Load()), total/16)
	l.atLeast("waits that were listed", int(l.waits.Load()), total/200)
	l.end()
}

// chainName is the graph of one execution alone, whose waits can be listed by it.
func chainName(i int64) string { return fmt.Sprint("chain-", i) }

// chainGraph is a graph of some Tasks and a Wait, one after the other.
func chainGraph() string {
	nodes, edges, last := `{"nodeId":"start","type":"Start"}`, "", "start"
	for i := range links {
		name := taskName(i)
		if i == waitLink {
			nodes += `,{"nodeId":"` + name + `","type":"Wait"}`
		} else {
			nodes += `,{"nodeId":"` + name + `","type":"Task","queue":"nobody"}`
		}
		edges += `{"from":"` + last + `","to":"` + name + `"},`
		last = name
	}
	return `{"nodes":[` + nodes + `,{"nodeId":"end","type":"Success"}],"edges":[` + edges + `{"from":"` + last +
		`","to":"end"}]}`
}

func taskName(i int) string { return "t" + strconv.Itoa(i) }

// linear is one run of the test.
type linear struct {
	*storm
	hot    [hotChains]*hotChain
	chains atomic.Int64 // that were created
	waits  atomic.Int64 // that were listed
	agreed atomic.Int64 // commands that were accepted
}

// hotChain is an execution that clients work on, and what they guess of it.
type hotChain struct {
	id    string
	graph string
	ops   atomic.Int64
	guess atomic.Pointer[chain]
}

// learn guesses what the execution is like after an operation.
func (x *hotChain) learn(q asked, a opResult) {
	switch {
	case q.command == look:
		x.guess.Store(&a.seen)
	case a.accepted: // never of another read
		next, _ := x.guess.Load().after(q)
		x.guess.Store(&next)
	}
}

// renew puts another execution in a place.
func (l *linear) renew(c *client, place int) {
	graph := chainName(l.chains.Add(1) - 1)
	made := c.request("CreateExecution", "", "", `"graphId":"`+graph+`"`)
	if err := c.do(l.t.Context(), made); err != nil || !made.accepted() {
		l.t.Errorf("%d %s %v", made.status, made.answer, err)
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	fresh := newChain()
	l.hot[place] = &hotChain{id: made.reply().ExecutionID, graph: graph}
	l.hot[place].guess.Store(&fresh)
}

// operate does one operation on one of the executions.
func (l *linear) operate(c *client) {
	place := c.roams.IntN(hotChains)
	l.mu.Lock()
	x := l.hot[place]
	l.mu.Unlock()
	if x.ops.Add(1) == opsPerChain {
		l.renew(c, place)
	}
	q := l.choose(c.roams, x)
	called := l.now()
	a, ok := l.ask(c, q)
	if !ok {
		return
	}
	l.note("execution "+q.execution, q, a, called)
	if a.accepted {
		l.agreed.Add(1)
	}
	x.learn(q, a)
}

// choose draws an operation: mostly one that makes sense as far as one knows.
func (l *linear) choose(random *rand.Rand, x *hotChain) asked {
	c := x.guess.Load()
	q := asked{execution: x.id, graph: x.graph, task: max(0, slices.IndexFunc(c.tasks[:], func(task string) bool {
		return task != "SUCCEEDED"
	}))}
	sensible := map[string]string{
		"CREATED": "StartExecution", "READY": "StartNode", "RUNNING": "ReportNodeProgress", "WAITING": "ResumeNode",
		"FAILED": "ArchiveExecution", "CANCELED": "ArchiveExecution", "SUCCEEDED": "ArchiveExecution",
	}
	n := random.IntN(100)
	for _, choice := range []struct {
		command string
		weight  int
	}{
		{look, 16},
		{count, 6},
		{inWaits, 10},
		{sensible[c.tasks[q.task]], 42},
		{"SucceedNode", 7},
		{"PutNodeWaiting", 9},
		{"StartNode", 3},
		{"ResumeNode", 3},
		{"StartExecution", 1},
		{"CancelExecution", 1},
		{"FailNode", 1},
		{"ArchiveExecution", 1},
	} {
		if n -= choice.weight; n < 0 {
			q.command = choice.command
			break
		}
	}
	if random.IntN(20) == 0 {
		q.task = random.IntN(links)
	}
	return q
}

// ask does an operation. A read without an answer is none. A command without an answer
// is repeated, or left as it is.
func (l *linear) ask(c *client, q asked) (opResult, bool) {
	switch q.command {
	case look:
		v, ok := c.view(q.execution)
		return opResult{seen: chainOf(v)}, ok
	case count:
		var page struct {
			Total int `json:"total"`
		}
		status := c.get("/executions/"+q.execution+"/events?page_size=10", &page)
		return opResult{total: page.Total}, status == http.StatusOK
	case inWaits:
		return l.listed(c, q)
	}
	node, members := "", ""
	if turns[q.command].from != "" {
		node, members = taskName(q.task), `"attempt":1`
		if q.command == "ResumeNode" {
			members = ""
		}
	}
	r := c.request(q.command, q.execution, node, members)
	c.move()
	for began := time.Now(); r.status == 0; {
		_, err := c.try(l.t.Context(), r)
		switch {
		case r.status != 0:
		case time.Since(began) > maxWait, err != nil && !errors.Is(err, errUnanswered):
			l.t.Errorf("%s was not answered: %v\n%s", r.path(), err, l.logs())
			return opResult{}, false
		case !errors.Is(err, errNobody) && c.roams.IntN(2) == 0:
			return opResult{unknown: true}, true
		}
	}
	return opResult{accepted: r.accepted(), cancel: int(r.reply().CancelSeq)}, true
}

// listed reads which node of an execution is in the list of waits.
func (l *linear) listed(c *client, q asked) (opResult, bool) {
	var page struct {
		Items []struct {
			ExecutionID string `json:"executionId"`
			NodeID      string `json:"nodeId"`
		} `json:"items"`
		Total int `json:"total"`
	}
	if c.get("/waits?graphId="+q.graph, &page) != http.StatusOK {
		return opResult{}, false
	}
	if page.Total != len(page.Items) || page.Total > 1 {
		l.t.Errorf("%d waits in all, these are listed: %+v; want one at most", page.Total, page.Items)
	}
	for _, item := range page.Items {
		l.waits.Add(1)
		task, err := strconv.Atoi(strings.TrimPrefix(item.NodeID, "t"))
		return opResult{waiting: task}, err == nil && item.ExecutionID == q.execution
	}
	return opResult{waiting: -1}, true
}

// chainOf is an execution as it was read.
func chainOf(v view) chain {
	c := chain{seq: int(v.Seq), status: v.Status, started: v.StartedAt != "", archived: v.ArchivedAt != ""}
	if v.Cancel != nil {
		c.cancel = int(v.Cancel.Seq)
	}
	for _, n := range v.Nodes {
		if i, err := strconv.Atoi(strings.TrimPrefix(n.NodeID, "t")); err == nil {
			c.tasks[i] = n.Status
		}
	}
	return c
}
