package httpapi_test

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"renga.dev/renga/internal/httpapi"
	"renga.dev/renga/internal/workflow/flow"
)

// EXE-7: the stream of an execution's log.

func TestAStreamCarriesTheWholeLogAndEndsWithTheExecution(t *testing.T) {
	e := newServer(t).started(linear("default", "a"))
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	frames := e.follow(ctx, 0)
	go func() {
		e.send("a/start", `{"attempt":1}`)
		e.send("a/progress", `{"progress":50,"metrics":{"spaced":  "out\nand broken"}}`)
		e.send("cancel", "")
	}()
	var got []event
	var last frame
	for f := range frames {
		if last = f; f.name != "end" {
			if f.id != fmt.Sprint(f.event.Seq) || f.name != f.event.Type {
				t.Errorf("the frame %s %s carries event %d %s", f.id, f.name, f.event.Seq, f.event.Type)
			}
			got = append(got, f.event)
		}
	}
	if last.name != "end" || last.data != `{"status":"CANCELED"}` {
		t.Errorf("the last frame is %+v", last)
	}
	if diff := cmp.Diff(e.events(), got); diff != "" {
		t.Errorf("log and stream differ (-log +stream):\n%s", diff)
	}
}

func TestAStreamResumesAfterTheLastEventThatWasSeen(t *testing.T) {
	e := newServer(t).started(linear("default", "a"))
	e.send("cancel", "").is(202)
	total := len(e.events())
	for after := range total {
		for _, how := range [][]string{
			{"/stream", "Last-Event-ID", fmt.Sprint(after)},
			{"/stream?lastEventId=" + fmt.Sprint(after)},
			{"/stream?lastEventId=0", "Last-Event-ID", fmt.Sprint(after)},
		} {
			next := after + 1
			for f := range e.stream(context.Background(), "/executions/"+e.id+how[0], how[1:]...) {
				if f.name == "end" {
					next++
					continue
				}
				if f.event.Seq != next {
					t.Fatalf("after %d came event %d, want %d", after, f.event.Seq, next)
				}
				next++
			}
			if next != total+2 {
				t.Errorf("after %d the stream ended before %d", after, next)
			}
		}
	}
	e.get("/executions/"+e.id+"/stream", "Last-Event-ID", fmt.Sprint(total)).is(204)
	e.get("/executions/" + e.id + "/stream?lastEventId=" + fmt.Sprint(total+5)).is(204)
}

func TestALastEventIDThatIsNoNumberIsRefused(t *testing.T) {
	e := newServer(t).started(linear("default", "a"))
	for _, id := range []string{"x", "-1", "1.5", "99999999999999999999"} {
		e.get("/executions/"+e.id+"/stream", "Last-Event-ID", id).invalid("Last-Event-ID")
		e.get("/executions/" + e.id + "/stream?lastEventId=" + id).invalid("lastEventId")
	}
	e.get("/executions/" + e.id + "/stream?at=1").invalid("at")
	e.get("/executions/"+e.id+"/stream", "Last-Event-ID", "1000").invalid("Last-Event-ID", "beyond the log")
}

func TestManyStreamsMissNothingWhileEventsAreAppended(t *testing.T) {
	e := newServer(t).started(linear("default", "a"))
	e.send("a/start", `{"attempt":1}`).is(202)
	ctx, cancel := context.WithTimeout(context.Background(), 3*patience)
	defer cancel()
	counts := make(chan int, 8)
	for range cap(counts) {
		frames := e.follow(ctx, 0)
		go func() {
			next := 1
			for f := range frames {
				if f.name != "end" && f.event.Seq == next {
					next++
				}
			}
			counts <- next - 1
		}()
	}
	for i := range 150 {
		e.send("a/progress", fmt.Sprintf(`{"progress":%d}`, i%100)).is(202)
	}
	e.send("a/success", "").is(202)
	want := len(e.events())
	for range cap(counts) {
		if got := <-counts; got != want {
			t.Errorf("a stream carried %d of %d events in order", got, want)
		}
	}
}

func TestASilentStreamHasAHeartbeat(t *testing.T) {
	s := newServerWith(t, options{heartbeat: 10 * time.Millisecond})
	e := s.started(linear("default", "a"))
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	resp, err := s.client.Do(s.request(ctx, "GET", "/executions/"+e.id+"/stream", ""))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	beats := 0
	for lines := bufio.NewScanner(resp.Body); beats < 3 && lines.Scan(); {
		if lines.Text() == ": still here" {
			beats++
		}
	}
	if beats < 3 {
		t.Errorf("saw %d heartbeats", beats)
	}
}

func TestAStreamEndsWhenTheServerDrains(t *testing.T) {
	s := newServer(t)
	e := s.started(linear("default", "a"))
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	seen := 0
	for f := range e.follow(ctx, 0) {
		if seen++; f.event.Type == "NODE_READY" {
			s.gate.Drain()
		}
		if f.name == "end" {
			t.Error("the stream says that the execution has ended")
		}
	}
	if ctx.Err() != nil {
		t.Error("the stream did not end")
	}
	if total := len(e.events()); seen != total {
		t.Errorf("saw %d of %d events", seen, total)
	}
	s.get("/readyz").is(503).has("status", "not ready")
}

func TestAStreamSaysThatItMustNotBeStored(t *testing.T) {
	e := newServer(t).started(linear("default", "a"))
	e.send("cancel", "").is(202)
	r := e.get("/executions/" + e.id + "/stream").is(http.StatusOK)
	if got := r.header.Get("Content-Type"); got != "text/event-stream" {
		t.Errorf("the content type is %q", got)
	}
	if got := r.header.Get("Cache-Control"); !strings.Contains(got, "no-store") {
		t.Errorf("Cache-Control is %q", got)
	}
}

// slowReads are reads of events that take a second and a half while they are slow.
type slowReads struct {
	httpapi.Reads
	slow *atomic.Bool
}

func (r slowReads) Events(ctx context.Context, tenant string, id flow.ID, from uint64, limit int) (
	[]flow.Event, uint64, error,
) {
	if r.slow.Load() {
		timer := time.NewTimer(1500 * time.Millisecond)
		defer timer.Stop()
		<-timer.C
	}
	return r.Reads.Events(ctx, tenant, id, from, limit)
}

func TestAFrameThatIsHeldUpIsCounted(t *testing.T) {
	var slow atomic.Bool
	var stalled atomic.Int64
	s := newServerWith(t, options{
		reads:   func(r httpapi.Reads) httpapi.Reads { return slowReads{r, &slow} },
		stalled: func() { stalled.Add(1) },
	})
	e := s.started(linear("default", "a"))
	e.send("a/start", `{"attempt":1}`)
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	first := true
	for range e.follow(ctx, 0) {
		if !first {
			continue
		}
		first = false
		slow.Store(true)
		go func() { // what comes while the stream still catches up is history, so more than one event may be needed
			for try := 0; try < 10 && stalled.Load() == 0; try++ {
				e.send("a/progress", fmt.Sprintf(`{"progress":%d}`, try))
				timer := time.NewTimer(2 * time.Second)
				<-timer.C
			}
			slow.Store(false)
			e.send("cancel", "")
		}()
	}
	if stalled.Load() == 0 {
		t.Error("a read of a second and a half is not counted")
	}
}
