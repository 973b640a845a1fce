package audit

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"renga.dev/renga/internal/platform/canonical"
	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/platform/sqldb"
	"renga.dev/renga/internal/platform/sqldb/pgtest"
)

const tenantA, tenantB = "00000000-0000-0000-0000-00000000000a", "00000000-0000-0000-0000-00000000000b"

// rig is an audit log in a database.
type rig struct {
	*testing.T
	*Log
}

// onEvery runs a test on every database.
func onEvery(t *testing.T, test func(t *testing.T, r rig)) {
	t.Run("sqlite", func(t *testing.T) {
		test(t, newRig(t, sqldb.Config{Path: filepath.Join(t.TempDir(), "test.db")}))
	})
	t.Run("postgres", func(t *testing.T) { test(t, newRig(t, sqldb.Config{URL: pgtest.New(t)})) })
}

func newRig(t *testing.T, cfg sqldb.Config) rig {
	t.Helper()
	cfg.Migrations = []sqldb.Migration{Migration()}
	db, err := sqldb.Open(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- db.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := errors.Join(<-ended, db.Close()); err != nil {
			t.Error(err)
		}
	})
	return rig{t, New(db)}
}

// write writes entries in one transaction.
func (r rig) write(entries ...Entry) error {
	return r.db.Write(r.Context(), sqldb.Other, func(ctx context.Context, tx *sqldb.Tx) error {
		for _, e := range entries {
			if err := Write(ctx, tx, e); err != nil {
				return err
			}
		}
		return nil
	})
}

func (r rig) mustWrite(entries ...Entry) {
	r.Helper()
	if err := r.write(entries...); err != nil {
		r.Fatal(err)
	}
}

// list is the first page of what a query selects.
func (r rig) list(q Query) []Entry {
	r.Helper()
	if q.Limit == 0 {
		q.Limit = 100
	}
	page, total, err := r.List(r.Context(), q)
	if err != nil {
		r.Fatal(err)
	}
	if q.Offset == 0 && total < q.Limit && total != len(page) {
		r.Errorf("%+v: a total of %d, and %d entries", q, total, len(page))
	}
	return page
}

func subjects(entries []Entry) (all []string) {
	for _, e := range entries {
		all = append(all, e.Subject)
	}
	return all
}

// entry is an entry of the first tenant.
func entry(at canonical.Stamp, action, actor, subject string) Entry {
	return Entry{At: at, Tenant: tenantA, Action: action, Actor: actor, Subject: subject, Outcome: Accepted}
}

func TestAnEntryIsReadAsItWasWritten(t *testing.T) {
	onEvery(t, func(t *testing.T, r rig) {
		want := Entry{
			At: 1_767_600_000_000, Tenant: tenantA, Actor: "佐藤", Action: "dlq.skip", Subject: "some-id",
			CorrelationID: "call-9",
			Outcome:       Refused, Reason: "それは古い",
			ReasonClass: fault.ReasonRunConflict, ReasonCode: "dead_open",
			RetryAdvice: fault.DoNotRetry,
			Detail:      []byte(` {"consumer": "search"} `),
		}
		r.mustWrite(want)
		want.Detail = []byte(`{"consumer":"search"}`)
		got := r.list(Query{Tenant: tenantA})
		if diff := cmp.Diff([]Entry{want}, got, cmpopts.IgnoreFields(Entry{}, "ID", "Num")); diff != "" ||
			len(got[0].ID) != 36 {
			t.Errorf("(-want +got):\n%s\nid %s", diff, got[0].ID)
		}
	})
}

func TestEveryOutcomeIsKept(t *testing.T) {
	onEvery(t, func(t *testing.T, r rig) {
		for i, outcome := range Outcomes {
			e := entry(canonical.Stamp(1+i), "a", "", "s")
			e.Outcome = outcome
			r.mustWrite(e)
			if got := r.list(Query{Tenant: tenantA, Limit: 1})[0].Outcome; got != outcome {
				t.Errorf("got %q, want %q", got, outcome)
			}
		}
	})
}

func TestAnEntryWithoutATimeHasTheTimeOfItsTransaction(t *testing.T) {
	onEvery(t, func(t *testing.T, r rig) {
		before := time.Now().Add(-time.Second).UnixMilli()
		r.mustWrite(entry(0, "a", "", ""))
		if got := r.list(Query{Tenant: tenantA})[0]; int64(got.At) < before || string(got.Detail) != "{}" {
			t.Errorf("got %+v", got)
		}
	})
}

func TestAnEntrySharesTheFateOfItsTransaction(t *testing.T) {
	onEvery(t, func(t *testing.T, r rig) {
		if err := r.write(entry(1, "a", "", "kept?"), Entry{}); err == nil {
			t.Fatal("an entry without anything was written")
		}
		if got := r.list(Query{Tenant: tenantA}); len(got) != 0 {
			t.Errorf("it is there: %+v", got)
		}
	})
}

func TestNothingChangesAnEntry(t *testing.T) {
	onEvery(t, func(t *testing.T, r rig) {
		r.mustWrite(entry(1, "a", "ann", "s"))
		err := r.db.Write(t.Context(), sqldb.Other, func(ctx context.Context, tx *sqldb.Tx) error {
			_, err := tx.Exec(ctx, "UPDATE audit_log SET actor = 'bob'")
			return err
		})
		if err == nil || r.list(Query{Tenant: tenantA})[0].Actor != "ann" {
			t.Errorf("it was changed: %v", err)
		}
	})
}

func TestEntriesAreListedNewestFirstAndByFilters(t *testing.T) {
	onEvery(t, func(t *testing.T, r rig) {
		other := entry(15, "dlq.skip", "ann", "theirs")
		other.Tenant = tenantB
		r.mustWrite(
			entry(10, "dlq.skip", "ann", "1"), entry(30, "dlq.redrive", "ann", "2"),
			entry(20, "dlq.skip", "bob", "3"), entry(20, "dlq.skip", "ann", "4"), other,
		)
		for _, tt := range []struct {
			query Query
			want  []string
		}{
			{Query{}, []string{"2", "4", "3", "1"}},
			{Query{Action: "dlq.skip"}, []string{"4", "3", "1"}},
			{Query{Actor: "ann"}, []string{"2", "4", "1"}},
			{Query{Subject: "3"}, []string{"3"}},
			{Query{Subject: "theirs"}, nil},
			{Query{Action: "dlq.skip", Actor: "ann", Subject: "4"}, []string{"4"}},
			{Query{From: 20}, []string{"2", "4", "3"}},
			{Query{To: 20}, []string{"1"}},
			{Query{Action: "dlq.skip", From: 11, To: 21}, []string{"4", "3"}},
			{Query{Limit: 2}, []string{"2", "4"}},
			{Query{Limit: 2, Offset: 2}, []string{"3", "1"}},
			{Query{Limit: 2, Offset: 4}, nil},
		} {
			tt.query.Tenant = tenantA
			if got := subjects(r.list(tt.query)); !slices.Equal(got, tt.want) {
				t.Errorf("%+v: got %q, want %q", tt.query, got, tt.want)
			}
		}
		if _, _, err := r.List(t.Context(), Query{Tenant: tenantA, Offset: MaxListed, Limit: 10}); fault.KindOf(
			err) != fault.Invalid {
			t.Errorf("beyond the limit: %v", err)
		}
	})
}

func TestNobodyCanMakeTwoLinesOfOneEntry(t *testing.T) {
	onEvery(t, func(t *testing.T, r rig) {
		e := entry(1, "a", "ann\n", "s\x00\x1b[2J")
		e.Reason, e.CorrelationID = "one\r\ntwo\u2028three \xff", strings.Repeat("長", 2000)
		r.mustWrite(e)
		got := r.list(Query{Tenant: tenantA})[0]
		if got.Actor != "ann " || got.Subject != "s  [2J" || got.Reason != "one  two three \ufffd" {
			t.Errorf("got %q %q %q", got.Actor, got.Subject, got.Reason)
		}
		if n := utf8.RuneCountInString(got.CorrelationID); n != MaxText ||
			!strings.HasSuffix(got.CorrelationID, "…") {
			t.Errorf("a long text has %d characters", n)
		}
	})
}

func TestMistakesAreRefused(t *testing.T) {
	onEvery(t, func(t *testing.T, r rig) {
		for what, change := range map[string]func(*Entry){
			"no tenant":           func(e *Entry) { e.Tenant = "" },
			"no action":           func(e *Entry) { e.Action = "" },
			"no outcome":          func(e *Entry) { e.Outcome = "" },
			"another outcome":     func(e *Entry) { e.Outcome = "maybe" },
			"a detail, no object": func(e *Entry) { e.Detail = []byte("[]") },
			"a detail, no JSON":   func(e *Entry) { e.Detail = []byte("{") },
			"a large detail": func(e *Entry) {
				e.Detail = []byte(`{"a":"` + strings.Repeat("x", MaxDetail) +
					`"}`)
			},
		} {
			e := entry(1, "a", "", "")
			change(&e)
			if err := r.write(e); err == nil {
				t.Errorf("%s: it was written", what)
			}
		}
	})
}

// TestAnExportHasEveryEntryThatMatchesOldestFirst has several pages of entries, many of
// them at one instant, and others that are written meanwhile.
func TestAnExportHasEveryEntryThatMatchesOldestFirst(t *testing.T) {
	onEvery(t, func(t *testing.T, r rig) {
		var all []Entry
		for i := range 3*exportRows + 7 {
			e := entry(canonical.Stamp(1+(i*7919)%10), []string{"dlq.skip", "dlq.redrive"}[i%2], "ann", fmt.Sprint(i))
			if i%5 == 0 {
				e.Tenant = tenantB
			}
			all = append(all, e)
		}
		r.mustWrite(all...)
		for _, q := range []Query{
			{},
			{Action: "dlq.skip"},
			{From: 3, To: 7},
			{From: 9, To: 10},
			{Subject: "17"},
			{Actor: "bob"},
			{Tenant: tenantB},
		} {
			if q.Tenant == "" {
				q.Tenant = tenantA
			}
			var want []string
			for at := range canonical.Stamp(11) {
				for _, e := range all {
					if e.At == at && e.Tenant == q.Tenant && (q.Action == "" || e.Action == q.Action) &&
						(q.Actor == "" || e.Actor == q.Actor) &&
						(q.Subject == "" || e.Subject == q.Subject) && at >= q.From && (q.To == 0 || at < q.To) {
						want = append(want, e.Subject)
					}
				}
			}
			var got []string
			for page, err := range r.Export(t.Context(), q) {
				if err == nil {
					err = r.write(entry(10, "late", "ann", "late")) // it is not waited for
				}
				if err != nil || len(page) > exportRows {
					t.Errorf("a page of %d entries: %v", len(page), err)
				}
				got = append(got, subjects(page)...)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%+v (-want +got):\n%s", q, diff)
			}
		}
		gone, cancel := context.WithCancel(t.Context())
		cancel()
		pages := 0
		for _, err := range r.Export(gone, Query{Tenant: tenantA}) {
			if pages++; !errors.Is(err, context.Canceled) {
				t.Errorf("got %v", err)
			}
		}
		if pages != 1 {
			t.Errorf("an export that was given up came back %d times, want once with the reason", pages)
		}
	})
}

// TestListsReadWhatTheyAreAbout asks SQLite how it would run every list: it looks up the
// entries by what selects the fewest, within the range of time, and nothing is sorted.
func TestListsReadWhatTheyAreAbout(t *testing.T) {
	r := newRig(t, sqldb.Config{Path: filepath.Join(t.TempDir(), "test.db")})
	for bits := range 32 {
		q := Query{Tenant: tenantA}
		for bit, set := range []func(){
			func() { q.Action = "a" }, func() { q.Actor = "a" }, func() { q.Subject = "a" }, func() {
				q.From = 1
			}, func() { q.To = 1 },
		} {
			if bits&(1<<bit) != 0 {
				set()
			}
		}
		want := "INDEX audit_log_list (tenant_id=?"
		switch {
		case q.Subject != "":
			want = "INDEX audit_log_subject (tenant_id=? AND subject=?"
		case q.Actor != "":
			want = "INDEX audit_log_actor (tenant_id=? AND actor=?"
		case q.Action != "":
			want = "INDEX audit_log_action (tenant_id=? AND action=?"
		}
		var count, page, export string
		args := map[string][]any{}
		err := r.db.Read(t.Context(), func(_ context.Context, tx *sqldb.Tx) error {
			count, args["count"] = q.count(tx)
			page, args["page"] = q.newestFirst(tx)
			export, args["export"] = q.oldestFirst(tx, 1, 1, 1)
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		for query, args := range map[string][]any{
			count: args["count"], page: args["page"], export: args["export"],
		} {
			from, to := q.From > 0 || query == export, q.To > 0
			plan := r.plan(query, args)
			if strings.Contains(plan, "TEMP B-TREE") || !strings.Contains(plan, want) ||
				strings.Contains(plan, "at>?") != from || strings.Contains(plan, "at<?") != to {
				t.Errorf("%s\n\t%s\nwant %s", query, plan, want)
			}
		}
	}
}

func (r rig) plan(query string, args []any) string {
	r.Helper()
	var steps []string
	err := r.db.Read(r.Context(), func(ctx context.Context, tx *sqldb.Tx) error {
		for row, err := range tx.Query(ctx, "EXPLAIN QUERY PLAN "+query, args...) {
			var id, parent, unused int
			var detail string
			if err == nil {
				err = row.Scan(&id, &parent, &unused, &detail)
			}
			if err != nil {
				return err
			}
			steps = append(steps, detail)
		}
		return nil
	})
	if err != nil {
		r.Fatal(err)
	}
	return strings.Join(steps, "\n\t")
}

// BenchmarkListOfAMillion reads pages out of a million entries:
// RENGA_BENCH=1 go test -bench Million ./internal/platform/audit
func BenchmarkListOfAMillion(b *testing.B) {
	if os.Getenv("RENGA_BENCH") == "" {
		b.Skip("RENGA_BENCH is not set")
	}
	db, err := sqldb.Open(b.Context(), sqldb.Config{
		Path:       filepath.Join(b.TempDir(), "test.db"),
		Migrations: []sqldb.Migration{Migration()},
	})
	if err != nil {
		b.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- db.Run(ctx) }()
	defer func() { stop(); <-ended; _ = db.Close() }()
	for n := 0; n < 1_000_000; n += 10_000 {
		err := db.Write(b.Context(), sqldb.Other, func(ctx context.Context, tx *sqldb.Tx) error {
			for i := n; i < n+10_000; i++ {
				e := entry(canonical.Stamp(1+i), fmt.Sprint("action.", i%10), fmt.Sprint("user-", i%1000),
					fmt.Sprint("subject-", i/3))
				e.Detail = []byte(`{"consumer":"search","eventId":"0199c1a2-7d10-7c3e-8f21-5d2f6f0c9a01"}`)
				if err := Write(ctx, tx, e); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			b.Fatal(err)
		}
	}
	log := New(db)
	for name, q := range map[string]Query{
		"first page": {}, "last page": {Offset: MaxListed - 50}, "action": {Action: "action.3"},
		"actor":   {Actor: "user-7"},
		"subject": {Subject: "subject-7"}, "range": {From: 400_000, To: 600_000},
		"action and actor": {Action: "action.7", Actor: "user-7"},
		"nobody":           {Action: "action.3", Actor: "user-7"},
	} {
		q.Tenant, q.Limit = tenantA, 50
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if _, _, err := log.List(b.Context(), q); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
