package inbound

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"renga.dev/renga/internal/platform/audit"
	"renga.dev/renga/internal/platform/canonical"
	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/platform/sqldb"
	"renga.dev/renga/internal/platform/sqldb/pgtest"
	"renga.dev/renga/test/tier"
)

// summary is a month as a caller gets it.
func (r *rig) summary(month string, recent int) Summary {
	r.Helper()
	s, err := r.Summary(r.Context(), tenantA, SummaryQuery{month, recent})
	if err != nil {
		r.Fatal(err)
	}
	return s
}

func TestASummaryIsAsTheDocumentHasIt(t *testing.T) {
	onEvery(t, func(t *testing.T, r *rig) {
		r.template("close", closing)
		run := r.starts(`{"template_id":"close","event_name":"month_close","source":"bank","event_id":"k-1"}`).RunID
		r.clock.forward(time.Second)
		r.repeats(`{"event_id":"k-1","source":"form"}`, run)
		r.clock.forward(time.Second)
		r.refused(`{"template_id":"none","event_name":"x"}`, fault.NotFound, msgNoTemplate, fault.NoTemplate)
		r.clock.forward(time.Second)
		r.refused(`{"month":2.5}`, fault.Invalid, msgYearMonth, fault.RefusedYearMonth)
		r.clock.forward(time.Second)
		r.refused(`{"notes":5}`, fault.Invalid, "notes must be a string", fault.RefusedField)
		got, err := json.Marshal(r.summary("2026-02", 0))
		if err != nil {
			t.Fatal(err)
		}
		want := `{"status":"ok","ym":"2026-02","event_type":"workflow_event","total":5,` +
			`"by_status":{"success":1,"skipped":1,"rejected":3,"failed":0,"unknown":0},` +
			`"by_reason_class":{"validation":2,"template_conflict":1},` +
			`"by_reason_code":{"duplicate_idempotency_key":1,"http_400":1,"http_404":1,"invalid_year_month":1},` +
			`"by_retry_advice":{"retry_after_fix":3,"do_not_retry":1},` +
			`"duplicate":{"true":1,"false":4,"unknown":0},"recent":[` +
			`{"at":"2026-02-20T12:00:04.000Z","status":"rejected","action":null,"run_id":null,"template_id":null,` +
			`"template_name":null,` +
			`"event_name":null,"source":null,"idempotency_key":null,"reason":"notes must be a string",` +
			`"reason_class":"validation",` +
			`"reason_code":"http_400","retry_advice":"retry_after_fix","duplicate":false},` +
			`{"at":"2026-02-20T12:00:03.000Z","status":"rejected","action":"month_close","run_id":null,` +
			`"template_id":"close","template_name":"月次締め",` +
			`"event_name":null,"source":null,"idempotency_key":null,` +
			`"reason":"Workflow event requires valid year/month.","reason_class":"validation",` +
			`"reason_code":"invalid_year_month","retry_advice":"retry_after_fix","duplicate":false},` +
			`{"at":"2026-02-20T12:00:02.000Z","status":"rejected","action":null,"run_id":null,` +
			`"template_id":"none","template_name":null,` +
			`"event_name":"x","source":null,"idempotency_key":null,"reason":"Workflow template not found.",` +
			`"reason_class":"template_conflict",` +
			`"reason_code":"http_404","retry_advice":"retry_after_fix","duplicate":false},` +
			`{"at":"2026-02-20T12:00:01.000Z","status":"skipped","action":"month_close","run_id":"` + run +
			`","template_id":"close","template_name":"月次締め",` +
			`"event_name":null,"source":"form","idempotency_key":"k-1",` +
			`"reason":"The idempotency key has started a run before.","reason_class":null,` +
			`"reason_code":"duplicate_idempotency_key","retry_advice":"do_not_retry","duplicate":true},` +
			`{"at":"2026-02-20T12:00:00.000Z","status":"success","action":"month_close","run_id":"` + run +
			`","template_id":"close","template_name":"月次締め",` +
			`"event_name":"month_close","source":"bank","idempotency_key":"k-1","reason":null,"reason_class":null,` +
			`"reason_code":null,"retry_advice":null,"duplicate":false}],` +
			`"receipt_retention":{"ttl_days":90,"max_receipts":1000}}`
		if string(got) != want {
			t.Errorf("got\n%s\nwant\n%s", got, want)
		}
		e := r.entries(1)[0]
		if e.Action != "workflow_event" || e.CorrelationID != "call-1" || e.Tenant != tenantA {
			t.Errorf("got %+v", e)
		}
		if e = r.entries(5)[4]; e.Actor != "bank" || e.Subject != run ||
			string(e.Detail) != `{"template_id":"close","template_name":"月次締め","event_name":"month_close",`+
				`"source":"bank","idempotency_key":"k-1","action":"month_close","year":2026,"month":1,`+
				`"duplicate":false}` {
			t.Errorf("got %+v %s", e, e.Detail)
		}
	})
}

func TestAnEmptyMonthHasASummary(t *testing.T) {
	onEvery(t, func(t *testing.T, r *rig) {
		r.template("close", closing)
		r.starts(`{}`)
		for _, month := range []string{"2026-01", "2026-03", "1970-01", "1969-12", "0001-01", "9999-12"} {
			got, err := json.Marshal(r.summary(month, 200))
			if err != nil || !strings.Contains(string(got),
				`"total":0,"by_status":{"success":0,"skipped":0,"rejected":0,"failed":0,"unknown":0},`+
					`"by_reason_class":{},"by_reason_code":{},"by_retry_advice":{},"duplicate":{"true":0,`+
					`"false":0,"unknown":0},"recent":[],`) {
				t.Errorf("%s: got %s %v", month, got, err)
			}
		}
		other, err := r.Summary(t.Context(), tenantB, SummaryQuery{Month: "2026-02"})
		if err != nil || other.Total != 0 || len(other.Recent) != 0 {
			t.Errorf("of another tenant: got %+v %v", other, err)
		}
	})
}

func TestASummaryIsOfAMonthInUTC(t *testing.T) {
	onEvery(t, func(t *testing.T, r *rig) {
		for _, instant := range []string{
			"2026-01-31T23:59:59.999Z", "2026-02-01T00:00:00Z", "2026-02-01T08:59:59+09:00", "2026-02-28T23:59:59.999Z",
			"2026-03-01T00:00:00Z", "2026-03-01T08:00:00+09:00",
		} {
			now, err := time.Parse(time.RFC3339, instant)
			if err != nil {
				t.Fatal(err)
			}
			r.with(func(c *Config) { c.Now = func() time.Time { return now } }).refused(`{}`, fault.NotFound,
				msgNoExternal, fault.NoTemplate)
		}
		for month, want := range map[string]int{"2026-01": 2, "2026-02": 3, "2026-03": 1} {
			if got := r.summary(month, 0); got.Total != int64(want) || len(got.Recent) != want {
				t.Errorf("%s: got %d and %d, want %d", month, got.Total, len(got.Recent), want)
			}
		}
	})
}

func TestASummaryShowsTheNewestFirst(t *testing.T) {
	onEvery(t, func(t *testing.T, r *rig) {
		for i := range 250 {
			if i%3 == 0 {
				r.clock.forward(time.Second) // several are of one instant
			}
			r.refused(fmt.Sprintf(`{"template_id":"t-%d"}`, i), fault.NotFound, msgNoTemplate, fault.NoTemplate)
		}
		for limit, want := range map[int]int{0: 20, 1: 1, 200: 200} {
			got := r.summary("2026-02", limit).Recent
			if len(got) != want {
				t.Errorf("%d: got %d", limit, len(got))
			}
			for i := range got {
				if name := fmt.Sprintf("t-%d", 249-i); *got[i].TemplateID != name {
					t.Fatalf("%d: place %d: got %s, want %s", limit, i, *got[i].TemplateID, name)
				}
			}
		}
	})
}

func TestABadMonthIsRefused(t *testing.T) {
	onEvery(t, func(t *testing.T, r *rig) {
		for _, month := range []string{
			"", "2026", "2026-13", "2026-00", "2026-2", "26-02", "2026/02", "2026-02-01",
			" 2026-02", "2026-02 ", "abcd-ef", "２０２６-02", "+026-02",
		} {
			_, err := r.Summary(t.Context(), tenantA, SummaryQuery{Month: month})
			if failure, _ := fault.As(err); failure == nil || failure.Kind != fault.Invalid ||
				failure.Message != "ym must be a month such as 2026-02" {
				t.Errorf("%q: got %v", month, err)
			}
		}
		for _, limit := range []int{-1, 201} {
			_, err := r.Summary(t.Context(), tenantA, SummaryQuery{"2026-02", limit})
			if failure, _ := fault.As(err); failure == nil || failure.Kind != fault.Invalid ||
				failure.Message != "recent_limit must be 1 to 200" {
				t.Errorf("%d: got %v", limit, err)
			}
		}
	})
}

func TestGroupsAreInTheOrderOfTheirCounts(t *testing.T) {
	got := group{"b": 2, "a": 2, "c": 9, "": 100, "d": 1}.sorted()
	if want := (Counts{{"c", 9}, {"a", 2}, {"b", 2}, {"d", 1}}); !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if got, want := (group{"x": 1, "": 2, "a": 3}).all("a", "b", "rest"),
		(Counts{{"a", 3}, {"b", 0}, {"rest", 3}}); !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// TestSummariesAreExact delivers in every way there is, many at once, and counts the
// audit log.
func TestSummariesAreExact(t *testing.T) {
	onEvery(t, func(t *testing.T, r *rig) {
		r.template("close", closing)
		r.template("rocket", kinds["foreign"])
		r.template("hand", kinds["manual"])
		broken := r.with(func(c *Config) { c.Engine = failing{c.Engine, fault.New(fault.Unavailable, "", "away")} })
		total := rounds(10_000, 100_000)
		if r.db.Dialect() == sqldb.Postgres {
			total = rounds(2_000, 100_000)
		}
		var wg sync.WaitGroup
		for part := range 4 {
			if part > 0 {
				r.clock.forward(31 * day)
			}
			for worker := range 32 {
				wg.Go(func() {
					for i := worker; i < total/4; i += 32 {
						r.anyhow(broken, part, i)
					}
				})
			}
			wg.Wait()
		}
		if n := r.count("SELECT count(*) FROM audit_log"); n != total/4*4 {
			t.Errorf("%d entries, want %d", n, total/4*4)
		}
		r.recount()
		months := r.tallyOf()
		if len(months) != 4 {
			t.Fatalf("got %d months", len(months))
		}
		for month, want := range months {
			s := r.summary(month, 200)
			got := fmt.Sprint(s.Total, s.ByStatus, s.ByClass, s.ByCode, s.ByAdvice, s.Duplicate)
			if got != want {
				t.Errorf("%s:\ngot  %s\nwant %s", month, got, want)
			}
		}
	})
}

// anyhow delivers in one of the ways that there are.
func (r *rig) anyhow(broken *rig, part, i int) {
	body := ""
	switch i % 20 {
	case 0:
		body = fmt.Sprintf(`{"template_id":"close","event_id":"k-%d-%d","year":%d}`, part, i, 2000+part*100_000+i)
	case 1, 2, 3, 4, 5, 6, 7:
		body = fmt.Sprintf(`{"template_id":"close","event_id":"k-%d-%d","year":%d}`, part, i/20*20, 2000+part*100_000+
			i/20*20)
	case 8, 9:
		body = `{"template_id":"none"}`
	case 10:
		body = `{}`
	case 11:
		body = `{"template_id":"rocket"}`
	case 12, 13:
		body = `{"template_id":"close","year":"abc"}`
	case 14:
		body = `{"template_id":"hand"}`
	case 15:
		body = `{"source":5}`
	case 16:
		body = fmt.Sprintf(`{"template_id":"close","year":%d}`, 2000+part*100_000+i/20*20) // a run may be active
	case 17:
		_, _ = r.Refuse(r.Context(), caller, Delivery{}, fault.New(fault.Unauthorized, "",
			"Invalid workflow event token.").Because(fault.RefusedToken))
		return
	case 18:
		_, _ = r.Refuse(r.Context(), caller, Delivery{}, fault.New(fault.TooLarge, "", "too large"))
		return
	case 19:
		body, r = fmt.Sprintf(`{"template_id":"close","year":%d}`, 900_000+part*100_000+i), broken
	}
	_, _ = r.deliver(body)
}

// tallyOf counts the audit log by months, in the order that summaries have.
func (r *rig) tallyOf() map[string]string {
	r.Helper()
	type counted struct{ status, class, code, advice, duplicate map[string]int64 }
	months := map[string]*counted{}
	totals := map[string]int64{}
	err := r.db.Read(r.Context(), func(ctx context.Context, tx *sqldb.Tx) error {
		for row, err := range tx.Query(ctx, "SELECT at, outcome, reason_class, reason_code, retry_advice, detail "+
			"FROM audit_log WHERE action = 'workflow_event'") {
			var e audit.Entry
			var text string
			if err == nil {
				err = row.Scan(&e.At, &e.Outcome, &e.ReasonClass, &e.ReasonCode, &e.RetryAdvice, &text)
			}
			if err != nil {
				return err
			}
			month := e.At.String()[:7]
			c := months[month]
			if c == nil {
				c = &counted{
					map[string]int64{},
					map[string]int64{},
					map[string]int64{},
					map[string]int64{},
					map[string]int64{},
				}
				months[month] = c
			}
			totals[month]++
			c.status[map[audit.Outcome]string{
				"accepted": "success", "skipped": "skipped", "refused": "rejected",
				"failed": "failed",
			}[e.Outcome]]++
			c.class[string(e.ReasonClass)]++
			c.code[string(e.ReasonCode)]++
			c.advice[string(e.RetryAdvice)]++
			c.duplicate[fmt.Sprint(strings.Contains(text, `"duplicate":true`))]++
		}
		return nil
	})
	if err != nil {
		r.Fatal(err)
	}
	fixed := func(of map[string]int64, names ...string) (all Counts) {
		for _, name := range names {
			all = append(all, Count{name, of[name]})
		}
		return all
	}
	ordered := func(of map[string]int64) (all Counts) {
		delete(of, "")
		for _, name := range slices.SortedFunc(maps.Keys(of), func(a, b string) int {
			return cmp.Or(cmp.Compare(of[b], of[a]), strings.Compare(a, b))
		}) {
			all = append(all, Count{name, of[name]})
		}
		return all
	}
	out := map[string]string{}
	for month, c := range months {
		out[month] = fmt.Sprint(totals[month], fixed(c.status, "success", "skipped", "rejected", "failed", "unknown"),
			ordered(c.class),
			ordered(c.code), ordered(c.advice), fixed(c.duplicate, "true", "false", "unknown"))
	}
	return out
}

// TestASummaryOfAMillionIsFast reads summaries of a month that has a million entries:
// deliveries, and behind them as many of something else. The bar holds with RENGA_LONG=1; without, the log is
// smaller and the time is shown alone, since other tests run beside.
func TestASummaryOfAMillionIsFast(t *testing.T) {
	tier.System(t)
	for name, where := range map[string]func() sqldb.Config{
		"sqlite":   func() sqldb.Config { return sqldb.Config{Path: filepath.Join(t.TempDir(), "test.db")} },
		"postgres": func() sqldb.Config { return sqldb.Config{URL: pgtest.New(t)} },
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, where())
			n := rounds(20_000, 1_000_000)
			r.fill(n)
			syscall.Sync() // what the rows have left to be written is not the summary's
			p50, p99 := r.timed(n/2, 1000)
			t.Logf("%d entries: p50 %v, p99 %v", n, p50, p99)
			if p99 > 50*time.Millisecond && os.Getenv("RENGA_LONG") != "" {
				t.Errorf("p99 is %v, want at most 50ms", p99)
			}
		})
	}
}

// timed reads summaries of a month with n deliveries.
func (r *rig) timed(n, times int) (p50, p99 time.Duration) {
	r.Helper()
	took := make([]time.Duration, times)
	for i := range took {
		began := time.Now()
		s := r.summary("2026-02", MaxRecent)
		took[i] = time.Since(began)
		if s.Total != int64(n) || len(s.Recent) != MaxRecent {
			r.Fatalf("got %d and %d", s.Total, len(s.Recent))
		}
	}
	slices.Sort(took)
	return took[times/2], took[times*99/100]
}

// fill writes entries of one month and their tally. The first half of them are deliveries.
func (r *rig) fill(n int) {
	r.Helper()
	const part = 10_000
	series := "SELECT generate_series AS i FROM generate_series(1, $1)"
	if r.db.Dialect() == sqldb.SQLite {
		series = "WITH RECURSIVE s(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM s WHERE i < $1) SELECT i FROM s"
	}
	begin := canonical.Stamp(time.Date(2026, 2, 1, 0, 0, 0, 0, time.UTC).UnixMilli())
	for done := 0; done < n; done += part {
		action := Action
		if done >= n/2 {
			action = "execution.cancel"
		}
		err := r.db.Write(r.Context(), sqldb.Other, func(ctx context.Context, tx *sqldb.Tx) error {
			_, err := tx.Exec(
				ctx,
				`INSERT INTO audit_log (id, at, tenant_id, actor, action, subject, correlation_id, outcome, reason,
				reason_class, reason_code, retry_advice, detail)
				SELECT 'id', CAST($2 AS BIGINT) + i, '`+tenantA+
					`', 'bank', $3, '01a1e3c0-288f-7649-bfd1-bc19010cae1d', 'c',
				CASE WHEN i % 2 = 0 THEN 'accepted' ELSE 'refused' END, '', '',
				CASE WHEN i % 2 = 0 THEN '' ELSE 'http_404' END, '',
				'{"template_id":"close","template_name":"close","event_name":"month_close","source":"bank",
				"idempotency_key":"k","action":"month_close","year":2026,"month":1,"duplicate":false}'
				FROM (`+series+`) AS numbers`,
				part,
				int64(begin)+int64(done),
				action,
			)
			return err
		})
		if err != nil {
			r.Fatal(err)
		}
	}
	r.exec(
		`INSERT INTO trigger_tally SELECT tenant_id, '2026-02',
			CASE outcome WHEN 'accepted' THEN 'success' ELSE 'rejected' END,
		reason_class, reason_code, retry_advice, 'false', count(*) FROM audit_log
		WHERE action = 'workflow_event' GROUP BY tenant_id, outcome, reason_class, reason_code, retry_advice`,
	)
}
