package automation_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"renga.dev/renga/internal/crm/automation"
	"renga.dev/renga/internal/crm/model"
	"renga.dev/renga/internal/crm/records"
	"renga.dev/renga/internal/platform/events"
	"renga.dev/renga/internal/platform/sqldb"
)

// TestAutomationConsumesExactlyWhatTheDocumentListsForIt has the column of Automation of
// the document's lists of subscribers, sections 4.1 to 4.20.
func TestAutomationConsumesExactlyWhatTheDocumentListsForIt(t *testing.T) {
	want := []string{
		"ApprovalDecided", "ApprovalSubmitted", "AutomationConfigChanged", "CampaignMemberChanged", "LeadConverted",
		"MetadataChanged",
		"OwnerChanged", "RecordCreated", "RecordDeleted", "RecordUpdated", "StageChanged",
	}
	c := automation.New(nil, automation.Config{}).Consumer()
	if got := slices.Sorted(slices.Values(c.Types)); !slices.Equal(got, want) || c.Name != "automation" ||
		c.Stream != events.Events {
		t.Errorf("got %s on %v: %v", c.Name, c.Stream, got)
	}
}

const allActions = `[{"key":"tell","type":"notify","message":"Look."},{"key":"team","type":"notify",
	"to":{"type":"Group","id":"%[1]s"},"message":"All of you."},
	{"key":"todo","type":"createTask","to":{"type":"Group","id":"%[1]s"},"message":"Call them.","dueDays":3},
	{"key":"rate","type":"updateField","field":"Rating","value":"Hot"},{"key":"phone","type":"updateField",
	"field":"Phone","value":"1"},
	{"key":"go","type":"startGraph","graphId":"greet"}]`

func TestEveryActionIsDoneOnceForAnEvent(t *testing.T) {
	t.Parallel()
	onEvery(t, func(t *testing.T, r *rig) {
		r.graph("greet")
		r.twice.Store(true)
		r.rule(100, "Welcome", "Account", `["create"]`, `record.Name != "quiet"`, fmt.Sprintf(allActions, team))
		r.rule(101, "Off", "Account", `["update","delete"]`, "",
			`[{"key":"k","type":"createTask","message":"Changed."}]`)
		acme := r.create("Account", `{"Name":"Acme"}`)
		r.create("Account", `{"Name":"quiet"}`)
		r.quiet()
		r.work()
		want := []string{
			"Welcome/go startGraph DONE", "Welcome/phone updateField DONE", "Welcome/rate updateField DONE",
			"Welcome/team notify DONE",
			"Welcome/tell notify DONE", "Welcome/todo createTask DONE", "Off/k createTask DONE",
		}
		got := r.runs(automation.RunQuery{RecordID: acme.ID})
		slices.Sort(got)
		slices.Sort(want)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
		if r.field(acme, "Rating") != "Hot" || r.field(acme, "Phone") != "1" {
			t.Error("the fields were not written")
		}
		entries, _, err := r.records.History(t.Context(), records.Caller{Tenant: tenant}, "Account", acme.ID, 0, 10)
		if err != nil || len(entries) != 2 || entries[0].UserID != model.SystemUser(tenant) {
			t.Errorf("one change of both fields by the system: %v %v", entries, err)
		}
		if got := r.inbox(ann); !slices.Equal(got, []string{"Look.", "All of you."}) {
			t.Errorf("ann was notified %q", got)
		}
		if got := r.inbox(ben); !slices.Equal(got, []string{"All of you."}) {
			t.Errorf("ben was notified %q", got)
		}
		if n := r.executions(); n != 1 {
			t.Errorf("%d executions, want 1", n)
		}
		r.work()
		r.sound()
	})
}

func TestARecountFindsNotesThatAreMissingOrTooMany(t *testing.T) {
	t.Parallel()
	onEvery(t, func(t *testing.T, r *rig) {
		r.rule(
			100,
			"Tell",
			"Account",
			`["create"]`,
			"",
			fmt.Sprintf(
				`[{"key":"all","type":"notify","to":{"type":"Group","id":%q},"message":"All of you."}]`,
				team,
			),
		)
		first, second := r.create("Account", `{"Name":"A"}`), r.create("Account", `{"Name":"B"}`)
		r.create("Account", `{"Name":"C"}`)
		r.quiet()
		r.sound()
		err := r.db.Write(t.Context(), sqldb.Other, func(ctx context.Context, tx *sqldb.Tx) error {
			_, err := tx.Exec(ctx, "DELETE FROM automation_note WHERE record_id = $1", first.ID)
			if err == nil {
				_, err = tx.Exec(
					ctx,
					"UPDATE automation_note SET user_id = 'x', record_id = $1 WHERE record_id = $2 "+
						"AND user_id = $3",
					first.ID,
					second.ID,
					ann,
				)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		differences, err := r.auto.Recount(t.Context(), tenant)
		if err != nil || len(differences) != 2 || !strings.HasPrefix(differences[0],
			"an action notified other users than it says: ") {
			t.Errorf("got %q %v", differences, err)
		}
	})
}

func TestEffectsOfATransactionThatIsLostAreDoneAgainOnce(t *testing.T) {
	t.Parallel()
	onEvery(t, func(t *testing.T, r *rig) {
		r.graph("greet")
		r.rule(100, "Welcome", "Account", `["create"]`, "", fmt.Sprintf(allActions, team))
		r.quiet()
		r.lossy.Store(true)
		acme := r.create("Account", `{"Name":"Acme"}`)
		r.quiet()
		r.work()
		if got := r.runs(automation.RunQuery{RecordID: acme.ID}); len(got) != 6 {
			t.Errorf("got %q", got)
		}
		if got := r.inbox(ann); !slices.Equal(got, []string{"Look.", "All of you."}) || r.executions() != 1 {
			t.Errorf("ann was notified %q, %d executions", got, r.executions())
		}
		r.sound()
	})
}

func TestAGraphThatCannotBeStartedIsNotedAndTheOthersAreStarted(t *testing.T) {
	t.Parallel()
	onSQLite(t, func(t *testing.T, r *rig) {
		r.graph("greet")
		r.rule(
			100,
			"A",
			"Account",
			`["create"]`,
			"",
			`[{"key":"none","type":"startGraph","graphId":"nothing"},{"key":"some","type":"startGraph",
				"graphId":"greet"}]`,
		)
		r.create("Account", `{"Name":"Acme"}`)
		r.quiet()
		if got := r.runs(automation.RunQuery{}); !slices.Equal(got, []string{
			"A/none startGraph PENDING",
			"A/some startGraph PENDING",
		}) {
			t.Errorf("before they are started: %q", got)
		}
		r.work()
		if got := r.runs(automation.RunQuery{}); !slices.Equal(got, []string{
			"A/none startGraph FAILED",
			"A/some startGraph DONE",
		}) || r.executions() != 1 {
			t.Errorf("%q, %d executions", got, r.executions())
		}
		page, _, err := r.auto.Runs(t.Context(), tenant, automation.RunQuery{Limit: 10})
		if err != nil || page[0].ExecutionID == "" || !strings.Contains(page[1].Error, "nothing") {
			t.Errorf("got %+v %v", page, err)
		}
	})
}

func TestRulesSeeTheRecordAsTheEventLeftIt(t *testing.T) {
	t.Parallel()
	onSQLite(t, func(t *testing.T, r *rig) {
		v := r.create("Opportunity", `{"Name":"D","StageName":"Prospecting","CloseDate":"2026-02-28","Amount":1}`)
		for amount := 2; amount <= 6; amount++ { // all before the rule is there, so all are late
			v = r.update(v, fmt.Sprintf(`{"Amount":%d}`, amount))
		}
		r.quiet()
		r.rule(100, "Three", "Opportunity", `["update"]`, "record.Amount == 3 && old.Amount == 2",
			`[{"key":"k","type":"notify","to":{"type":"User","id":"`+ben+`"},"message":"3"}]`)
		r.replay("RecordUpdated")
		if got := r.inbox(ben); !slices.Equal(got, []string{"3"}) {
			t.Errorf("got %q", got)
		}
		r.save("Opportunity", records.Op{Kind: records.Delete, ID: v.ID}, `{}`)
		r.rule(101, "Gone", "Opportunity", `["delete"]`, "record.Amount == 6",
			`[{"key":"k","type":"notify","to":{"type":"User","id":"`+ben+`"},"message":"gone"}]`)
		r.replay("RecordDeleted")
		r.replay("RecordUpdated")
		if got := r.inbox(ben); !slices.Equal(got, []string{"3", "gone"}) {
			t.Errorf("got %q", got)
		}
	})
}

// replay hands all events of a type to the handler again, the newest first.
func (r *rig) replay(kind string) {
	r.Helper()
	var batch []events.Event
	err := r.db.Read(r.Context(), func(ctx context.Context, tx *sqldb.Tx) error {
		batch = nil
		for row, err := range tx.Query(ctx, "SELECT body FROM outbox_events WHERE event_type = $1 ORDER BY id DESC",
			kind) {
			var body []byte
			if err == nil {
				err = row.Scan(&body)
			}
			if err != nil {
				return err
			}
			e, err := events.ParseEvent(body)
			if err != nil {
				return err
			}
			batch = append(batch, e)
		}
		return nil
	})
	if err != nil || len(batch) == 0 {
		r.Fatal(len(batch), err)
	}
	handle := r.auto.Consumer().Handle
	for i := range batch {
		if err := r.db.Write(r.Context(), sqldb.Other, func(ctx context.Context, tx *sqldb.Tx) error {
			return handle(ctx, tx, &batch[i])
		}); err != nil {
			r.Fatal(err)
		}
	}
}

func TestRulesThatSetEachOtherOffEndAsADeadLetterWithTheChain(t *testing.T) {
	t.Parallel()
	onEvery(t, func(t *testing.T, r *rig) {
		r.rule(100, "Ping", "Account", `["update"]`, `record.Phone == "1"`,
			`[{"key":"a","type":"updateField","field":"Phone","value":"2"}]`)
		r.rule(101, "Pong", "Account", `["update"]`, `record.Phone == "2"`,
			`[{"key":"b","type":"updateField","field":"Phone","value":"1"}]`)
		loop := r.create("Account", `{"Name":"Loop"}`)
		other := r.create("Account", `{"Name":"Other"}`)
		r.update(loop, `{"Phone":"1"}`)
		r.quiet()
		letters := r.dead()
		if len(letters) != 1 || !strings.HasPrefix(letters[0], automation.CodeLoop) {
			t.Fatalf("got %q", letters)
		}
		last := 0
		for n, link := range []string{
			`rule "Ping" did a`, `rule "Pong" did b`, `rule "Ping" did a`,
			`rule "Pong" did b`, `rule "Ping" did a`, `rule "Pong" did b`, `rule "Ping" would do a`,
		} {
			at := strings.Index(letters[0][last:], link)
			if at < 0 {
				t.Fatalf("link %d, %s, is not in %s", n, link, letters[0])
			}
			last += at + len(link)
		}
		if n := len(r.runs(automation.RunQuery{RecordID: loop.ID})); n != automation.MaxDepth+1 {
			t.Errorf("%d actions were done, want %d", n, automation.MaxDepth+1)
		}
		r.update(other, `{"Phone":"3"}`) // others go on
		r.quiet()
		if letters := r.dead(); len(letters) != 1 {
			t.Errorf("got %q", letters)
		}
		many := make([]string, 20)
		for i := range many {
			many[i] = fmt.Sprintf(`{"key":"n%d","type":"notify","message":"m"}`, i)
		}
		for n := range 6 {
			r.rule(200+n, fmt.Sprint("Many ", n), "Account", `["delete"]`, "", "["+strings.Join(many, ",")+"]")
		}
		r.save("Account", records.Op{Kind: records.Delete, ID: other.ID}, `{}`)
		r.quiet()
		if letters := r.dead(); len(letters) != 2 || !strings.Contains(letters[1], "100 actions") {
			t.Errorf("got %q", letters)
		}
		r.sound()
	})
}

// dead are the dead letters: code and error.
func (r *rig) dead() (all []string) {
	r.Helper()
	err := r.db.Read(r.Context(), func(ctx context.Context, tx *sqldb.Tx) error {
		for row, err := range tx.Query(ctx, "SELECT reason_code || ' ' || error FROM bus_dead ORDER BY num") {
			var text string
			if err == nil {
				err = row.Scan(&text)
			}
			if err != nil {
				return err
			}
			all = append(all, text)
		}
		return nil
	})
	if err != nil {
		r.Fatal(err)
	}
	return all
}

func TestAnActionThatIsRefusedIsADeadLetterAndLeavesNothingBehind(t *testing.T) {
	t.Parallel()
	onSQLite(t, func(t *testing.T, r *rig) {
		r.define(model.KindValidationRule, id(300),
			`{"name":"V","object":"Account","condition":"record.Phone == \"9\"","message":"Not 9.","field":"Phone"}`)
		r.rule(
			100,
			"Bad",
			"Account",
			`["create"]`,
			"",
			`[{"key":"a","type":"notify","message":"hello"},{"key":"b","type":"updateField","field":"Phone",
				"value":"9"}]`,
		)
		v := r.create("Account", `{"Name":"A"}`)
		r.quiet()
		if letters := r.dead(); len(letters) != 1 || !strings.HasPrefix(letters[0], "VALIDATION_FAILED ") ||
			!strings.Contains(letters[0], "Not 9.") {
			t.Errorf("got %q", letters)
		}
		if got := r.inbox(ann); len(got) != 0 {
			t.Errorf("ann was notified %q", got)
		}
		r.save("Account", records.Op{Kind: records.Delete, ID: v.ID}, `{}`)
		r.rule(101, "Late", "Account", `["create"]`, "",
			`[{"key":"b","type":"updateField","field":"Phone","value":"1"}]`)
		r.define(
			model.KindWorkflowRule,
			id(100),
			`{"name":"Bad","object":"Account","on":["create"],"when":"after","actions":[{"key":"a","type":"notify",
				"message":"hello"}],"isActive":false}`,
		)
		r.replay("RecordCreated") // the record is gone by now
		if got := r.runs(automation.RunQuery{}); !slices.Equal(got, []string{"Late/b updateField NOTHING"}) {
			t.Errorf("got %q", got)
		}
	})
}

func TestEventsNotifyTheUsersWhomTheyConcern(t *testing.T) {
	t.Parallel()
	onEvery(t, func(t *testing.T, r *rig) {
		opp := r.create("Opportunity", `{"Name":"D","StageName":"Prospecting","CloseDate":"2026-02-28"}`)
		opp = r.update(opp, `{"StageName":"Qualification"}`) // her own deed
		opp = r.save("Opportunity", records.Op{Kind: records.Update, ID: opp.ID, OwnerID: ben}, `{}`)
		r.update(opp, `{"StageName":"Closed Won"}`)
		lead := r.save("Lead", records.Op{Kind: records.Create, OwnerID: team},
			`{"LastName":"Li","Company":"X","Status":"Open - Not Contacted"}`)
		campaign := r.create("Campaign", `{"Name":"Spring"}`)
		caller := records.Caller{Tenant: tenant, Subject: ann, CorrelationID: "test"}
		responded := true
		if _, _, err := r.records.PutMember(t.Context(), caller, campaign.ID, "Lead", lead.ID,
			records.MemberDraft{}); err != nil {
			t.Fatal(err)
		}
		if _, _, err := r.records.PutMember(t.Context(), caller, campaign.ID, "Lead", lead.ID,
			records.MemberDraft{HasResponded: &responded}); err != nil {
			t.Fatal(err)
		}
		if _, _, err := r.records.Convert(t.Context(), caller, records.Conversion{LeadID: lead.ID},
			func(records.Converted) ([]byte, error) { return []byte("{}"), nil }); err != nil {
			t.Fatal(err)
		}
		target := events.ApprovalTarget{ObjectName: "Opportunity", RecordID: opp.ID}
		r.publish(events.ApprovalSubmitted{
			ApprovalInstanceID: id(70), Target: target, SubmittedBy: ann, SubmittedAt: 1,
			LockedFields: []string{},
		})
		r.publish(events.ApprovalDecided{
			ApprovalInstanceID: id(70), Target: target, Decision: "APPROVED", DecidedBy: ben,
			DecidedAt: 2,
		})
		r.quiet()
		want := map[string][]string{
			ann: {
				"A lead of yours responded to a campaign.",
				"What you submitted for approval was decided: approved.",
			},
			ben: {
				"A record of Opportunity was given to you.", "The stage of an opportunity of yours was changed.",
				"A lead of yours responded to a campaign.",
				"A lead of yours was converted.", "An approval waits for your decision.",
			},
		}
		for user, texts := range want {
			got := r.inbox(user)
			slices.Sort(got)
			slices.Sort(texts)
			if diff := cmp.Diff(texts, got); diff != "" {
				t.Errorf("%s: %s", user, diff)
			}
		}
		r.sound()
	})
}

// publish publishes an event of an approval.
func (r *rig) publish(p events.Payload) {
	r.Helper()
	body, err := events.NewPayload(p)
	if err != nil {
		r.Fatal(err)
	}
	err = r.db.Write(r.Context(), sqldb.Other, func(ctx context.Context, tx *sqldb.Tx) error {
		key := events.RecordKey("Approval", tenant, id(70))
		version, err := r.bus.NextVersion(ctx, tx, key)
		if err != nil {
			return err
		}
		return r.bus.Publish(ctx, tx, events.Event{
			Type: p.EventType(), OccurredAt: version, Tenant: tenant, Producer: events.Producer{Service: "approval"},
			CorrelationID: "test", Key: key, Version: version, Payload: body,
		})
	})
	if err != nil {
		r.Fatal(err)
	}
}

// TestARuleSeesWhatASensitiveFieldWas lets a rule act on an address that no event has: by
// the time of the event it is another one still.
func TestARuleSeesWhatASensitiveFieldWas(t *testing.T) {
	t.Parallel()
	onEvery(t, func(t *testing.T, r *rig) {
		r.rule(100, "Moved", "Lead", `["update"]`, `old.Email == "a@x.example" && record.Email == "b@x.example"`,
			`[{"key":"tell","type":"notify","message":"Moved."}]`)
		r.quiet()
		r.lossy.Store(true) // an event is handled again, mostly after the next address was saved
		lead := r.create(
			"Lead",
			`{"LastName":"L","Company":"C","Status":"Open - Not Contacted","Email":"a@x.example"}`,
		)
		lead = r.update(lead, `{"Email":"b@x.example"}`)
		r.update(lead, `{"Email":"c@x.example"}`)
		r.quiet()
		if got := r.inbox(ann); !slices.Equal(got, []string{"Moved."}) {
			t.Errorf("ann was notified %q, want that the first address became the second", got)
		}
		history, _, err := r.records.History(t.Context(), records.Caller{Tenant: tenant}, "Lead", lead.ID, 0, 10)
		if err != nil || len(history) != 3 || strings.Contains(fmt.Sprint(history), "example") {
			t.Errorf(
				"the history shows %s, %v; want that the field changed, not its values",
				fmt.Sprint(history),
				err,
			)
		}
	})
}
