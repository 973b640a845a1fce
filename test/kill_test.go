package test

import (
	"io"
	"math/rand/v2"
	"net/http"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"renga.dev/renga/internal/app"
	"renga.dev/renga/test/tier"
)

const killHands = 16

// readyWithin is how soon a server is ready after a kill: the bar at full size, and at any
// other time, when other tests run beside it, what nobody waits longer for.
func readyWithin() time.Duration {
	if long() {
		return 2 * time.Second
	}
	return 20 * time.Second
}

// acksPerKill is how many requests are answered between two kills, at least.
func acksPerKill() int64 {
	if long() {
		return 300
	}
	return 150
}

// TestNothingIsLostWhenTheProcessIsKilled kills the server with SIGKILL again and
// again while clients work. They repeat every request that was not answered, with
// its key, and keep a ledger of the answers. At the end the ledger and the log must
// say the same, event by event.
func TestNothingIsLostWhenTheProcessIsKilled(t *testing.T) {
	tier.System(t)
	if postgres() && !long() {
		t.Skip("SKIP: two processes are killed instead")
	}
	killInTurn(t, newSite(t))
}

// TestNothingIsLostWhenProcessesAreKilledInTurn does the same to two processes on one
// database. What the one does not answer is sent to the other.
func TestNothingIsLostWhenProcessesAreKilledInTurn(t *testing.T) {
	tier.System(t)
	onPostgres(t)
	at := newSite(t)
	killInTurn(t, at, at.beside(t))
}

func killInTurn(t *testing.T, sites ...site) {
	kills := 10
	if postgres() {
		kills = 6 // the audit takes longer
	}
	if long() {
		kills = 100
	}
	k := &killing{rig: newRig(t, killHands, sites...), kills: kills, rand: rand.New(rand.NewPCG(1, uint64(kills)))}
	began := time.Now()
	enough := k.work()
	for i := 0; (i < kills || k.unlucky() && i < 3*kills) && !t.Failed(); i++ {
		k.kill(i % len(sites))
	}
	enough()
	k.took = time.Since(began)
	k.lost = k.stress.unanswered.Load()
	k.clear()
	k.minima(k.audit())
	k.awaitPublished()
	if n := numberBefore(k.end(), " snapshots"); n < killHands {
		t.Errorf("too weak: %d snapshots, want at least %d", n, killHands)
	}
	k.streams()
	k.report()
}

// killing is one run of the test.
type killing struct {
	*rig
	kills   int // that are wanted
	rand    *rand.Rand
	ready   spans         // of the starts after a kill
	stood   time.Duration // the longest time of those in which the machine stood still
	hit     int           // kills that left a request unanswered
	early   int           // kills of a process that was not ready yet
	perKill []int         // answers between two kills
	took    time.Duration
	lost    int64 // requests that the kills left unanswered
}

// unlucky reports whether the kills hit too little: hardly any came between a commit and
// its answer, or while many requests were on their way. Where a kill comes is chance, and a
// few of them say too little: more are needed then.
func (k *killing) unlucky() bool {
	return int(k.stress.remembered.Load()) < k.kills/2 || int(k.stress.unanswered.Load()) < 4*k.kills ||
		k.hit < k.kills*9/10
}

// kill waits for enough answers, kills a server and starts another one in its place.
func (k *killing) kill(i int) {
	before := k.answers(acksPerKill() + k.rand.Int64N(2*acksPerKill()))
	if k.t.Failed() {
		return
	}
	pause(time.Duration(k.rand.Int64N(int64(4 * time.Millisecond)))) // anywhere between two commits
	unanswered := k.stress.unanswered.Load()
	k.servers[i].signal(syscall.SIGKILL)
	k.lose(i)
	k.perKill = append(k.perKill, int(k.stress.answered.Load()-before))
	if len(k.perKill)%5 == 2 {
		k.killEarly(i)
	}
	k.start(i)
	k.ready = append(k.ready, k.servers[i].ready)
	k.stood = max(k.stood, k.servers[i].stood)
	if k.servers[i].late() {
		k.t.Errorf("a start took %v, and the machine stood still for %v of it; the limit is %v", k.servers[i].ready,
			k.servers[i].stood, readyWithin())
	}
	if k.stress.unanswered.Load() > unanswered {
		k.hit++
	}
}

// killEarly kills a server while it starts: recovery must stand being cut off.
func (k *killing) killEarly(i int) {
	c, _ := launch(k.t, k.sites[i])
	pause(time.Duration(k.rand.Int64N(int64(25 * time.Millisecond))))
	c.kill()
	k.early++
}

// pause lets time pass so that things meet in another order. No test relies on
// what happens meanwhile.
func pause(d time.Duration) {
	if d > 0 {
		<-time.After(d)
	}
}

// minima fail a run that did not ask enough of the server.
func (k *killing) minima(b *books) {
	accepted, ends := map[string]int{}, map[string]int{}
	refused := 0
	for _, r := range b.answered {
		if r.status == http.StatusConflict {
			refused++
		} else {
			accepted[r.command]++
		}
	}
	for _, v := range b.views {
		ends[v.Status]++
	}
	kills := k.kills
	k.t.Logf("accepted: %s; refused %d", counts(accepted), refused)
	k.t.Logf("%d executions: %s", len(b.views), counts(ends))
	atLeast := func(what string, got, want int) {
		if got < want {
			k.t.Errorf("too weak: %d %s, want at least %d", got, what, want)
		}
	}
	for command := range effects {
		atLeast("accepted "+command, accepted[command], kills)
	}
	for _, end := range terminals {
		atLeast("executions that ended "+end, ends[end], kills)
	}
	atLeast("claims answered", accepted[claim], 5*kills)
	atLeast("refusals", refused, 5*kills)
	atLeast("answers between two kills", slices.Min(k.perKill), int(acksPerKill()))
	atLeast("kills while a request was unanswered", k.hit, kills*9/10)
	atLeast("requests that a kill left unanswered", int(k.lost), 4*kills)
	atLeast("unanswered requests that had taken effect", int(k.stress.remembered.Load()), kills/2)
	atLeast("answered requests sent again", int(k.stress.again.Load()), 20*kills)
}

func (k *killing) report() {
	k.t.Logf("%d kills (%d more during a start) in %v: %d requests answered, %d a kill (median), %d reads",
		len(k.perKill), k.early,
		k.took.Round(time.Millisecond), k.stress.answered.Load(),
		slices.Sorted(slices.Values(k.perKill))[len(k.perKill)/2], k.stress.reads.Load())
	k.t.Logf("%d kills left %d requests unanswered; %d of them had taken effect and were answered from memory; %d "+
		"answers were asked for again",
		k.hit, k.lost, k.stress.remembered.Load(), k.stress.again.Load())
	k.t.Logf("ready again after %v p50, %v p99, %v max; the machine stood still for up to %v of it",
		round(k.ready.at(50)), round(k.ready.at(99)), round(slices.Max(k.ready)), round(k.stood))
}

// numberBefore is the number in front of a word.
func numberBefore(line, word string) int {
	head, _, _ := strings.Cut(line, word)
	n, _ := strconv.Atoi(head[strings.LastIndexByte(head, ' ')+1:])
	return n
}

// TestAServerIsReadySoonAfterALongLog kills a server when its write-ahead log is
// long, so that the next one has much to recover.
func TestAServerIsReadySoonAfterALongLog(t *testing.T) {
	tier.System(t)
	onSQLite(t)
	at := newSite(t)
	server := serve(t, at)
	c := newClient(t, server, "writer")
	c.put("diary", graphs["diary"])
	wal := filepath.Join(at.dir, app.DatabaseFile+"-wal")
	const enough = 48 << 20
	text := strings.Repeat("0123456789", 100_000)
	for i := 0; sizeOf(wal) < enough; i++ {
		if i == 200 {
			t.Fatalf("too weak: the log has only %d bytes after %d MB", sizeOf(wal), i)
		}
		r := c.request("CreateExecution", "", "", `"graphId":"diary","input":{"text":"`+text+`"}`)
		if err := c.do(t.Context(), r); err != nil {
			t.Fatal(err)
		}
	}
	server.kill()
	size := sizeOf(wal)
	server = serve(t, at)
	t.Logf("ready %v after a kill with a log of %d MiB; the machine stood still for %v of it", round(server.ready),
		size>>20, round(server.stood))
	if server.late() {
		t.Errorf("the limit is %v", readyWithin())
	}
	reader := newClient(t, server, "reader")
	if got := reader.list(""); len(got) != len(c.ledger) {
		t.Errorf("%d executions, %d were acknowledged", len(got), len(c.ledger))
	}
	server.stop()
	verify(t, at)
}

// TestDeadlinesSurviveAKill kills a server that has set deadlines and asks nothing
// of the next one: they must come by themselves.
func TestDeadlinesSurviveAKill(t *testing.T) {
	tier.System(t)
	at := newSite(t)
	server := serve(t, at)
	c := newClient(t, server, "c")
	ctx := t.Context()
	begin := func(graph, spec string, steps ...step) string {
		c.put(graph, strings.Replace(graphs["diary"], `"type":"Task","queue":"mine"`, spec, 1))
		made := c.request("CreateExecution", "", "", `"graphId":"`+graph+`"`)
		if err := c.do(ctx, made); err != nil {
			t.Fatal(err)
		}
		id := made.reply().ExecutionID
		for _, s := range append([]step{{"StartExecution", "", ""}}, steps...) {
			r := c.request(s.command, id, s.node, s.members)
			if err := c.do(ctx, r); err != nil || !r.accepted() {
				t.Fatalf("%s: %d %s %v", r.path(), r.status, r.answer, err)
			}
		}
		return id
	}
	ends := map[string]string{
		"timeout": begin("timeout", `"type":"Task","timeout":"1s"`, step{"StartNode", "a", `"attempt":1`}),
		"wait":    begin("wait", `"type":"Wait","timeout":"1s"`),
		"lease":   begin("lease", `"type":"Task","queue":"lease"`),
	}
	begin("retry", `"type":"Task","queue":"again","retry":{"maxAttempts":2,"initialInterval":"1s"}`,
		step{"StartNode", "a", `"attempt":1`}, step{"FailNode", "a", `"attempt":1`})
	if err := c.do(ctx, c.request(claim, "", "", `"workerId":"c","queues":["lease"],"leaseSeconds":1`)); err != nil {
		t.Fatal(err)
	}
	server.kill()
	server = serve(t, at)
	for what, id := range ends {
		if got := follow(t, server, id); !strings.Contains(got, `"code":"ERR_TIMEOUT"`) ||
			!strings.HasSuffix(got, "event: end\ndata: {\"status\":\"FAILED\"}\n\n") {
			t.Errorf("%s: the stream of the execution was\n%s", what, got)
		}
	}
	worker := newClient(t, server, "worker")
	again := worker.request(claim, "", "", `"workerId":"c","queues":["again"],"waitSeconds":30`)
	if err := worker.do(ctx, again); err != nil || len(again.reply().Tasks) != 1 ||
		again.reply().Tasks[0].Attempt != 2 {
		t.Errorf("the claim of the second attempt: %s %v", again.answer, err)
	}
	server.stop()
	verify(t, at)
}

// follow reads the stream of an execution to its end.
func follow(t *testing.T, server *child, id string) string {
	t.Helper()
	resp, err := (&http.Client{Timeout: maxWait}).Get(server.url + "/executions/" + id + "/stream")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}
