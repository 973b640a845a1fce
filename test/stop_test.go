package test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"renga.dev/renga/test/tier"
)

const stoppedFor = 2 * time.Second // twice the lease of 1 s

// TestAStoppedServerDecidesNothingStale stops a process in the midst of work (SIGSTOP)
// and lets it go on (SIGCONT) when leases that it knew have run out and another process has
// done the work it had begun.
func TestAStoppedServerDecidesNothingStale(t *testing.T) {
	tier.System(t)
	onPostgres(t)
	stops := 3
	if long() {
		stops = 50
	}
	at := newSite(t)
	r := newRig(t, killHands, at, at.beside(t))
	for i, h := range r.hands {
		h.lease = 5 // what a stopped process gives to a claim that was repeated elsewhere nobody holds
		if i%2 == 0 {
			h.http.Timeout = stoppedFor * 3 / 4 // these repeat elsewhere what the stopped process still has
		}
	}
	random := rand.New(rand.NewPCG(5, 5))
	enough := r.work()
	defer enough()
	var meanwhile []int64
	for i := range stops {
		r.answers(300)
		pause(time.Duration(random.Int64N(int64(5 * time.Millisecond)))) // anywhere between two commits
		stopped := r.servers[i%2]
		stopped.signal(syscall.SIGSTOP)
		before := r.stress.answered.Load()
		pause(stoppedFor)
		meanwhile = append(meanwhile, r.stress.answered.Load()-before)
		stopped.signal(syscall.SIGCONT)
		if t.Failed() {
			break
		}
	}
	r.answers(300)
	enough()
	for _, h := range r.hands {
		h.http.Timeout = time.Minute // nobody is stopped any more
	}
	r.clear()
	r.audit()
	if n := r.stress.broken.Load(); n < int64(stops) {
		t.Errorf("too weak: only %d requests timed out at a stopped process", n)
	}
	t.Logf("%d stops of %v: %d requests answered, %d repeated because the stopped process did not answer, %d of them "+
		"had taken effect; answered meanwhile by the other: %v",
		stops, stoppedFor, r.stress.answered.Load(), r.stress.broken.Load(), r.stress.remembered.Load(), meanwhile)
	r.end()
}

// asWorker makes the test binary a worker of one task: the address of its server and
// the name of a queue.
const asWorker = "RENGA_TEST_AS_WORKER"

// worker claims one task with a lease of a second, prints it, and when its input says go
// completes it and prints the answer.
func worker(where string) error {
	server, queue, _ := strings.Cut(where, " ")
	body := `{"workerId":"w` + strconv.Itoa(os.Getpid()) + `","queues":["` + queue +
		`"],"waitSeconds":20,"leaseSeconds":1}`
	status, claimed, err := post(server+"/tasks/claim", "claim", body)
	if err != nil || status != http.StatusOK {
		return fmt.Errorf("claim: %d %s %w", status, claimed, err)
	}
	held := (&request{answer: claimed}).reply().Tasks
	if len(held) != 1 {
		return fmt.Errorf("claim: %s", claimed)
	}
	fmt.Println(held[0].ExecutionID, held[0].Attempt)
	if _, err := bufio.NewReader(os.Stdin).ReadString('\n'); err != nil {
		return err
	}
	status, answer, err := post(server+"/executions/"+held[0].ExecutionID+"/nodes/"+held[0].NodeID+"/success", "done",
		`{"attempt":1,"output":{"by":"stopped"}}`)
	fmt.Println(status, answer)
	return err
}

// post sends a request under a key that belongs to this process.
func post(url, key, body string) (int, string, error) {
	req, err := http.NewRequest(http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		return 0, "", err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("X-Idempotency-Key", key+"-"+strconv.Itoa(os.Getpid()))
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, "", err
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	return resp.StatusCode, string(raw), err
}

// TestAStoppedWorkerDoesNotDecide stops workers until their leases have run out. The
// task goes to another one through another process, and what the first one reports
// when it goes on is refused, before the other is done and after.
func TestAStoppedWorkerDoesNotDecide(t *testing.T) {
	tier.System(t)
	stops := 8
	if long() {
		stops = 50
	}
	at := newSite(t)
	servers := []*child{serve(t, at)}
	if postgres() {
		servers = append(servers, serve(t, at.beside(t)))
	}
	c := newClient(t, servers[0], "setup")
	var wg sync.WaitGroup
	for i := range stops {
		queue := "leased" + strconv.Itoa(i)
		c.put(queue, `{"nodes":[{"nodeId":"start","type":"Start"},{"nodeId":"a","type":"Task","queue":"`+queue+
			`","retry":{"maxAttempts":2,"initialInterval":"0s"}},
			{"nodeId":"end","type":"Success"}],"edges":[{"from":"start","to":"a"},{"from":"a","to":"end"}]}`)
		made := c.request("CreateExecution", "", "", `"graphId":"`+queue+`","start":true`)
		if err := c.do(t.Context(), made); err != nil || !made.accepted() {
			t.Fatalf("%d %s %v", made.status, made.answer, err)
		}
		wg.Go(func() {
			w := startWorker(t, servers[0].url+" "+queue)
			w.outlive(newClient(t, servers[len(servers)-1], "second"+strconv.Itoa(i)), made.reply().ExecutionID,
				i%2 == 0)
		})
	}
	wg.Wait()
	for _, server := range servers {
		server.stop()
	}
	verify(t, at)
	t.Logf("%d workers were stopped for %v with a lease of 1s", stops, stoppedFor)
}

// stopped is a worker in a process of its own that is stopped while it has a task.
type stopped struct {
	t   *testing.T
	cmd *exec.Cmd
	in  io.Writer
	out *bufio.Reader
}

func startWorker(t *testing.T, where string) *stopped {
	cmd := renga()
	cmd.Env = append(cmd.Env, asWorker+"="+where)
	cmd.Stderr = os.Stderr
	w := &stopped{t: t, cmd: cmd}
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Error(err)
		return w
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Error(err)
		return w
	}
	w.in, w.out = in, bufio.NewReader(out)
	if err := cmd.Start(); err != nil {
		t.Error(err)
		return w
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	return w
}

// line is the next line that the worker prints.
func (w *stopped) line() string {
	line, err := w.out.ReadString('\n')
	if err != nil {
		w.t.Errorf("the worker has ended: %v", err)
	}
	return strings.TrimSpace(line)
}

// outlive stops the worker, lets another one have its task, and lets the first report
// before or after that one.
func (w *stopped) outlive(second *client, id string, before bool) {
	if got := w.line(); got != id+" 1" {
		w.t.Errorf("the worker got %q, not the first attempt of %s", got, id)
		return
	}
	_ = w.cmd.Process.Signal(syscall.SIGSTOP)
	until := time.Now().Add(stoppedFor)
	ctx, cancel := context.WithTimeout(w.t.Context(), maxWait)
	defer cancel()
	if !second.awaitAttempt(ctx, id, 2) {
		v, _ := second.view(id)
		w.t.Errorf("the second attempt does not come: %+v", v)
		return
	}
	start := second.request("StartNode", id, "a", `"attempt":2`)
	done := second.request("SucceedNode", id, "a", `"attempt":2,"output":{"by":"second"}`)
	if err := second.do(ctx, start); err != nil || start.status != http.StatusAccepted {
		w.t.Errorf("%s: %d %s %v", start.path(), start.status, start.answer, err)
	}
	finish := func() {
		if err := second.do(ctx, done); err != nil || done.status != http.StatusAccepted {
			w.t.Errorf("%s: %d %s %v", done.path(), done.status, done.answer, err)
		}
	}
	if !before {
		finish()
	}
	pause(time.Until(until))
	_, _ = io.WriteString(w.in, "go\n")
	_ = w.cmd.Process.Signal(syscall.SIGCONT)
	if got := w.line(); !strings.HasPrefix(got, "409 ") {
		w.t.Errorf("what the stopped worker reports is answered %s", got)
	}
	if before {
		finish()
	}
	log := second.events(id)
	if checkLog(w.t, id, log) != "COMPLETED" {
		w.t.Errorf("execution %s did not complete: %+v", id, log)
	}
	for _, ev := range log {
		if ev.Type == "NODE_SUCCEEDED" && ev.Payload.NodeID == "a" && ev.CorrelationID != done.corr {
			w.t.Errorf("execution %s: the task was completed by %s", id, ev.CorrelationID)
		}
	}
}

// awaitAttempt waits until a Task a of an execution is ready for an attempt.
func (c *client) awaitAttempt(ctx context.Context, id string, attempt int) bool {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		v, _ := c.view(id)
		for _, n := range v.Nodes {
			if n.NodeID == "a" && n.Status == "READY" && n.NextAttempt == attempt {
				return true
			}
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return false
		}
	}
}
