package test

import (
	"bufio"
	"context"
	"errors"
	"net/http"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"renga.dev/renga/test/stalltest"
	"renga.dev/renga/test/tier"
)

// TestATerminatedServerDrains asks a server to end while requests, long polls and
// streams are under way. It must end well and soon, and everything that it
// acknowledged must be there.
func TestATerminatedServerDrains(t *testing.T) {
	tier.System(t)
	rounds := 3
	if long() {
		rounds = 30
	}
	r := newRig(t, 16, newSite(t))
	enough := r.work()
	defer enough()
	stalls := stalltest.New(t)
	var took spans
	for range rounds {
		r.answers(300)
		w := r.openWaits()
		asked := time.Now()
		old := r.servers[0]
		old.signal(syscall.SIGTERM)
		if code := old.code(maxWait); code != 0 {
			t.Fatalf("the server ended with code %d:\n%s", code, old.log)
		}
		took = append(took, stalls.Since(asked))
		for _, line := range []string{"msg=draining", "msg=drained"} {
			if !old.log.has(line) {
				t.Errorf("the server did not log %s:\n%s", line, old.log)
			}
		}
		w.check(t, stalls, asked)
		r.lose(0)
		r.start(0)
	}
	enough()
	r.clear()
	r.audit()
	t.Logf("%d drains under load took %v p50, %v max; %d requests reached a server that took no more and were repeated",
		rounds, round(took.at(50)), round(took.at(100)), r.stress.unanswered.Load())
	if n := r.stress.remembered.Load(); n > 0 {
		t.Errorf("%d requests took effect and were left without their answer", n)
	}
	if slowest := took.at(100); slowest > 5*time.Second {
		t.Errorf("a drain took %v", slowest)
	}
	r.end()
}

// waits are requests that wait as long as the server lets them.
type waits struct {
	wg      sync.WaitGroup
	mu      sync.Mutex
	streams []ending
	polls   []ending
}

// ending is how a request that waited came back.
type ending struct {
	at     time.Time
	status int
	err    error // of reading what followed
}

// openWaits opens streams and long polls, and returns when the server has them.
func (r *rig) openWaits() *waits {
	w := &waits{}
	c := newClientAt(r.t, r.home, "waiter", newStress())
	c.http.Timeout = 0
	made := c.request("CreateExecution", "", "", `"graphId":"line"`)
	made.key += "-of-" + r.servers[0].url // a waiter comes for every server
	if err := c.do(r.t.Context(), made); err != nil {
		r.t.Fatal(err)
	}
	r.others = append(r.others, made)
	id := made.reply().ExecutionID
	var open sync.WaitGroup
	for range 4 {
		open.Add(1)
		w.wg.Go(func() { w.stream(c, id, open.Done) })
		w.wg.Go(func() { w.poll(c, r.servers[0].url) })
	}
	open.Wait()
	return w
}

func (w *waits) stream(c *client, id string, opened func()) {
	url, err := c.home.find(context.Background(), 0)
	if err != nil {
		opened()
		return
	}
	resp, err := c.http.Get(url + "/executions/" + id + "/stream")
	if err != nil {
		opened()
		w.note(&w.streams, ending{time.Now(), 0, err})
		return
	}
	defer resp.Body.Close()
	lines := bufio.NewScanner(resp.Body)
	for seen := false; lines.Scan(); {
		if !seen && strings.HasPrefix(lines.Text(), "id: ") {
			seen = true
			opened()
		}
	}
	w.note(&w.streams, ending{time.Now(), resp.StatusCode, lines.Err()})
}

func (w *waits) poll(c *client, key string) {
	got, err := c.call(context.Background(), http.MethodPost, "/tasks/claim", "poll-"+key+time.Now().String(), "",
		`{"workerId":"patient","queues":["nobody"],"waitSeconds":30}`)
	w.note(&w.polls, ending{time.Now(), got.status, err})
}

func (w *waits) note(where *[]ending, e ending) {
	w.mu.Lock()
	defer w.mu.Unlock()
	*where = append(*where, e)
}

// check expects that all have come back, in order, soon after the server was asked to end.
func (w *waits) check(t *testing.T, stalls *stalltest.Watch, asked time.Time) {
	t.Helper()
	w.wg.Wait()
	for _, e := range w.streams {
		if e.status != http.StatusOK || e.err != nil {
			t.Errorf("a stream ended with %d, %v", e.status, e.err)
		}
	}
	for _, e := range w.polls {
		ok := e.status == http.StatusOK || e.status == http.StatusServiceUnavailable
		if !ok && !errors.Is(e.err, errUnanswered) {
			t.Errorf("a long poll ended with %d, %v", e.status, e.err)
		}
	}
	for _, e := range append(w.streams, w.polls...) {
		if late := stalls.Between(asked, e.at); late > 2*time.Second {
			t.Errorf("a stream or long poll ended %v after the server was asked to end", late)
		}
	}
}
