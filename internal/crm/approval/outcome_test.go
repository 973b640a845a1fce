package approval

import (
	"context"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"renga.dev/renga/internal/crm/model"
	"renga.dev/renga/internal/crm/records"
	"renga.dev/renga/internal/platform/canonical"
	"renga.dev/renga/internal/platform/events"
	"renga.dev/renga/internal/platform/sqldb"
)

// settling is the process of quotes with a manager's step and outcomes in Status.
func settling() model.Definition {
	d := processOf(step("Manager", model.ByAny, ofRole(managers)))
	status := func(value string) map[string]jsontext.Value {
		return map[string]jsontext.Value{"Status": jsontext.Value(`"` + value + `"`)}
	}
	d.Value.(*model.ApprovalProcess).Outcomes = model.Outcomes{
		OnApproved: status("Approved"),
		OnRejected: status("Rejected"), OnRecalled: status("Draft"),
	}
	return d
}

// deliver lets core take the ApprovalDecided events that it has not, as often as it says.
func (r *rig) deliver(times int) {
	r.Helper()
	var decided []events.Event
	err := r.DB.Read(r.Context(), func(ctx context.Context, tx *sqldb.Tx) error {
		for row, err := range tx.Query(ctx, "SELECT id, body FROM outbox_events WHERE id > $1 ORDER BY id",
			r.delivered) {
			var body []byte
			if err == nil {
				err = row.Scan(&r.delivered, &body)
			}
			if err != nil {
				return err
			}
			if e, err := events.ParseEvent(body); err != nil {
				return err
			} else if e.Type == "ApprovalDecided" {
				decided = append(decided, e)
			}
		}
		return nil
	})
	if err != nil {
		r.Fatal(err)
	}
	for i := range decided {
		for range times {
			err := r.DB.Write(r.Context(), sqldb.Other, func(ctx context.Context, tx *sqldb.Tx) error {
				return r.core().Handle(ctx, tx, &decided[i])
			})
			if err != nil {
				r.Fatal(err)
			}
		}
	}
}

// status is the Status of a quote and its version.
func (r *rig) status(quote string) (status string, version canonical.Stamp) {
	r.Helper()
	err := r.DB.Read(r.Context(), func(ctx context.Context, tx *sqldb.Tx) error {
		rec, _, err := records.Reads{}.Get(ctx, tx, tenantA, "Quote", quote)
		status, _ = rec.Fields["Status"].(string)
		version = rec.Version
		return err
	})
	if err != nil {
		r.Fatal(err)
	}
	return status, version
}

// updates is how many RecordUpdated events there are of a record.
func (r *rig) updates(id string) (n int) {
	r.Helper()
	err := r.DB.Read(r.Context(), func(ctx context.Context, tx *sqldb.Tx) error {
		for row, err := range tx.Query(ctx, "SELECT body FROM outbox_events ORDER BY id") {
			var body []byte
			if err == nil {
				err = row.Scan(&body)
			}
			if err != nil {
				return err
			}
			if e, err := events.ParseEvent(body); err != nil {
				return err
			} else if e.Type == "RecordUpdated" && strings.HasSuffix(e.Key, id) {
				n++
			}
		}
		return nil
	})
	if err != nil {
		r.Fatal(err)
	}
	return n
}

// set writes the Status of a quote as sal.
func (r *rig) set(quote, status string) error {
	_, err := r.apply(as(sal), "Quote", records.Op{Kind: records.Update, ID: quote}, `{"Status":"`+status+`"}`)
	return err
}

// TestTheOutcomeIsWrittenIntoTheRecordOnce ends approvals in every way: core writes what the
// process says, when it takes the event and not again, and nobody comes in between.
func TestTheOutcomeIsWrittenIntoTheRecordOnce(t *testing.T) {
	onEvery(t, func(t *testing.T, r *rig) {
		r.staff()
		r.define(settling())
		for _, end := range []struct {
			status string
			do     func(id string)
		}{
			{"Approved", func(id string) { r.decide(mia, id, Approved) }},
			{"Rejected", func(id string) { r.decide(max, id, Rejected) }},
			{"Draft", func(id string) {
				if _, _, err := r.Recall(t.Context(), as(sal), id, "", nil); err != nil {
					t.Fatal(err)
				}
			}},
		} {
			quote := r.quote(`"Status":"In Review","DiscountPercent":10`)
			v := r.submit(quote)
			if err := r.set(quote, "Needs Review"); err != nil { // not locked as long as it is pending
				t.Error(err)
			}
			r.consistent()
			end.do(v.ID)
			if got, _ := r.status(quote); got != "Needs Review" {
				t.Errorf("%s: before core took the event it is %s", end.status, got)
			}
			for _, err := range []error{r.set(quote, "Presented"), r.discount(quote, "12")} {
				if codeOf(err) != records.CodeFieldLocked {
					t.Errorf("%s: in between: got %v", end.status, err)
				}
			}
			if _, _, err := r.Submit(t.Context(), as(sal), Order{Object: "Quote", RecordID: quote}, nil); codeOf(
				err) != CodeSettling {
				t.Errorf("%s: submitted in between: got %v", end.status, err)
			}
			if out := r.parsed(r.Get(t.Context(), as(sal), v.ID)).Outcome; out == nil || out.Status != OutcomeWaiting ||
				string(out.Fields["Status"]) != `"`+end.status+`"` {
				t.Errorf("%s: got %+v", end.status, out)
			}
			if found, err := r.Recount(t.Context(), tenantA); err != nil || len(found) != 2 ||
				!strings.Contains(strings.Join(found, " "), "its outcome is not written") {
				t.Errorf("%s: a recount finds %q (%v)", end.status, found, err)
			}
			before := r.updates(quote)
			r.deliver(2)
			got, version := r.status(quote)
			if got != end.status || r.updates(quote) != before+1 {
				t.Errorf("it is %s with %d more events, want %s", got, r.updates(quote)-before, end.status)
			}
			if out := r.parsed(r.Get(t.Context(), as(sal), v.ID)).Outcome; out == nil || out.Status != OutcomeWritten ||
				out.RecordVersion != version || out.Message != "" {
				t.Errorf("%s: got %+v", end.status, out)
			}
			r.consistent()
			if err := r.set(quote, "Presented"); err != nil {
				t.Error(err)
			}
			r.delivered = 0
			r.deliver(1) // all that ever were
			if got, _ := r.status(quote); got != "Presented" {
				t.Errorf("an old event wrote %s", got)
			}
			if err := r.discount(quote, "12"); err != nil {
				t.Error(err)
			}
			r.submit(quote)
		}
	})
}

// TestARefusedOutcomeNotifiesTheUsers has an outcome that the field cannot have any more.
func TestARefusedOutcomeNotifiesTheUsers(t *testing.T) {
	onEvery(t, func(t *testing.T, r *rig) {
		r.staff()
		r.define(settling())
		quote := r.quote(`"Status":"Draft","DiscountPercent":10`)
		v := r.submit(quote)
		status := *model.StandardField("Quote", "Status")
		status.Values = []string{"Draft", "Rejected"}
		r.define(model.Definition{Kind: model.KindField, ID: "Quote.Status", Value: &status})
		r.decide(mia, v.ID, Approved)
		r.deliver(2)
		out := r.parsed(r.Get(t.Context(), as(sal), v.ID)).Outcome
		if out == nil || out.Status != OutcomeRefused ||
			!strings.Contains(out.Message, "Status must be one of Draft, Rejected") || out.RecordVersion != 0 {
			t.Errorf("got %+v", out)
		}
		if got, _ := r.status(quote); got != "Draft" {
			t.Errorf("it is %s", got)
		}
		r.consistent()
		if err := r.discount(quote, "12"); err != nil {
			t.Error(err)
		}
		r.define(restrict(FieldPermissions{"Quote.Status": {Read: true}}))
		out = r.parsed(r.Get(t.Context(), as(sal), v.ID)).Outcome
		if out == nil || len(out.Fields) != 0 || out.Message != "" {
			t.Errorf("who may not read the field sees %+v", out)
		}
	})
}

// TestAValidationRuleRefusesAnOutcome approves a quote that a rule does not let be approved:
// the decision stands, the record stays as it is and is free, those who think otherwise are
// told once, and the approval says why. Put right, it is submitted again.
func TestAValidationRuleRefusesAnOutcome(t *testing.T) {
	onEvery(t, func(t *testing.T, r *rig) {
		r.staff()
		r.define(settling(), model.Definition{Kind: model.KindValidationRule, ID: "v", Value: &model.ValidationRule{
			ID: "v", Name: "Expiry", Object: "Quote",
			Condition: `record.Status == "Approved" && record.ExpirationDate == null`,
			Message:   "An approved quote says until when it holds.", Field: "ExpirationDate", IsActive: true,
		}})
		quote := r.quote(`"Status":"Draft","DiscountPercent":10`)
		v := r.submit(quote)
		r.decide(mia, v.ID, Approved)
		before := r.updates(quote)
		r.deliver(2)
		got := r.parsed(r.Get(t.Context(), as(sal), v.ID))
		if out := got.Outcome; got.Status != Approved || out == nil || out.Status != OutcomeRefused ||
			!strings.Contains(out.Message, "An approved quote says until when it holds.") || out.RecordVersion != 0 {
			t.Errorf("got %s, %+v", got.Status, out)
		}
		if got := r.refusedOutcomes(); len(got) != 1 || got[0].SubmittedBy != sal || got[0].DecidedBy != mia ||
			got[0].RecordID != quote {
			t.Errorf("refused outcomes: %+v", got)
		}
		if status, _ := r.status(quote); status != "Draft" || r.updates(quote) != before {
			t.Errorf("it is %s after %d changes", status, r.updates(quote)-before)
		}
		r.consistent()
		if err := r.discount(quote, "12"); err != nil { // what was locked
			t.Error(err)
		}
		if err := r.set(quote, "In Review"); err != nil { // and what the outcome is about
			t.Error(err)
		}
		if _, err := r.apply(as(sal), "Quote", records.Op{Kind: records.Update, ID: quote},
			`{"ExpirationDate":"2026-12-31"}`); err != nil {
			t.Fatal(err)
		}
		again := r.submit(quote)
		r.decide(mia, again.ID, Approved)
		r.delivered = 0
		r.deliver(1) // all that ever were: what was refused stays so
		if status, _ := r.status(quote); status != "Approved" || len(r.refusedOutcomes()) != 1 {
			t.Errorf("submitted again it is %s, and %d outcomes were refused", status, len(r.refusedOutcomes()))
		}
		if out := r.parsed(r.Get(t.Context(), as(sal), v.ID)).Outcome; out == nil || out.Status != OutcomeRefused {
			t.Errorf("the first one: %+v", out)
		}
		r.consistent()
	})
}

// TestARecordThatIsLockedSaysWhatIsTrue deletes a record while its approval is pending, and
// when it is decided and core has not written the outcome yet.
func TestARecordThatIsLockedSaysWhatIsTrue(t *testing.T) {
	onEvery(t, func(t *testing.T, r *rig) {
		r.staff()
		r.define(settling())
		quote := r.quote(`"DiscountPercent":10`)
		v := r.submit(quote)
		remove := func() error {
			_, err := r.apply(as(sal), "Quote", records.Op{Kind: records.Delete, ID: quote}, "")
			return err
		}
		refused := func(when string) {
			t.Helper()
			err := remove()
			if codeOf(err) != records.CodeLocked || !strings.Contains(err.Error(), v.ID) {
				t.Fatalf("%s: got %v", when, err)
			}
			if strings.Contains(err.Error(), "not decided yet") || !strings.Contains(err.Error(), "outcome") {
				t.Errorf("%s: got %v, want what holds in both states", when, err)
			}
		}
		refused("pending")
		r.decide(mia, v.ID, Approved)
		refused("decided")
		r.deliver(1)
		if err := remove(); err != nil {
			t.Errorf("when the outcome is written: %v", err)
		}
	})
}
