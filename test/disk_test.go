package test

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"renga.dev/renga/test/stalltest"
	"renga.dev/renga/test/tier"
)

// fileLimit names the largest size of a file, in bytes, for a child that has no
// small disk to fill.
const fileLimit = "RENGA_TEST_FILE_LIMIT"

// limitFiles bounds the files that this process writes. Writing beyond that fails,
// as on a full disk, and is no reason to be killed. SIGUSR1 lifts the bound.
func limitFiles(bytes string) error {
	if bytes == "" {
		return nil
	}
	n, err := strconv.ParseUint(bytes, 10, 64)
	if err != nil {
		return err
	}
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &limit); err != nil {
		return err
	}
	signal.Ignore(syscall.SIGXFSZ)
	lift := make(chan os.Signal, 1)
	signal.Notify(lift, syscall.SIGUSR1)
	go func() {
		<-lift
		if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &limit); err != nil {
			panic(err)
		}
	}()
	bound := limit
	bound.Cur = n
	return syscall.Setrlimit(syscall.RLIMIT_FSIZE, &bound)
}

// disk is a place that can be full, and have room again.
type disk struct {
	site
	full     string // code of the errors
	makeRoom func(*child)
}

// smallDisk is a file system of 96 MiB with 24 MiB left, where mounting is allowed;
// else a folder and a bound on the files that the server writes there.
func smallDisk(t *testing.T) *disk {
	t.Helper()
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=96m"); err != nil {
		t.Logf("FALLBACK: no small disk can be mounted (%v): the server's files are bounded instead", err)
		return &disk{
			site{dir: filepath.Join(dir, "data"), env: []string{fileLimit + "=12000000"}},
			"STORAGE_ERROR",
			func(c *child) { c.signal(syscall.SIGUSR1) },
		}
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, 0); err != nil {
			t.Error(err)
		}
	})
	ballast := filepath.Join(dir, "ballast")
	if err := os.WriteFile(ballast, make([]byte, 72<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	return &disk{site{dir: filepath.Join(dir, "data")}, "STORAGE_FULL", func(*child) {
		if err := os.Remove(ballast); err != nil {
			t.Error(err)
		}
	}}
}

const writers = 4

// TestAFullDiskAnswers503AndGoesOn fills the disk under a server. What cannot be
// stored is refused and can be repeated; what is stored can be read; and when there
// is room again the same process goes on.
func TestAFullDiskAnswers503AndGoesOn(t *testing.T) {
	tier.System(t)
	onSQLite(t)
	d := smallDisk(t)
	r := newRig(t, writers, d.site)
	f := &filling{rig: r, disk: d, pending: make([][]*request, writers)}
	f.begin()
	f.eachHand(f.fill)
	if t.Failed() {
		t.Fatalf("the log of the server:\n%s", r.servers[0].log)
	}
	f.refused()
	readyWhen(t, r.servers[0], http.StatusServiceUnavailable)
	f.readable()
	d.makeRoom(r.servers[0])
	readyWhen(t, r.servers[0], http.StatusOK)
	f.eachHand(func(i int, h *hand) {
		for _, q := range f.pending[i] {
			if err := h.do(t.Context(), q); err != nil || q.status != http.StatusAccepted {
				t.Errorf("with room again, %s: %d %s %v", q.path(), q.status, q.answer, err)
			}
		}
	})
	enough := r.work()
	r.answers(500)
	enough()
	select {
	case <-r.servers[0].ended:
		t.Fatalf("the server ended:\n%s", r.servers[0].log)
	default:
	}
	f.expired()
	r.clear()
	r.audit()
	t.Logf("%d answers before the disk was full; %d requests were answered 503 and repeated", f.acks,
		r.stress.unanswered.Load())
	r.end()
}

// verdictWithin is how soon a server must say that nothing can be written.
const verdictWithin = 10 * time.Second

// readyWhen waits until a server gives an answer to whether it is ready, and fails when that
// takes longer than it may, the time apart in which the machine stood still.
func readyWhen(t testing.TB, c *child, want int) {
	t.Helper()
	stalls, began := stalltest.New(t), time.Now()
	for late := began.Add(maxWait); ; pause(50 * time.Millisecond) {
		status, body := ready(t, c)
		took := time.Since(began)
		switch {
		case status == want && took-stalls.Since(began) > verdictWithin:
			t.Errorf("readyz answers %d after %v, want it within %v", status, took, verdictWithin)
			return
		case status == want:
			t.Logf("readyz answers %d after %v: %s", status, round(took), body)
			return
		case time.Now().After(late):
			t.Fatalf("readyz answers %d %s after %v, want %d:\n%s", status, body, took, want, c.log)
		}
	}
}

// filling is one run of the test.
type filling struct {
	*rig
	disk    *disk
	acks    int64
	timed   []string     // executions with a node whose time runs out, some while the disk is full
	pending [][]*request // of each hand: answered 503, so not done
}

func (f *filling) eachHand(do func(i int, h *hand)) {
	var wg sync.WaitGroup
	for i, h := range f.hands {
		wg.Go(func() { do(i, h) })
	}
	wg.Wait()
}

// begin gives every hand an execution to write to, and starts a clock.
func (f *filling) begin() {
	ctx, h := f.t.Context(), f.hands[0]
	for _, h := range f.hands {
		if err := h.write(ctx); err != nil {
			f.t.Fatal(err)
		}
	}
	for _, after := range []string{"2s", "6s", "18s", "54s"} { // filling takes as long as it takes
		graph := "ends-after-" + after
		h.put(graph, strings.Replace(graphs["diary"], `"queue":"mine"`, `"queue":"mine","timeout":"`+after+`"`, 1))
		made, err := h.post(ctx, "CreateExecution", "", "", `"graphId":%q`, graph)
		if err != nil {
			f.t.Fatal(err)
		}
		id := made.reply().ExecutionID
		if err := h.batch(ctx, h.request("StartExecution", id, "", ""), h.request("StartNode", id, "a",
			`"attempt":1`)); err != nil {
			f.t.Fatal(err)
		}
		f.timed = append(f.timed, id)
	}
}

// fill writes large pieces until there is no room, then small ones until there is
// none for these either: a log that was cut back leaves some.
func (f *filling) fill(i int, h *hand) {
	text := strings.Repeat("x", 64<<10)
	for try, refused := 0, 0; refused < 10; try++ {
		if try == 2000 || f.t.Failed() {
			f.t.Errorf("too weak: the disk is not full after %d requests", try)
			return
		}
		q := h.request("ReportNodeProgress", h.diary, "a", `"metrics":{"text":"`+text+`"}`)
		got, err := h.try(f.t.Context(), q)
		switch {
		case err != nil:
			f.t.Error(err)
			return
		case got.status == http.StatusAccepted:
			refused = 0
			continue
		}
		f.checkRefusal(q.path(), got)
		f.pending[i] = append(f.pending[i], q)
		refused++
		text = "y"
	}
}

// checkRefusal checks how something is refused for lack of room.
func (f *filling) checkRefusal(what string, got answer) {
	if !got.later() {
		f.t.Errorf("%s on a full disk: %d %s, Retry-After %q", what, got.status, got.body,
			got.header.Get("Retry-After"))
	}
}

// expired waits until the first deadline, which came long ago, is noted. The others
// are left to be worked.
func (f *filling) expired() {
	late := time.After(maxWait)
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for v := (view{}); !v.ended() || v.Status == ""; v, _ = f.hands[0].view(f.timed[0]) {
		select {
		case <-tick.C:
		case <-late:
			f.t.Fatalf("with room again, a deadline that came meanwhile is not noted:\n%s", f.servers[0].log)
		}
	}
	for _, id := range f.timed[1:] {
		f.hands[0].held = append(f.hands[0].held, task{id, "a", 1})
	}
}

// refused checks that every kind of write is refused, a cancel too, and that
// nothing of it happened.
func (f *filling) refused() {
	f.acks = f.stress.answered.Load()
	h := f.hands[0]
	writes := []*request{
		h.request("CreateExecution", "", "", `"graphId":"line"`),
		h.request("CancelExecution", h.diary, "", ""),
		h.request("PutNodeWaiting", h.diary, "a", ""),
		h.request("SucceedNode", h.diary, "a", ""),
	}
	for _, q := range writes {
		got, err := h.try(f.t.Context(), q)
		if err != nil {
			f.t.Fatal(err)
		}
		f.checkRefusal(q.path(), got)
	}
	ctx := f.t.Context()
	// A graph needs fewer pages than a command, so some may still find room.
	got, err := answer{status: http.StatusCreated}, error(nil)
	for try := 0; got.status < http.StatusMultipleChoices && try < 100; try++ { // made, or a further version of it
		graph := strings.Replace(graphs["line"], `"work"`, fmt.Sprintf(`"new%d"`, try), 1)
		if got, err = h.call(ctx, http.MethodPut, "/graphs/new", "", "", graph); err != nil {
			f.t.Fatal(err)
		}
	}
	f.checkRefusal("PUT /graphs/new", got)
	if !strings.Contains(got.body, f.disk.full) {
		f.t.Errorf("the error does not say %s: %s", f.disk.full, got.body)
	}
	f.pending[0] = append(f.pending[0], writes[0]) // the others would end the execution that the rest writes to
	parts := writes[0].inBatch() + "," + writes[1].inBatch()
	got, err = h.call(ctx, http.MethodPost, "/commands", "", "", `{"commands":[`+parts+`]}`)
	if err != nil || got.status != http.StatusOK {
		f.t.Fatalf("POST /commands on a full disk: %d %s %v", got.status, got.body, err)
	}
	for _, r := range resultsOf(got.body) {
		if r.status != http.StatusServiceUnavailable {
			f.t.Errorf("a command of POST /commands on a full disk: %d %s", r.status, r.body)
		}
	}
}

// readable checks that all that was acknowledged can be read on a full disk, and
// waits until a deadline has come that cannot be noted.
func (f *filling) readable() {
	for _, h := range f.hands {
		got := 0
		for _, ev := range h.events(h.diary) {
			if ev.Type == "NODE_PROGRESS_REPORTED" {
				got++
			}
		}
		want := len(slices.DeleteFunc(slices.Clone(h.ledger), func(q *request) bool {
			return q.command != "ReportNodeProgress"
		}))
		if got != want {
			f.t.Errorf("execution %s has %d reports, %d were acknowledged", h.diary, got, want)
		}
		if v, ok := h.view(h.diary); !ok || v.ended() {
			f.t.Errorf("execution %s is %s", h.diary, v.Status)
		}
	}
	if n := len(f.hands[0].list("")); n != writers+len(f.timed) {
		f.t.Errorf("%d executions are listed, want %d", n, writers+len(f.timed))
	}
	for _, path := range []string{"/healthz", "/graphs", "/metrics"} {
		if status := f.hands[0].get(path, nil); status != http.StatusOK {
			f.t.Errorf("GET %s on a full disk: %d", path, status)
		}
	}
	ctx, cancel := context.WithTimeout(f.t.Context(), maxWait)
	defer cancel()
	if !f.servers[0].log.wait(ctx, "deadlines could not be handled") {
		f.t.Errorf("no deadline came while the disk was full:\n%s", f.servers[0].log)
	}
}
