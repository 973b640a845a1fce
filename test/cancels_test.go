package test

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"renga.dev/renga/internal/app"
	"renga.dev/renga/internal/platform/audit"
	"renga.dev/renga/internal/platform/bus/memory"
	"renga.dev/renga/internal/platform/canonical"
	"renga.dev/renga/internal/platform/sqldb"
	"renga.dev/renga/internal/workflow/engine"
	"renga.dev/renga/internal/workflow/flow"
)

// cancelRig is the program on a database, which nobody reaches over the network.
type cancelRig struct {
	testing.TB
	*app.App
}

func newCancelRig(t testing.TB, unnoted bool) cancelRig {
	t.Helper()
	at := newSite(t)
	a := startApp(
		t,
		app.Config{Place: at.place(), Silent: true, Shards: 1, Override: app.Override{Unaudited: unnoted}},
	)
	g, err := flow.ParseGraph(
		[]byte(
			`{"nodes":[{"nodeId":"start","type":"Start"},{"nodeId":"a","type":"Task","queue":"q"},
				{"nodeId":"end","type":"Success"}],
		"edges":[{"from":"start","to":"a"},{"from":"a","to":"end"}]}`,
		),
		false,
	)
	if err == nil {
		_, _, err = a.Engine.PutGraph(t.Context(), tenantOfCancels, "g", g)
	}
	if err != nil {
		t.Fatal(err)
	}
	return cancelRig{t, a}
}

const tenantOfCancels = "00000000-0000-0000-0000-000000000000"

// create makes executions and gives their ids.
func (r cancelRig) create(n int) (ids []flow.ID) {
	r.Helper()
	for len(ids) < n {
		reqs := make([]engine.Request, min(500, n-len(ids)))
		for i := range reqs {
			reqs[i] = engine.Request{
				Tenant: tenantOfCancels, GraphID: "g", Start: true, Command: flow.Create{},
				Actor: flow.Actor{Kind: flow.KindUser},
			}
		}
		for _, res := range r.Engine.Submit(r.Context(), reqs) {
			if res.Err != nil {
				r.Fatal(res.Err)
			}
			ids = append(ids, res.Answer.Execution)
		}
	}
	return ids
}

// cancelOf is a request to cancel an execution.
func cancelOf(id flow.ID, key string) engine.Request {
	req := engine.Request{
		Tenant: tenantOfCancels, Execution: id, Command: flow.Cancel{Reason: "wrong month"},
		Actor: flow.Actor{Kind: flow.KindUser, ID: "ann"}, CorrelationID: "call-" + key,
	}
	if key != "" {
		req.Idempotency = canonical.IdempotencyKey{Key: key, Endpoint: "POST /executions/" + id.String() + "/cancel"}
	}
	return req
}

// entries are those of the audit log, newest first.
func (r cancelRig) entries() []audit.Entry {
	r.Helper()
	all, _, err := audit.New(r.DB).List(r.Context(), audit.Query{Tenant: tenantOfCancels, Limit: 100})
	if err != nil {
		r.Fatal(err)
	}
	return all
}

func TestACancelIsInTheAuditLogOnce(t *testing.T) {
	r := newCancelRig(t, false)
	ids := r.create(3)
	first := r.Engine.Submit(t.Context(), []engine.Request{cancelOf(ids[0], "k")})[0]
	if first.Err != nil || !first.Answer.Changed {
		t.Fatalf("got %+v", first)
	}
	want := audit.Entry{
		Tenant: tenantOfCancels, Actor: "ann", Action: "execution.cancel", Subject: ids[0].String(),
		CorrelationID: "call-k",
		Outcome:       audit.Accepted, Reason: "wrong month", Detail: fmt.Appendf(nil, `{"cancelSeq":%d}`,
			first.Answer.CancelSeq),
	}
	if diff := cmp.Diff([]audit.Entry{want}, r.entries(), cmpopts.IgnoreFields(audit.Entry{}, "ID", "Num",
		"At")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for what, req := range map[string]engine.Request{
		"a repetition":                cancelOf(ids[0], "k"),
		"another of what is canceled": cancelOf(ids[0], "l"),
		"one without a key":           cancelOf(ids[0], ""),
		"one of what does not exist":  cancelOf(flow.ID{1}, "m"),
		"of a node, which is not audited": {Tenant: tenantOfCancels, Execution: ids[1], Command: flow.CancelNode{
			Node: "a",
		}, Actor: flow.Actor{Kind: flow.KindUser}},
	} {
		r.Engine.Submit(t.Context(), []engine.Request{req})
		if n := len(r.entries()); n != 1 {
			t.Errorf("%s: %d entries", what, n)
		}
	}
	if res := r.Engine.Submit(t.Context(), []engine.Request{cancelOf(ids[1], "n")})[0]; res.Answer.Refused == nil ||
		len(r.entries()) != 1 {
		t.Errorf("a refused cancel: %+v, %d entries", res, len(r.entries()))
	}
	r.Engine.Submit(t.Context(), []engine.Request{cancelOf(ids[2], "x"), cancelOf(ids[2], "y")})
	if n := len(r.entries()); n != 2 {
		t.Errorf("two at once: %d entries", n)
	}
}

// TestACancelWithoutItsEntryIsNone has the audit log refuse an entry: the execution is as
// it was, and so are those of other requests done.
func TestACancelWithoutItsEntryIsNone(t *testing.T) {
	r := newCancelRig(t, false)
	err := r.DB.Write(t.Context(), sqldb.Other, func(ctx context.Context, tx *sqldb.Tx) error {
		_, err := tx.Exec(ctx, "DROP TABLE audit_log")
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	id := r.create(1)[0]
	res := r.Engine.Submit(t.Context(), []engine.Request{cancelOf(id, "k")})[0]
	view, err := r.Engine.Execution(t.Context(), tenantOfCancels, id, 0)
	if err != nil || res.Err == nil || view.State.Status != flow.Active {
		t.Errorf("%+v: the execution is %v, %v", res, view.State.Status, err)
	}
	r.create(1)
}

// audited asks that each execution of the set has one entry in the audit log, with the
// place where cancel won.
func (b *bulkRun) audited(set []string) {
	b.t.Helper()
	found := map[string]uint64{}
	for page := 1; ; page++ {
		var got struct {
			Items []struct {
				Subject string `json:"subject"`
				Detail  struct {
					CancelSeq uint64 `json:"cancelSeq"`
				} `json:"detail"`
			} `json:"items"`
		}
		if code := b.c.get(fmt.Sprintf("/audit?action=execution.cancel&page_size=100&page=%d", page),
			&got); code != http.StatusOK {
			b.t.Fatalf("audit: %d", code)
		}
		for _, it := range got.Items {
			if found[it.Subject] != 0 {
				b.t.Errorf("execution %s is in the audit log twice", it.Subject)
			}
			found[it.Subject] = it.Detail.CancelSeq
		}
		if len(got.Items) == 0 {
			break
		}
	}
	for _, id := range set {
		if v, ok := b.c.view(id); ok && (v.Cancel == nil || v.Cancel.Seq != found[id]) {
			b.t.Errorf("execution %s: the audit log says %d, and its state %+v", id, found[id], v.Cancel)
		}
	}
	if len(found) != len(set) {
		b.t.Errorf("%d executions are canceled, and %d entries say so", len(set), len(found))
	}
}

// BenchmarkCancel cancels executions, one or a hundred at a time, with and without entries in
// the audit log, in turns, and gives the medians and the CPU time of this process for each
// cancel: RENGA_BENCH=1 go test -run - -bench Cancel ./test
func BenchmarkCancel(b *testing.B) {
	if os.Getenv("RENGA_BENCH") == "" {
		b.Skip("RENGA_BENCH is not set")
	}
	for _, n := range []int{1, 100} {
		b.Run(fmt.Sprint("at a time=", n), func(b *testing.B) {
			var took, cpu [2][]float64
			var rigs [2]cancelRig
			var ids [2][]flow.ID
			for i := range rigs {
				rigs[i] = newCancelRig(b, i == 0)
				ids[i] = rigs[i].create(b.N * n)
			}
			for turn := range b.N {
				for i, r := range rigs {
					reqs := make([]engine.Request, n)
					for j := range reqs {
						reqs[j] = cancelOf(ids[i][turn*n+j], "k")
					}
					began, burnt := time.Now(), cpuTime(b)
					for _, res := range r.Engine.Submit(b.Context(), reqs) {
						if res.Err != nil {
							b.Fatal(res.Err)
						}
					}
					took[i] = append(took[i], float64(time.Since(began).Microseconds())/float64(n))
					cpu[i] = append(cpu[i], float64((cpuTime(b)-burnt).Microseconds())/float64(n))
				}
			}
			for i, name := range []string{"without", "with"} {
				slices.Sort(took[i])
				slices.Sort(cpu[i])
				b.ReportMetric(took[i][len(took[i])/2], "µs-"+name)
				b.ReportMetric(cpu[i][len(cpu[i])/2], "cpu-µs-"+name)
			}
			b.ReportMetric(0, "ns/op")
		})
	}
}

// cpuTime is how long this process has used a CPU.
func cpuTime(t testing.TB) time.Duration {
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		t.Fatal(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

// startApp runs the program, with a carrier in memory, until the test ends.
func startApp(t testing.TB, cfg app.Config) *app.App {
	t.Helper()
	cfg.Override.Carrier = memory.New()
	a, err := app.New(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- a.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return a
}
