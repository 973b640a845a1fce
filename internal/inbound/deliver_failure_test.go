package inbound

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"renga.dev/renga/internal/platform/audit"
	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/platform/sqldb"
	"renga.dev/renga/internal/workflow/engine"
)

// meddler lets a test do something between the moment that a delivery was decided about
// and that in which its run starts.
type meddler struct {
	Starter
	before func()
}

func (m meddler) Do(ctx context.Context, u engine.Unit) ([]engine.Result, error) {
	m.before()
	return m.Starter.Do(ctx, u)
}

func TestATemplateThatChangesMeanwhileIsLookedForAgain(t *testing.T) {
	onEvery(t, func(t *testing.T, r *rig) {
		r.template("close", closing)
		before := func() {}
		slow := r.with(func(c *Config) { c.Engine = meddler{c.Engine, func() { before() }} })
		once := func(change func()) func() {
			return func() { before = func() {}; change() }
		}
		before = once(func() {
			r.template("close", `{"name":"new","year":2026,"month":7,"steps":[`+first+
				`,{"action":"mf_reconcile","trigger_kind":"after_previous"}]}`)
		})
		got := slow.starts(`{"idempotency_key":"k-1"}`)
		if v := r.view(got.RunID); got.TemplateName != "new" || v.GraphVersion != 2 || len(v.Nodes) != 4 {
			t.Errorf("got %+v, version %d with %d nodes", got, v.GraphVersion, len(v.Nodes))
		}
		before = once(func() { r.template("second", closing) }) // there are two by now
		slow.refused(`{"month":8}`, fault.Conflict, msgManyExternal, fault.UnfitTemplate)
		before = once(func() {
			if err := r.DeleteTemplate(t.Context(), tenantA, "close"); err != nil {
				t.Fatal(err)
			}
		})
		slow.refused(`{"template_id":"close","month":9}`, fault.NotFound, msgNoTemplate, fault.NoTemplate)
		before = once(func() { // it is another one by the same name
			if err := r.DeleteTemplate(t.Context(), tenantA, "second"); err != nil {
				t.Fatal(err)
			}
			r.template("second", kinds["foreign"])
		})
		slow.refused(`{"month":10}`, fault.Conflict, "external_event action is not executable in MVP: launch_rocket",
			fault.UnsupportedAction)
		n := 0
		r.template("third", closing)
		before = func() {
			n++
			r.template("second", strings.Replace(kinds["manual"], `"name":"`, `"name":"`+strings.Repeat("x", n), 1))
		}
		_, err := slow.deliver(`{"template_id":"third","month":11}`)
		if fault.KindOf(err) != fault.Unavailable || n != maxLooks {
			t.Errorf("templates that change all the time: got %v after %d", err, n)
		}
	})
}

func TestARunThatStartsMeanwhileIsSeen(t *testing.T) {
	onEvery(t, func(t *testing.T, r *rig) {
		r.template("close", closing)
		var other Outcome
		var before func()
		slow := r.with(func(c *Config) { c.Engine = meddler{c.Engine, func() { before() }} })
		before = func() { other = r.starts(keyed("k", 1)) }
		out, err := slow.deliver(keyed("k", 1))
		if err != nil || !out.Duplicate || out.RunID != other.RunID {
			t.Errorf("the same key: got %+v %v, want %+v", out, err, other)
		}
		before = func() { r.starts(keyed("k-2", 2)) }
		slow.refused(keyed("k-3", 2), fault.Conflict, msgActive, fault.RunActive)
	})
}

// failing is an engine that cannot start anything.
type failing struct {
	Starter
	err error
}

func (f failing) Do(context.Context, engine.Unit) ([]engine.Result, error) { return nil, f.err }

func TestAFailedDeliveryIsInTheAuditLog(t *testing.T) {
	onEvery(t, func(t *testing.T, r *rig) {
		r.template("close", closing)
		for _, tt := range []struct {
			err     error
			kind    fault.Kind
			message string
			code    fault.ReasonCode
		}{
			{fault.New(fault.Unavailable, "OVERLOADED", "too busy"), fault.Unavailable, "too busy", "http_503"},
			{
				fault.TooMuch(1, "too many commands"), fault.Unavailable,
				"too much is waiting; the event was not taken, send it again", "http_503",
			},
			{errors.New("a secret of the machine"), fault.Internal, "internal error", "http_500"},
			// nothing that the sender can mend
			{fault.New(fault.NotFound, "GRAPH_NOT_FOUND", "it is gone"), fault.Internal, "internal error", "http_500"},
		} {
			broken := r.with(func(c *Config) { c.Engine = failing{c.Engine, tt.err} })
			_, err := broken.deliver(`{"idempotency_key":"k"}`)
			if fault.KindOf(err) != tt.kind || !errors.Is(err, tt.err) {
				t.Errorf("got %v, want %v", err, tt.kind)
			}
			got := r.entries(1)[0]
			if got.Outcome != audit.Failed || got.Reason != tt.message || got.ReasonClass != fault.ReasonInfra ||
				got.ReasonCode != tt.code ||
				got.RetryAdvice != fault.RetryWithBackoff {
				t.Errorf("%v: got %+v", tt.err, got)
			}
		}
	})
}

// TestAKnownKeyGoesBeforeWhatIsWrongWithOtherFields sends a key again with fields that alone
// would be refused. A key that cannot be read is none.
func TestAKnownKeyGoesBeforeWhatIsWrongWithOtherFields(t *testing.T) {
	onEvery(t, func(t *testing.T, r *rig) {
		r.template("close", closing)
		run := r.starts(keyed("k", 3)).RunID
		for _, other := range []string{`"notes":5`, `"year":[]`, `"template_id":"` + strings.Repeat("x", MaxText+1) +
			`"`, `"month":13`, `"template_id":"none"`} {
			r.repeats(`{"idempotency_key":"k",`+other+`}`, run)
			if got := r.entries(1)[0]; got.Outcome != audit.Skipped || got.Subject != run {
				t.Errorf("%.40s: the audit log has %+v", other, got)
			}
		}
		r.refused(`{"idempotency_key":"new","notes":5}`, fault.Invalid, "notes must be a string", fault.RefusedField)
		r.refused(`{"idempotency_key":5,"event_id":"k"}`, fault.Invalid, "idempotency_key must be a string",
			fault.RefusedField)
	})
}

// forgetful is an engine whose answer is lost after it has started something.
type forgetful struct {
	Starter
	err error
}

func (f forgetful) Do(ctx context.Context, u engine.Unit) ([]engine.Result, error) {
	_, err := f.Starter.Do(ctx, u)
	return nil, errors.Join(f.err, err)
}

func TestARunWhoseCommitWasInDoubtIsNotAuditedAsFailedToo(t *testing.T) {
	onEvery(t, func(t *testing.T, r *rig) {
		r.template("close", closing)
		doubt := &fault.Error{Kind: fault.Unavailable, Code: "TIMEOUT", Message: "nobody knows"}
		broken := r.with(func(c *Config) { c.Engine = forgetful{c.Engine, doubt} })
		if _, err := broken.deliver(`{"idempotency_key":"k"}`); !errors.Is(err, doubt) {
			t.Fatalf("got %v", err)
		}
		r.catchUp(broken.process)
		r.ended(started)
		if out, err := r.deliver(`{"idempotency_key":"k"}`); err != nil || !out.Duplicate {
			t.Errorf("got %+v %v, want a duplicate", out, err)
		}
	})
}

// TestNothingIsDecidedThatTheLogDoesNotHave breaks the log: no run is started and none is
// named, and what was answered is in the log when it works again.
func TestNothingIsDecidedThatTheLogDoesNotHave(t *testing.T) {
	onEvery(t, func(t *testing.T, r *rig) {
		r.template("close", closing)
		run := r.starts(keyed("k", 1)).RunID
		r.exec("ALTER TABLE trigger_tally RENAME TO trigger_tally_gone")
		for _, body := range []string{keyed("k", 1), keyed("new", 2), keyed("bad", 13)} {
			if out, err := r.deliver(body); fault.KindOf(err) != fault.Unavailable &&
				fault.KindOf(err) != fault.Internal || out != (Outcome{}) {
				t.Errorf("%s: got %+v %v", body, out, err)
			}
		}
		r.refused(twoFields, fault.Invalid, "notes must be a string", fault.RefusedField)
		if got := r.runs(); got != 1 {
			t.Errorf("%d runs", got)
		}
		r.exec("ALTER TABLE trigger_tally_gone RENAME TO trigger_tally")
		if got := len(r.entries(10)); got != 1 {
			t.Errorf("%d entries", got)
		}
		r.catchUp(r.process)
		r.ended(started, wasAway, "failed infra http_500", wasAway, badBody)
		r.repeats(keyed("k", 1), run)
		r.starts(keyed("new", 2))
	})
}

// exec changes the database behind everybody's back.
func (r *rig) exec(query string) {
	r.Helper()
	err := r.db.Write(r.Context(), sqldb.Other, func(ctx context.Context, tx *sqldb.Tx) error {
		_, err := tx.Exec(ctx, query)
		return err
	})
	if err != nil {
		r.Fatal(err)
	}
}

func TestACallerThatDisconnectsIsInTheAuditLog(t *testing.T) {
	onEvery(t, func(t *testing.T, r *rig) {
		r.template("close", closing)
		gone, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := r.Deliver(gone, caller, Delivery{Key: "k"}); err == nil {
			t.Error("it was served")
		}
		if got := r.entries(2); len(got) != 1 || got[0].Outcome != audit.Failed {
			t.Errorf("got %+v", got)
		}
		// One that goes away while its run is being started does not stop it.
		going, cancel := context.WithTimeout(t.Context(), time.Hour)
		slow := r.with(func(c *Config) { c.Engine = meddler{c.Engine, cancel} })
		out, err := slow.Deliver(going, caller, Delivery{Key: "k"})
		if err != nil || out.RunID == "" {
			t.Errorf("got %+v %v", out, err)
		}
		r.repeats(keyed("k", 1), out.RunID)
	})
}
