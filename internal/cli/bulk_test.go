package cli

import (
	"context"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
)

const oneTask = `nodes: [{nodeId: start, type: Start}, {nodeId: a, type: Task}, {nodeId: done, type: Success}]
edges: [{from: start, to: a}, {from: a, to: done}]
`

// orders registers a graph and creates n executions of it.
func (r *rig) orders(n int) []string {
	r.t.Helper()
	r.t.Setenv("RENGA_SERVER", r.url)
	r.must(oneTask, "graph", "apply", "-", "--id", "order")
	var ids []string
	for range n {
		ids = append(ids, strings.TrimSpace(r.must("", "execution", "create", "order", "--start", "-q")))
	}
	return ids
}

// must runs a command that succeeds and gives what it printed.
func (r *rig) must(in string, args ...string) string {
	r.t.Helper()
	out, errs, code := r.runWith(Program{}, in, args...)
	if code != 0 {
		r.t.Fatalf("renga %s: exit code %d: %s", strings.Join(args, " "), code, errs)
	}
	return out
}

func TestABulkAsksBeforeItCancels(t *testing.T) {
	r := newRig(t, options{})
	ids := r.orders(12)
	for _, c := range []struct {
		answer, status string
	}{{"\n", "ACTIVE"}, {"", "ACTIVE"}, {"no\n", "ACTIVE"}, {"yes!\n", "ACTIVE"}, {" Y \n", "CANCELED"}} {
		out, errs, code := r.runWith(Program{asks: true}, c.answer, "bulk", "cancel", "--graph", "order")
		if code != 0 || !strings.Contains(errs, "Cancel 12 executions? [y/N]") ||
			!strings.Contains(errs, "and 2 more: renga bulk items") {
			t.Fatalf("answered %q: exit code %d: %s%s", c.answer, code, out, errs)
		}
		if shown := r.must("", "execution", "show", ids[0]); !strings.Contains(shown, c.status) {
			t.Errorf("answered %q: the execution is not %s:\n%s", c.answer, c.status, shown)
		}
	}
}

func TestABulkThatRunsCanBeStopped(t *testing.T) {
	r := newRig(t, options{idle: true})
	r.orders(2)
	id := strings.TrimSpace(r.must("", "bulk", "cancel", "--graph", "order", "-q"))
	if out := r.must("", "bulk", "start", id, "--no-wait"); out != "Started bulk "+id+
		". See how far it is: renga bulk show "+id+"\n" {
		t.Errorf("started: %s", out)
	}
	if out := r.must("", "bulk", "show", id); !strings.Contains(out, "RUNNING") {
		t.Errorf("running: %s", out)
	}
	if out := r.must("", "bulk", "stop", id); !strings.Contains(out, "status      STOPPED\n") ||
		!strings.Contains(out, "2: 2 pending") {
		t.Errorf("stopped: %s", out)
	}
	if out := r.must("", "bulk", "stop", id, "-o", "json"); !strings.Contains(out, `"status": "STOPPED"`) {
		t.Errorf("stopped: %s", out)
	}
	if out := r.must("", "bulk", "start", id, "--no-wait", "-o", "json"); !strings.Contains(out,
		`"status": "RUNNING"`) {
		t.Errorf("started: %s", out)
	}
}

// TestAWaitForABulkCanBeInterrupted is Ctrl-C: the server goes on, and the exit code says so.
func TestAWaitForABulkCanBeInterrupted(t *testing.T) {
	r := newRig(t, options{idle: true})
	r.orders(1)
	ctx, interrupt := context.WithCancel(t.Context())
	var errs syncBuffer
	errs.wrote = make(chan struct{}, 1)
	root := &root{}
	server, err := url.Parse(r.url)
	if err != nil {
		t.Fatal(err)
	}
	var started atomic.Bool
	proxy := httputil.NewSingleHostReverseProxy(server)
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		proxy.ServeHTTP(w, req)
		if started.Load() {
			interrupt() // it knows how far the server is
		}
		started.CompareAndSwap(false, strings.HasSuffix(req.URL.Path, "/start"))
	}))
	t.Cleanup(front.Close)
	t.Setenv("RENGA_SERVER", front.URL)
	code := Run(ctx, Program{Root: root, Flags: &root.Flags, In: strings.NewReader(""), Out: &errs, Err: &errs},
		[]string{"bulk", "cancel", "--all", "--yes"})
	if code != exitInterrupted || !strings.Contains(errs.String(), "the server goes on") {
		t.Errorf("exit code %d: %s", code, errs.String())
	}
	if out := r.must("", "bulk", "list"); !strings.Contains(out, "RUNNING") {
		t.Errorf("it does not run: %s", out)
	}
}
