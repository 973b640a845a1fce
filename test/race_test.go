package test

import (
	"math/rand/v2"
	"net/http"
	"strconv"
	"sync"
	"testing"
	"time"

	"renga.dev/renga/test/tier"
)

// step is a command without its execution.
type step struct{ command, node, members string }

// pairing is a cancel and what it races with: a rival command, or a deadline that
// a command sets.
type pairing struct {
	name   string
	graph  string
	before []step        // bring a new execution to the point of the race
	rival  step          // the command that races; with due, the one that sets the deadline
	due    time.Duration // of the deadline that races
	effect sign          // shows that the rival came before the cancel
	ends   string        // how the execution ends when it did; "": the cancel is accepted still
	late   bool          // a rival that is refused is kept as a late result
}

// sign is an event that shows something.
type sign struct {
	kind, node string
	attempt    int
}

func (s sign) in(log []event) bool {
	for _, ev := range log {
		if ev.Type == s.kind && ev.Payload.NodeID == s.node && ev.Payload.Attempt == s.attempt {
			return true
		}
	}
	return false
}

var raceGraphs = map[string]string{
	"task": `{"nodes":[{"nodeId":"start","type":"Start"},{"nodeId":"a","type":"Task"},
		{"nodeId":"end","type":"Success"}],
		"edges":[{"from":"start","to":"a"},{"from":"a","to":"end"}]}`,
	"wait": `{"nodes":[{"nodeId":"start","type":"Start"},{"nodeId":"a","type":"Wait"},
		{"nodeId":"end","type":"Success"}],
		"edges":[{"from":"start","to":"a"},{"from":"a","to":"end"}]}`,
	"retry": `{"nodes":[{"nodeId":"start","type":"Start"},{"nodeId":"a","type":"Task","retry":{"maxAttempts":3,
		"initialInterval":"25ms"}},
		{"nodeId":"end","type":"Success"}],"edges":[{"from":"start","to":"a"},{"from":"a","to":"end"}]}`,
	"timeout": `{"nodes":[{"nodeId":"start","type":"Start"},{"nodeId":"a","type":"Task","timeout":"25ms"},
		{"nodeId":"end","type":"Success"}],
		"edges":[{"from":"start","to":"a"},{"from":"a","to":"end"}]}`,
	"fork": `{"nodes":[{"nodeId":"start","type":"Start"},{"nodeId":"fork","type":"Fork"},{"nodeId":"a","type":"Task"},
		{"nodeId":"b","type":"Task"},
		{"nodeId":"join","type":"Join"},{"nodeId":"end","type":"Success"}],"edges":[{"from":"start","to":"fork"},
		{"from":"fork","to":"a"},
		{"from":"fork","to":"b"},{"from":"a","to":"join"},{"from":"b","to":"join"},{"from":"join","to":"end"}]}`,
}

const dueIn = 25 * time.Millisecond // as in the graphs

// pairings are what a cancel races with.
func pairings() []pairing {
	start := step{"StartExecution", "", ""}
	startA := step{"StartNode", "a", `"attempt":1,"workerId":"w"`}
	startB := step{"StartNode", "b", `"attempt":1,"workerId":"w"`}
	succeedA := step{"SucceedNode", "a", `"attempt":1,"workerId":"w","output":{"by":"rival"}`}
	succeedB := step{"SucceedNode", "b", `"attempt":1,"workerId":"w","output":{"by":"rival"}`}
	failA := step{"FailNode", "a", `"attempt":1,"workerId":"w","error":{"code":"BROKEN","message":"rival"}`}
	progressA := step{"ReportNodeProgress", "a", `"attempt":1,"progress":50`}
	parkA := step{"PutNodeWaiting", "a", `"attempt":1`}
	resumeA := step{"ResumeNode", "a", ""}
	cancel := step{"CancelExecution", "", `"reason":"rival"`}
	return []pairing{
		{"success", "task", []step{start, startA}, succeedA, 0, sign{"NODE_SUCCEEDED", "a", 0}, "COMPLETED", true},
		{"fail", "task", []step{start, startA}, failA, 0, sign{"NODE_FAIL_REPORTED", "a", 1}, "FAILED", true},
		{"progress", "task", []step{start, startA}, progressA, 0, sign{"NODE_PROGRESS_REPORTED", "a", 0}, "", false},
		{"wait", "task", []step{start, startA}, parkA, 0, sign{"NODE_WAITING", "a", 0}, "", false},
		{
			"resume of a Task",
			"task",
			[]step{start, startA, parkA},
			resumeA,
			0,
			sign{"NODE_RESUMED", "a", 0},
			"",
			false,
		},
		{"resume of a Wait", "wait", []step{start}, resumeA, 0, sign{"NODE_RESUMED", "a", 0}, "COMPLETED", false},
		{"retry timer", "retry", []step{start, startA}, failA, dueIn, sign{"NODE_READY", "a", 2}, "", false},
		{
			"node timeout",
			"timeout",
			[]step{start},
			startA,
			dueIn,
			sign{"NODE_FAIL_REPORTED", "a", 1},
			"FAILED",
			false,
		},
		{"fork", "fork", nil, start, 0, sign{"FORK_OPENED", "fork", 0}, "", false},
		{
			"join", "fork",
			[]step{start, startA, startB, succeedA},
			succeedB, 0,
			sign{"JOIN_PASSED", "join", 0},
			"COMPLETED", true,
		},
		{"second cancel", "task", []step{start, startA}, cancel, 0, sign{}, "", false},
	}
}

const (
	lanes     = 4  // races of a pairing at a time
	leastWins = 10 // percent of the races that each side must win
	leastMet  = 20 // percent of the races with a command in which both were on their way at once
)

// TestACancelThatWasAcceptedWins races cancels with everything that could come in
// between, on connections of their own. Who wins is left to the server; when it
// always is the same side the test was too weak.
func TestACancelThatWasAcceptedWins(t *testing.T) {
	tier.System(t)
	races := 500
	if postgres() {
		races = 250
	}
	if long() {
		races = 10_000
	}
	at := newSite(t)
	server := serve(t, at)
	setUp := newClient(t, server, "setup")
	for name, graph := range raceGraphs {
		setUp.put(name, graph)
	}
	var all []*course
	for i, p := range pairings() {
		c := &course{
			t: t, pairing: p, server: server, name: "p" + strconv.Itoa(i), step: 200 * time.Microsecond,
			ends: map[string]outcome{},
		}
		t.Run(p.name, func(t *testing.T) {
			c.t = t
			c.run((races + len(pairings()) - 1) / len(pairings()))
		})
		all = append(all, c)
	}
	server.kill()
	server = serve(t, at)
	reader := newClient(t, server, "reader")
	for _, c := range all {
		for id, want := range c.ends {
			if v, _ := reader.view(id); v.Status != want.status || v.Seq != want.events {
				t.Errorf("%s: execution %s ended %s with %d events; after a restart it is %s with %d", c.pairing.name,
					id, want.status, want.events, v.Status, v.Seq)
			}
		}
	}
	server.stop()
	t.Log("renga verify: " + verify(t, at))
}

// outcome is how a race left its execution.
type outcome struct {
	status string
	events uint64
}

// course is where the races of one pairing are run. It steers: whoever wins starts
// a little later next time.
type course struct {
	t       *testing.T
	pairing pairing
	server  *child
	name    string

	mu   sync.Mutex
	lead time.Duration // of the cancel before its rival; negative: it starts later
	step time.Duration // by which lead moves
	row  int           // wins in a row of the cancel, negative: of the rival
	wins [2]int        // of the rival, of the cancel
	met  int           // races in which both were on their way at the same time
	ends map[string]outcome
}

// run runs n races, several at a time, and more of them while one side wins too seldom:
// steering takes some to find where the two are close.
func (c *course) run(n int) {
	var all []*lane
	for i := range lanes {
		all = append(all, newLane(c, i))
	}
	for round := 0; round == 0 || round < 6 && c.uneven() && !c.t.Failed(); round++ {
		var wg sync.WaitGroup
		for i, l := range all {
			wg.Go(func() {
				for _, id := range l.prepare((n + lanes - 1 - i) / lanes) {
					if c.t.Failed() {
						return
					}
					l.race(id)
				}
			})
		}
		wg.Wait()
	}
	total := c.wins[0] + c.wins[1]
	c.t.Logf("%d races with %s: the cancel came first in %d, the rival in %d; in %d both were on their way at once "+
		"(the cancel starts %v later)",
		total, c.pairing.name, c.wins[1], c.wins[0], c.met, round(-c.lead))
	for i, side := range []string{"rival", "cancel"} {
		if !c.t.Failed() && c.uneven() && c.wins[i] < c.wins[1-i] {
			c.t.Errorf("too weak: the %s came first in %d of %d races", side, c.wins[i], total)
		}
	}
	if c.pairing.due == 0 && c.met*100 < total*leastMet {
		c.t.Errorf("too weak: only in %d of %d races both were on their way at once", c.met, total)
	}
}

// uneven reports whether one side has won too seldom.
func (c *course) uneven() bool {
	return min(c.wins[0], c.wins[1])*100 < (c.wins[0]+c.wins[1])*leastWins
}

// steer notes who won and handicaps the winner: in small steps when the two are
// close, in growing ones when one of them wins again and again.
func (c *course) steer(cancelWon bool, id string, end outcome) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ends[id] = end
	won, way := 0, time.Duration(1)
	if cancelWon {
		won, way = 1, -1
	}
	c.wins[won]++
	same := (c.row > 0) == cancelWon
	if !same {
		c.row = 0
		c.step = max(c.step/2, 20*time.Microsecond)
	}
	c.row -= int(way)
	switch far := max(c.row, -c.row); {
	case far > 10:
		c.step = min(2*c.step, 10*time.Millisecond)
	case far > 5:
		c.step = min(2*c.step, time.Millisecond)
	}
	c.lead = min(max(c.lead+way*c.step, -200*time.Millisecond), 200*time.Millisecond)
}

func (c *course) handicap() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.lead
}

// lane is two clients that race against each other.
type lane struct {
	*course
	canceler, rival *client
	rand            *rand.Rand
}

func newLane(c *course, i int) *lane {
	name := c.name + "-" + strconv.Itoa(i)
	return &lane{
		course: c, canceler: newClient(c.t, c.server, name+"-cancel"), rival: newClient(c.t, c.server, name+"-rival"),
		rand: rand.New(rand.NewPCG(uint64(i), 7)),
	}
}

// prepare brings n executions to the point of the race.
func (l *lane) prepare(n int) []string {
	var creates, steps []*request
	for range n {
		creates = append(creates, l.rival.request("CreateExecution", "", "", `"graphId":"`+l.pairing.graph+`"`))
	}
	l.send(creates)
	var ids []string
	for _, r := range creates {
		id := r.reply().ExecutionID
		ids = append(ids, id)
		for _, s := range l.pairing.before {
			steps = append(steps, l.rival.request(s.command, id, s.node, s.members))
		}
	}
	l.send(steps)
	return ids
}

// send sends requests that nothing can refuse, some hundred at a time.
func (l *lane) send(rs []*request) {
	for len(rs) > 0 {
		part := rs[:min(len(rs), 480)]
		rs = rs[len(part):]
		if err := l.rival.batch(l.t.Context(), part...); err != nil {
			l.t.Error(err)
			return
		}
		for _, r := range part {
			if r.status != http.StatusAccepted {
				l.t.Errorf("%s answered %d %s", r.path(), r.status, r.answer)
			}
		}
	}
}

// race lets cancel and rival go at the same time, a handicap and a jitter apart.
func (l *lane) race(id string) {
	s := l.pairing.rival
	rival := l.rival.request(s.command, id, s.node, s.members)
	cancel := l.canceler.request("CancelExecution", id, "", `"reason":"race"`)
	lead := l.handicap() + time.Duration(l.rand.Int64N(int64(200*time.Microsecond))) - 100*time.Microsecond
	if l.pairing.due > 0 {
		l.do(l.rival, rival)
		pause(l.pairing.due - lead)
		l.do(l.canceler, cancel)
		l.judge(id, cancel, rival)
		return
	}
	var both sync.WaitGroup
	var sent, answered [2]time.Time
	gate := make(chan struct{})
	run := func(i int, wait time.Duration, c *client, r *request) func() {
		return func() {
			<-gate
			pause(wait)
			sent[i] = time.Now()
			l.do(c, r)
			answered[i] = time.Now()
		}
	}
	both.Go(run(0, lead, l.rival, rival))
	both.Go(run(1, -lead, l.canceler, cancel))
	close(gate)
	both.Wait()
	if sent[0].Before(answered[1]) && sent[1].Before(answered[0]) {
		l.meet()
	}
	l.judge(id, cancel, rival)
}

func (l *lane) do(c *client, r *request) {
	if err := c.do(l.t.Context(), r); err != nil {
		l.t.Error(err)
	}
}

func (c *course) meet() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.met++
}
