package client_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"renga.dev/renga/client"
	"renga.dev/renga/test/stalltest"
)

// A request that is cut off in any way is repeated with its key and happens once.
func TestARequestThatIsCutOffIsRepeatedAndHappensOnce(t *testing.T) {
	t.Parallel()
	for _, harm := range []string{
		cutBefore, cutAfter, cutInside, "502 Retry-After ", "503 Retry-After ",
		"504 Retry-After ", "503 Retry-After 1", "429 Retry-After 1",
	} {
		t.Run(harm, func(t *testing.T) {
			t.Parallel()
			s := newServer(t)
			setup := dial(t, s.url)
			ctx := soon(t)
			must[client.GraphVersion](t)(setup.Graphs.Put(ctx, "g", line("default", "a")))
			var hits atomic.Int64
			p := newProxy(t, s, func(_ int, r seen) string {
				if r.path == "/executions" && hits.Add(1) < 3 {
					return harm
				}
				return ""
			})
			c := dial(t, p.url)
			began := time.Now()
			a := must[client.Answer](t)(c.Send(ctx, client.CreateExecution{GraphID: "g"}))
			requests := p.requests("/executions")
			for _, r := range requests {
				if r.key != a.Key || r.key == "" || r.body != requests[0].body {
					t.Errorf("a repetition has the key %q and the body %s, the answer has %q", r.key, r.body, a.Key)
				}
			}
			if len(requests) < 3 {
				t.Errorf("there were %d requests", len(requests))
			}
			if took := time.Since(began); harm[len(harm)-1] == '1' && took < 2*time.Second {
				t.Errorf("it took %v, though the server twice asked for a second", took)
			}
			if a.Replay != (harm == cutAfter || harm == cutInside) {
				t.Errorf("after %s replay is %t", harm, a.Replay)
			}
			page := must[*client.Page[client.ExecutionSummary]](t)(c.Executions.List(ctx, client.ExecutionFilter{},
				client.Paging{}))
			if page.Total != 1 {
				t.Errorf("there are %d executions", page.Total)
			}
		})
	}
}

func TestABatchThatIsCutOffIsRepeated(t *testing.T) {
	s := newServer(t)
	p := newProxy(t, s, func(n int, _ seen) string {
		if n == 2 {
			return cutAfter
		}
		return ""
	})
	c, ctx := dial(t, p.url), soon(t)
	must[client.GraphVersion](t)(c.Graphs.Put(ctx, "g", line("default", "a")))
	results := must[[]client.Result](t)(c.SendAll(ctx, []client.Command{
		client.CreateExecution{GraphID: "g"},
		client.CreateExecution{GraphID: "g"},
	}))
	requests := p.requests("/commands")
	if len(requests) != 2 || requests[0].body != requests[1].body {
		t.Errorf("the requests are %+v", requests)
	}
	for _, r := range results {
		if r.Err != nil || !r.Replay {
			t.Errorf("a result is %+v", r)
		}
	}
}

func TestWhatTheServerRefusesIsNotRepeated(t *testing.T) {
	s := newServer(t)
	p := newProxy(t, s, nil)
	c, ctx := dial(t, p.url), soon(t)
	if _, err := c.Send(ctx, client.CreateExecution{GraphID: "nowhere"}); !errors.Is(err, client.ErrNotFound) {
		t.Errorf("got %v", err)
	}
	if n := len(p.requests("/executions")); n != 1 {
		t.Errorf("it was sent %d times", n)
	}
}

func TestRepeatingEndsWithItsTimeAndWithTheContext(t *testing.T) {
	s := newServer(t)
	enough := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	var asked atomic.Int64
	p := newProxy(t, s, func(_ int, r seen) string {
		if r.path == "/executions/forever" && asked.Add(1) == 3 {
			cancel(enough)
		}
		return "503 Retry-After "
	})
	var log bytes.Buffer
	brief := client.New(client.Config{
		URL: strings.Replace(p.url, "://", "://ada:secret@", 1), RetryFor: time.Second,
		Log: slog.New(slog.NewTextHandler(&log, nil)),
	})
	t.Cleanup(brief.Close)
	stalls, began := stalltest.New(t), time.Now()
	_, err := brief.Executions.Get(soon(t), "x")
	if took := stalls.Since(began); !errors.Is(err, client.ErrUnavailable) || took > 3*time.Second {
		t.Errorf("got %v after %v", err, took)
	}
	if n := len(p.requests("/executions/x")); n < 2 {
		t.Errorf("it was sent %d times", n)
	}
	if said := log.String() + err.Error(); !strings.Contains(said, "request repeated") ||
		strings.Contains(said, "secret") {
		t.Errorf("it says %s", said)
	}
	forever := client.New(client.Config{URL: p.url, RetryFor: client.Forever})
	t.Cleanup(forever.Close)
	if _, err := forever.Executions.Get(ctx, "forever"); !errors.Is(err, enough) ||
		!errors.Is(err, client.ErrUnavailable) {
		t.Errorf("got %v", err)
	}
}

func TestAServerThatDoesNotAnswerIsLeftForTheNext(t *testing.T) {
	s := newServer(t)
	var asked atomic.Int64
	stuck := newProxy(t, s, func(int, seen) string {
		asked.Add(1)
		return cutBefore
	})
	c, ctx := dial(t, stuck.url+", http://127.0.0.1:1/ ,"+s.url), soon(t)
	began := time.Now()
	must[client.GraphVersion](t)(c.Graphs.Put(ctx, "g", line("default", "a")))
	for range 20 {
		must[client.Answer](t)(c.Send(ctx, client.CreateExecution{GraphID: "g"}))
	}
	if n := asked.Load(); n > 2 { // once, and once more by net/http itself
		t.Errorf("the server that does not answer was asked %d times", n)
	}
	if took := time.Since(began); took > patience {
		t.Errorf("it took %v", took)
	}
}

func TestATryThatHangsIsGivenUp(t *testing.T) {
	s := newServer(t)
	release := make(chan struct{})
	var first atomic.Bool
	p := newProxy(t, s, func(int, seen) string {
		if !first.Swap(true) {
			<-release
		}
		return ""
	})
	defer close(release)
	c := client.New(client.Config{URL: p.url, Timeout: 200 * time.Millisecond})
	t.Cleanup(c.Close)
	must[client.GraphVersion](t)(c.Graphs.Put(soon(t), "g", line("default", "a")))
}

// What no header can hold is said at once, instead of being repeated.
func TestAKeyThatCannotBeSentIsNotRepeated(t *testing.T) {
	t.Parallel()
	c := client.New(client.Config{URL: "http://127.0.0.1:1", RetryFor: client.Forever})
	t.Cleanup(c.Close)
	_, err := c.Send(soon(t), client.CancelExecution{Key: "bad\nkey", ExecutionID: "x"})
	if err == nil || errors.Is(err, client.ErrUnavailable) || !strings.Contains(err.Error(), "X-Idempotency-Key") {
		t.Errorf("got %v", err)
	}
}
