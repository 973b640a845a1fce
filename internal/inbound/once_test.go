package inbound

import (
	"context"
	"fmt"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"renga.dev/renga/internal/platform/audit"
	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/platform/sqldb"
	"renga.dev/renga/internal/platform/sqldb/pgtest"
	"renga.dev/renga/test/tier"
)

// rounds is how often the races are run: so often, or with RENGA_LONG=1 so much more.
func rounds(short, long int) int {
	if os.Getenv("RENGA_LONG") != "" {
		return long
	}
	return short
}

// TestOfDeliveriesThatComeAtOnceOneStartsARun sends the same key many times at once,
// through one process or two.
func TestOfDeliveriesThatComeAtOnceOneStartsARun(t *testing.T) {
	tier.System(t)
	onEvery(t, func(t *testing.T, r *rig) { r.race([]process{r.process}, rounds(10, 100)) })
	t.Run("two processes", func(t *testing.T) {
		r := newRig(t, sqldb.Config{URL: pgtest.New(t)})
		r.race([]process{r.process, r.open(Config{})}, rounds(10, 200))
	})
}

// insist delivers until the database is there for it, as callers do.
func insist(ctx context.Context, p process, c Caller, d Delivery) (out Outcome, err error) {
	for began := time.Now(); ; {
		out, err = p.Deliver(ctx, c, d)
		if fault.KindOf(err) != fault.Unavailable || time.Since(began) > time.Minute {
			return out, err
		}
	}
}

func (r *rig) race(all []process, rounds int) {
	const each = 24
	r.template("close", closing)
	for round := range rounds {
		body := fmt.Sprintf(`{"idempotency_key":"k-%d","year":%d}`, round, 2000+round)
		outs := make([]Outcome, each)
		errs := make([]error, each)
		var wg sync.WaitGroup
		for i := range each {
			wg.Go(func() {
				d, err := ParseDelivery([]byte(body), "")
				if err == nil {
					outs[i], err = insist(r.Context(), all[i%len(all)], caller, d)
				}
				errs[i] = err
			})
		}
		wg.Wait()
		started := 0
		for i, out := range outs {
			if errs[i] != nil || out.RunID == "" || out.RunID != outs[0].RunID {
				r.Fatalf("round %d: got %+v %v and %+v", round, out, errs[i], outs[0])
			}
			if !out.Duplicate {
				started++
			}
		}
		if started != 1 {
			r.Fatalf("round %d: %d say that they started a run", round, started)
		}
	}
	if n := r.runs(); n != rounds {
		r.Errorf("%d runs, want %d", n, rounds)
	}
	want := map[string]int{"accepted": rounds, "skipped": rounds * (each - 1)}
	for outcome, n := range want {
		if got := r.count("SELECT count(*) FROM audit_log WHERE outcome = $1", outcome); got != n {
			r.Errorf("%d entries are %s, want %d", got, outcome, n)
		}
	}
	if n := r.count("SELECT count(DISTINCT subject) FROM audit_log"); n != rounds {
		r.Errorf("the log names %d runs, want %d", n, rounds)
	}
	r.recount()
}

// TestOfDeliveriesForOneMonthOneStartsARun sends different keys at once. Those that do
// not start a run are refused, and may be sent again.
func TestOfDeliveriesForOneMonthOneStartsARun(t *testing.T) {
	tier.System(t)
	t.Run("two processes", func(t *testing.T) {
		r := newRig(t, sqldb.Config{URL: pgtest.New(t)})
		all := []process{r.process, r.open(Config{})}
		r.template("close", closing)
		for round := range rounds(5, 50) {
			const each = 12
			errs := make([]error, each)
			outs := make([]Outcome, each)
			var wg sync.WaitGroup
			for i := range each {
				wg.Go(func() {
					d := Delivery{Key: fmt.Sprintf("k-%d-%d", round, i), Year: numbered(int64(2000 + round))}
					outs[i], errs[i] = insist(t.Context(), all[i%2], caller, d)
				})
			}
			wg.Wait()
			started := 0
			for i, err := range errs {
				if err == nil && !outs[i].Duplicate {
					started++
				} else if failure, _ := fault.As(err); failure == nil || failure.Reason != fault.RunActive {
					t.Fatalf("got %+v %v", outs[i], err)
				}
			}
			if started != 1 {
				t.Fatalf("round %d: %d runs", round, started)
			}
		}
		r.recount()
	})
}

// TestTenantsDoNotHoldEachOtherUp delivers for many tenants at once, in two processes
// that meet them in any order.
func TestTenantsDoNotHoldEachOtherUp(t *testing.T) {
	r := newRig(t, sqldb.Config{URL: pgtest.New(t)})
	all := []process{r.process, r.open(Config{})}
	const tenants, each = 12, 6
	var wg sync.WaitGroup
	for n := range tenants {
		tenant := fmt.Sprintf("00000000-0000-0000-0000-0000000001%02d", n)
		r.templateOf(tenant, "close", closing)
		for i := range each {
			wg.Go(func() {
				d := Delivery{Key: fmt.Sprintf("k-%d", i), Month: numbered(int64(1 + i))}
				for _, p := range all {
					if out, err := insist(t.Context(), p, Caller{Tenant: tenant}, d); err != nil || out.RunID == "" {
						t.Errorf("got %+v %v", out, err)
					}
				}
			})
		}
	}
	wg.Wait()
	if n := r.count("SELECT count(*) FROM trigger_receipt"); n != tenants*each {
		t.Errorf("%d receipts, want %d", n, tenants*each)
	}
	if n := r.count("SELECT count(*) FROM engine_execution"); n != tenants*each {
		t.Errorf("%d runs, want %d", n, tenants*each)
	}
}

// recount holds the tally of every month against the entries of the audit log.
func (r *rig) recount() {
	r.Helper()
	got, want := map[string]int64{}, map[string]int64{}
	err := r.db.Read(r.Context(), func(ctx context.Context, tx *sqldb.Tx) error {
		for row, err := range tx.Query(ctx, "SELECT tenant_id, month, status, reason_class, reason_code, "+
			"retry_advice, duplicate, n FROM trigger_tally") {
			var tenant, month, status, class, code, advice, duplicate string
			var n int64
			if err == nil {
				err = row.Scan(&tenant, &month, &status, &class, &code, &advice, &duplicate, &n)
			}
			if err != nil {
				return err
			}
			got[fmt.Sprint(tenant, month, status, class, code, advice, duplicate)] += n
		}
		for row, err := range tx.Query(ctx,
			"SELECT tenant_id, at, outcome, reason_class, reason_code, retry_advice, detail FROM audit_log "+
				"WHERE action = 'workflow_event'") {
			var e audit.Entry
			var text string
			var d detail
			if err == nil {
				err = row.Scan(&e.Tenant, &e.At, &e.Outcome, &e.ReasonClass, &e.ReasonCode, &e.RetryAdvice, &text)
			}
			if err == nil {
				err = json.Unmarshal([]byte(text), &d)
			}
			if err != nil {
				return err
			}
			status := map[audit.Outcome]string{
				"accepted": "success", "skipped": "skipped", "refused": "rejected",
				"failed": "failed",
			}[e.Outcome]
			want[fmt.Sprint(e.Tenant, e.At.String()[:7], status, e.ReasonClass, e.ReasonCode, e.RetryAdvice,
				*d.Duplicate)]++
		}
		return nil
	})
	if err != nil {
		r.Fatal(err)
	}
	if fmt.Sprint(got) != fmt.Sprint(want) || len(want) == 0 {
		r.Errorf("the tally says\n%v\nthe log\n%v", got, want)
	}
}
