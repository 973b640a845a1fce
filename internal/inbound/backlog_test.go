package inbound

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"renga.dev/renga/internal/platform/audit"
	"renga.dev/renga/internal/platform/canonical"
	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/platform/sqldb"
	"renga.dev/renga/internal/platform/sqldb/pgtest"
	"renga.dev/renga/test/stalltest"
	"renga.dev/renga/test/tier"
)

var errToken = fault.New(fault.Unauthorized, "", "Invalid workflow event token.").Because(fault.RefusedToken)

// endings are outcome, class and code of the entries of workflow events, the oldest first.
func (r *rig) endings() (all []string) {
	r.Helper()
	for _, e := range slices.Backward(r.entries(100)) {
		if e.Action == Action {
			all = append(all, string(e.Outcome)+" "+string(e.ReasonClass)+" "+string(e.ReasonCode))
		}
	}
	return all
}

func (r *rig) ended(want ...string) {
	r.Helper()
	if got := r.endings(); !slices.Equal(got, want) {
		r.Fatalf("the audit log has\n%q, want\n%q", got, want)
	}
	if n := r.count("SELECT sum(n) FROM trigger_tally WHERE tenant_id = $1", tenantA); n != len(want) {
		r.Errorf("%d endings are counted, want %d", n, len(want))
	}
}

const (
	started   = "accepted  "
	badToken  = "refused auth http_401"
	badBody   = "refused validation http_400"
	wasAway   = "failed infra http_503"
	twoFields = `{"notes":["no text"]}`
	keyedBad  = `{"idempotency_key":"k","notes":["no text"]}`
)

// catchUp writes the backlog of a process until nothing is left.
func (r *rig) catchUp(p process) {
	r.Helper()
	p.load(r.Context())
	stalltest.Until(r, "the backlog is written", func() bool { // new connections need a moment
		return p.flush(r.Context()) == nil
	})
}

// TestWhatEndsWhileTheDatabaseIsAwayIsWrittenOnce ends a database under a process that
// still gets deliveries, and starts another process.
func TestWhatEndsWhileTheDatabaseIsAwayIsWrittenOnce(t *testing.T) {
	onEvery(t, func(t *testing.T, r *rig) {
		r.template("close", closing)
		file := filepath.Join(t.TempDir(), "data", BacklogFile)
		half := []byte(`{"Entry":`) // a process before was killed while it wrote its first line
		if err := errors.Join(os.Mkdir(filepath.Dir(file), 0o700), os.WriteFile(file, half, 0o600)); err != nil {
			t.Fatal(err)
		}
		ending, gone := r.stopped(Config{Backlog: file})
		gone()
		refuse := func(body string) {
			bad, err := ParseDelivery([]byte(body), "")
			if out, err := ending.Refuse(r.Context(), caller, bad, err); fault.KindOf(err) != fault.Invalid ||
				out != (Outcome{}) {
				t.Errorf("%s: %+v %v", body, out, err)
			}
		}
		refuse(keyedBad) // its key cannot be looked up
		if _, err := ending.Refuse(r.Context(), caller, Delivery{}, errToken); fault.KindOf(err) != fault.Unauthorized {
			t.Errorf("a wrong token: %v", err)
		}
		refuse(twoFields)
		refuse(keyedBad) // nobody tries
		d, err := ParseDelivery([]byte(keyed("k", 3)), "")
		if err == nil {
			_, err = ending.Deliver(r.Context(), caller, d)
		}
		if fault.KindOf(err) != fault.Unavailable {
			t.Fatalf("a delivery: %v", err)
		}
		if n, dropped := ending.Backlog(); n != 5 || dropped != 0 {
			t.Fatalf("%d entries wait and %d were dropped, want 5 and 0", n, dropped)
		}
		r.ended0()
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		torn := append(text, text[:len(text)/4]...) // the process was killed while it wrote a line
		for round, content := range [][]byte{torn, text} {
			// the second time: it was killed before it emptied the file
			if err := os.WriteFile(file, content, 0o600); err != nil {
				t.Fatal(err)
			}
			next := r.with(func(c *Config) { c.Backlog = file })
			r.catchUp(next.process)
			r.ended(badBody, badToken, badBody, badBody, wasAway)
			if left, err := os.ReadFile(file); err != nil || len(left) > 0 {
				t.Errorf("round %d: %q is left in the file (%v)", round, left, err)
			}
		}
		r.starts(keyed("k", 3))
		r.ended(badBody, badToken, badBody, badBody, wasAway, started)
	})
}

// ended0 says that nothing is in the audit log.
func (r *rig) ended0() {
	r.Helper()
	if got := r.endings(); len(got) > 0 {
		r.Fatalf("the audit log has %q already", got)
	}
}

// stopped is a process whose database can be taken away.
func (r *rig) stopped(cfg Config) (process, func()) {
	r.Helper()
	where := r.where
	if where.Path != "" { // SQLite has one process: its writes are refused when it stops to run
		where.Path = filepath.Join(r.TempDir(), "other.db")
	}
	db, err := sqldb.Open(r.Context(), where)
	if err != nil {
		r.Fatal(err)
	}
	cfg.Engine, cfg.Active, cfg.Now = r.engine, r.cfg.Active, r.clock.Now
	return process{New(db, cfg), r.engine, db}, func() { _ = db.Close() }
}

// TestAnOutageIsInTheAuditLogWhenItIsOver takes PostgreSQL away and gives it back.
func TestAnOutageIsInTheAuditLogWhenItIsOver(t *testing.T) { testOutage(t, (*pgtest.Proxy).Away) }

// TestAHangIsInTheAuditLogWhenItIsOver lets PostgreSQL hang: a read waits for five seconds.
func TestAHangIsInTheAuditLogWhenItIsOver(t *testing.T) {
	tier.System(t)
	testOutage(t, (*pgtest.Proxy).Hang)
}

func testOutage(t *testing.T, outage func(*pgtest.Proxy)) {
	proxy := pgtest.NewProxy(t, pgtest.New(t))
	r := newRig(t, sqldb.Config{URL: proxy.URL()})
	r.template("close", closing)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { defer close(ended); r.RunBacklog(ctx) }()
	defer func() { stop(); <-ended }()
	outage(proxy)
	r.refused(keyedBad, fault.Invalid, "notes must be a string", fault.RefusedField)
	if _, err := r.Refuse(t.Context(), caller, Delivery{}, errToken); fault.KindOf(err) != fault.Unauthorized {
		t.Errorf("a wrong token: %v", err)
	}
	r.refused(twoFields, fault.Invalid, "notes must be a string", fault.RefusedField)
	if _, err := r.deliver(keyed("k", 3)); fault.KindOf(err) != fault.Unavailable {
		t.Fatalf("a delivery: %v", err)
	}
	proxy.Back()
	for began := time.Now(); ; time.Sleep(10 * time.Millisecond) {
		if n, _ := r.Backlog(); n == 0 {
			break
		} else if time.Since(began) > time.Minute {
			t.Fatalf("%d entries still wait for the database, a minute after it came back", n)
		}
	}
	r.ended(badBody, badToken, badBody, wasAway)
}

// TestALostCommitIsNoFailure has an entry that gives way to one that may have been committed.
func TestALostCommitIsNoFailure(t *testing.T) {
	onEvery(t, func(t *testing.T, r *rig) {
		r.template("close", closing)
		r.starts(keyed("k", 3))
		run := r.entries(1)[0]
		for _, doubt := range []audit.Entry{run, {ID: audit.NewID(), At: run.At}} {
			err := r.fail(t.Context(), caller, &Delivery{Key: "k"}, ending{}, &doubt, errRestless)
			if fault.KindOf(err) != fault.Unavailable {
				t.Fatal(err)
			}
		}
		r.catchUp(r.process)
		r.ended(started, wasAway)
	})
}

// TestTheBacklogHasABound fills it.
func TestTheBacklogHasABound(t *testing.T) {
	r := newRig(t, sqldb.Config{Path: filepath.Join(t.TempDir(), "test.db")})
	put := func(outcome audit.Outcome, n int) {
		for range n {
			r.add(t.Context(), waiting{Entry: audit.Entry{
				ID: audit.NewID(), At: canonical.Stamp(1), Tenant: tenantA,
				Action: Action, Outcome: outcome,
			}})
		}
	}
	put(audit.Refused, MaxBacklog)
	if n, dropped := r.Backlog(); n != MaxBacklog/2 || dropped != MaxBacklog/2 {
		t.Errorf("%d refusals wait and %d were dropped", n, dropped)
	}
	put(audit.Failed, MaxBacklog)
	if n, dropped := r.Backlog(); n != MaxBacklog || dropped != MaxBacklog {
		t.Errorf("%d entries wait and %d were dropped", n, dropped)
	}
}

// TestADatabaseThatTakesNothingLosesNoEntry is about errors that nobody foresaw: entries wait
// until they are over. One that is wrong itself is given up.
func TestADatabaseThatTakesNothingLosesNoEntry(t *testing.T) {
	onEvery(t, func(t *testing.T, r *rig) {
		for _, outcome := range []audit.Outcome{audit.Failed, "nonsense", audit.Failed} {
			r.add(t.Context(), waiting{Entry: audit.Entry{
				ID: audit.NewID(), At: r.here(), Tenant: tenantA, Action: Action, Outcome: outcome,
				ReasonClass: "infra", ReasonCode: "http_503",
			}})
		}
		r.exec("ALTER TABLE trigger_tally RENAME TO trigger_other")
		if err := r.flush(t.Context()); err == nil || fault.KindOf(err) != fault.Internal {
			t.Errorf("got %v, want an error that the database has no kind for", err)
		}
		if n, _ := r.Backlog(); n != 3 {
			t.Errorf("%d entries wait, want all 3", n)
		}
		r.exec("ALTER TABLE trigger_other RENAME TO trigger_tally")
		if err := r.flush(t.Context()); err != nil {
			t.Fatal(err)
		}
		r.ended(wasAway, wasAway)
	})
}

// TestNobodyRepeatsAnEventBecauseOfDamage: what could not be put into a damaged log is no outage.
func TestNobodyRepeatsAnEventBecauseOfDamage(t *testing.T) {
	damage := &fault.Error{Code: "STORAGE_DAMAGED", Message: "damaged", Reason: fault.Damaged}
	if failure, _ := fault.As(unlogged(damage)); failure.Kind != fault.Internal || failure.Reason != fault.Damaged {
		t.Errorf("damage is answered %v, %+v", failure.Kind, failure.Reason)
	}
	if failure, _ := fault.As(unlogged(errors.New("unforeseen"))); failure.Kind != fault.Unavailable {
		t.Errorf("an error that nobody foresaw is answered %v", failure.Kind)
	}
}

// TestTheNewestLinesOfTheFileAreRead has a file with lines of entries that were written before
// the database went away again.
func TestTheNewestLinesOfTheFileAreRead(t *testing.T) {
	r := newRig(t, sqldb.Config{Path: filepath.Join(t.TempDir(), "test.db")})
	file := filepath.Join(t.TempDir(), BacklogFile)
	var text []byte
	for range MaxBacklog + 1 {
		line, err := json.Marshal(waiting{Entry: audit.Entry{ID: audit.NewID(), At: 1}})
		if err != nil {
			t.Fatal(err)
		}
		text = append(append(text, line...), '\n')
	}
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	next := r.with(func(c *Config) { c.Backlog = file })
	next.load(t.Context())
	if n, _ := next.Backlog(); n != MaxBacklog+1 {
		t.Errorf("%d entries were read, want %d", n, MaxBacklog+1)
	}
}
