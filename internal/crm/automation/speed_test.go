package automation_test

import (
	"fmt"
	"os"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"renga.dev/renga/internal/crm/automation"
	"renga.dev/renga/internal/crm/records"
	"renga.dev/renga/internal/platform/events"
)

// TestAutomationKeepsUp updates 500 records a second, lets a rule act on every tenth update
// and measures how far automation is behind.
func TestAutomationKeepsUp(t *testing.T) {
	if os.Getenv("RENGA_LONG") == "" {
		t.Skip("SKIP: it takes a while; RENGA_LONG=1 runs it")
	}
	const each, seconds = 50, 20
	onEvery(t, func(t *testing.T, r *rig) {
		var worst atomic.Int64
		r.rule(
			100,
			"Tenth",
			"Account",
			`["update"]`,
			"record.Phone != old.Phone",
			`[{"key":"tell","type":"notify","message":"m"},{"key":"rate","type":"updateField","field":"Rating",
				"value":"Hot"}]`,
		)
		ops := make([]records.Op, each)
		for i := range ops {
			ops[i] = records.Op{Kind: records.Create, Fields: map[string]jsontext.Value{
				"Name": jsontext.Value(fmt.Sprintf(`"A%d"`, i)),
			}}
		}
		apply := func() {
			_, _, err := r.records.Apply(t.Context(), records.Caller{
				Tenant: tenant, Subject: ann,
				CorrelationID: "test",
			}, records.Batch{Object: "Account", Ops: ops, AllOrNone: true},
				func(results []records.Result) ([]byte, error) {
					for i := range results {
						ops[i].Kind, ops[i].ID = records.Update, results[i].ID
					}
					return []byte("{}"), nil
				})
			if err != nil {
				t.Fatal(err)
			}
		}
		r.clock.Store(time.Now().UnixMilli())
		apply()
		r.quiet()
		r.behind = func(e *events.Event) {
			if lag := time.Now().UnixMilli() - int64(e.OccurredAt); e.Type == "RecordUpdated" && lag > worst.Load() {
				worst.Store(lag)
			}
		}
		tick := time.NewTicker(time.Second * each / 500)
		defer tick.Stop()
		began := time.Now()
		for n := range 500 / each * seconds {
			for i := range ops {
				ops[i].Fields = map[string]jsontext.Value{"NumberOfEmployees": jsontext.Value(fmt.Sprint(n + 1))}
				if i%10 == 0 {
					ops[i].Fields["Phone"], ops[i].Fields["Rating"] = jsontext.Value(fmt.Sprintf(`"%d"`, n)),
						jsontext.Value("null")
				}
			}
			r.clock.Store(time.Now().UnixMilli())
			apply()
			<-tick.C
		}
		rate := float64(500*seconds) / time.Since(began).Seconds()
		r.quiet()
		runs, total, err := r.auto.Runs(t.Context(), tenant, automation.RunQuery{Limit: 1})
		if err != nil || len(runs) == 0 {
			t.Fatal(err)
		}
		t.Logf("%.0f updates a second, %d actions; at most %d ms behind", rate, total, worst.Load())
		r.sound()
	})
}
