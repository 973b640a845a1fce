package automation_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"

	"renga.dev/renga/internal/crm/automation"
	"renga.dev/renga/internal/crm/model"
	"renga.dev/renga/internal/platform/sqldb"
)

// costly is a condition that is false after some thousands of steps; with another number it
// is another text.
func costly(n int) string {
	const list = "[1, 2, 3, 4, 5, 6, 7, 8, 9, 10]"
	return fmt.Sprintf("%s.exists(a, %s.exists(b, %s.exists(c, a + b + c == %d))) && record.Name == ''", list, list,
		list, 1_000+n)
}

// Events that are taken together share a budget; when that is not enough each has its own.
func TestCostlyRulesAfterASaveAreADeadLetterThatNamesThem(t *testing.T) {
	t.Parallel()
	onEvery(t, func(t *testing.T, r *rig) {
		for i := range 4 {
			r.rule(100+i, fmt.Sprintf("Fits %d", i), "Account", `["create"]`, costly(i),
				`[{"key":"k","type":"notify","message":"m"}]`)
		}
		r.rule(110, "Tell", "Account", `["create"]`, "", `[{"key":"k","type":"notify","message":"m"}]`)
		for i := range 40 {
			r.rule(200+i, fmt.Sprintf("Costly %d", i), "Contact", `["create"]`, costly(i),
				`[{"key":"k","type":"notify","message":"m"}]`)
		}
		for range 20 {
			r.create("Account", `{"Name":"A"}`)
		}
		r.create("Contact", `{"LastName":"C"}`)
		r.quiet()
		letters := r.dead()
		if len(letters) != 1 || !strings.HasPrefix(letters[0], model.CodeCostly) ||
			!strings.Contains(letters[0], `workflow rule "Costly`) {
			t.Errorf("got %q, want one that names a rule", letters)
		}
		if n := len(r.inbox(ann)); n != 20 {
			t.Errorf("ann was notified %d times, want 20", n)
		}
	})
}

// A job on records whose rules are costly takes as many at a time as there are steps for.
func TestAJobTakesFewerRecordsWhenTheirRulesAreCostly(t *testing.T) {
	t.Parallel()
	onEvery(t, func(t *testing.T, r *rig) {
		r.at("2026-01-10T12:00:00Z")
		for range 30 {
			r.create("Account", `{"Name":"A"}`)
		}
		for i := range 2 {
			r.define(model.KindValidationRule, id(300+i),
				fmt.Sprintf(`{"name":"V%d","object":"Account","condition":%q,"message":"Never."}`, i, costly(i)))
		}
		r.job(
			50,
			"Nightly",
			"30 9 * * *",
			"Asia/Tokyo",
			`"object":"Account","condition":"record.Name == 'A'","actions":[{"key":"rate","type":"updateField",
				"field":"Rating","value":"Warm"}]`,
		)
		r.at("2026-01-11T00:30:01Z")
		r.work()
		r.quiet()
		if last := r.show(50).Last; last == nil || last.Seen != 30 || last.Matched != 30 || last.Failed != 0 ||
			last.EndedAt == 0 {
			t.Errorf("got %+v", last)
		}
	})
}

// The groups of tests about notes, and the first of the users in them.
var crowd, desk, guest = id(700), id(701), 10_000

// crowds defines so many users, a group of all of them, and one of the first 150.
func (r *rig) crowds(n int) {
	r.Helper()
	members := make([]string, n)
	err := r.db.Write(r.Context(), sqldb.Other, func(ctx context.Context, tx *sqldb.Tx) error {
		for i := range n {
			user := model.User{ID: id(guest + i), Name: fmt.Sprint("Guest ", i), IsActive: true}
			members[i] = fmt.Sprintf(`{"type":"User","id":%q}`, user.ID)
			body, err := json.Marshal(&user)
			if err != nil {
				return err
			}
			_, err = tx.Exec(
				ctx,
				`INSERT INTO metadata_definition (tenant_id, kind, id, body, revision) VALUES ($1, $2, $3, $4, 1)`,
				tenant,
				string(model.KindUser),
				user.ID,
				string(body),
			)
			if err != nil {
				return err
			}
		}
		_, err := tx.Exec(
			ctx,
			"UPDATE metadata_tenant SET revision = revision + 1, stamp = 'guests' WHERE tenant_id "+
				"= $1",
			tenant,
		)
		return err
	})
	if err != nil {
		r.Fatal(err)
	}
	for group, some := range map[string][]string{crowd: members, desk: members[:150]} {
		r.define(model.KindGroup, group, `{"name":"G","type":"public","members":[`+strings.Join(some, ",")+`]}`)
	}
}

// telling are so many actions that notify a group.
func telling(n int, group string) string {
	all := make([]string, n)
	for i := range all {
		all[i] = fmt.Sprintf(`{"key":"k%02d","type":"notify","message":"m","to":{"type":"Group","id":%q}}`, i, group)
	}
	return "[" + strings.Join(all, ",") + "]"
}

// notes counts what is in all inboxes.
func (r *rig) notes() (n int) {
	r.Helper()
	if err := r.db.Read(r.Context(), func(ctx context.Context, tx *sqldb.Tx) error {
		return tx.Row(ctx, "SELECT count(*) FROM automation_note").Scan(&n)
	}); err != nil {
		r.Fatal(err)
	}
	return n
}

// One action may tell as many users as an action tells; actions of an event that together tell
// more than there is room for in a transaction are refused, and events that were taken together
// are taken one by one.
func TestAnEventThatNotifiesTooManyUsersIsADeadLetterThatNamesTheRule(t *testing.T) {
	t.Parallel()
	onEvery(t, func(t *testing.T, r *rig) {
		r.crowds(automation.MaxRecipients)
		r.rule(100, "All", "Account", `["create"]`, "", telling(1, crowd))
		r.rule(101, "Loud", "Contact", `["create"]`, "", telling(3, crowd))
		r.rule(102, "Desk", "Lead", `["create"]`, "", telling(1, desk))
		r.create("Account", `{"Name":"A"}`)
		r.create("Contact", `{"LastName":"C"}`)
		r.quiet()
		letters := r.dead()
		if len(letters) != 1 || !strings.HasPrefix(letters[0], model.CodeCostly) ||
			!strings.Contains(letters[0], `rule "Loud"`) {
			t.Errorf("got %q, want one that names the rule", letters)
		}
		if got := r.notes(); got != automation.MaxRecipients {
			t.Errorf("%d notes, want those of the first event, %d", got, automation.MaxRecipients)
		}
		const leads = 20
		for range leads {
			r.create("Lead", `{"LastName":"L","Company":"X","Status":"Open - Not Contacted"}`)
		}
		r.quiet()
		if got := r.notes(); got != automation.MaxRecipients+150*leads {
			t.Errorf("%d notes, want %d", got, automation.MaxRecipients+150*leads)
		}
		r.sound()
	})
}

// A job takes as many records at a time as there is room for the notes about them. Actions that
// have no room even on one record fail by themselves.
func TestAJobThatNotifiesManyTakesFewerRecords(t *testing.T) {
	t.Parallel()
	onEvery(t, func(t *testing.T, r *rig) {
		r.at("2026-01-10T12:00:00Z")
		r.crowds(automation.MaxRecipients)
		for range 30 {
			r.create("Account", `{"Name":"A"}`)
		}
		for range 2 {
			r.create("Contact", `{"LastName":"C"}`)
		}
		r.job(50, "Desk", "30 9 * * *", "UTC", `"object":"Account","actions":`+telling(1, desk))
		r.job(51, "Loud", "30 10 * * *", "UTC", `"object":"Contact","actions":`+telling(3, crowd))
		for _, at := range []string{"2026-01-11T09:30:01Z", "2026-01-11T10:30:01Z"} {
			r.at(at)
			for before := r.notes(); ; {
				worked, err := r.auto.Step(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				now := r.notes()
				if now-before > automation.MaxNotes {
					t.Errorf("%d notes at once, want at most %d", now-before, automation.MaxNotes)
				}
				if before = now; !worked {
					break
				}
			}
		}
		if last := r.show(50).Last; last.Seen != 30 || last.Matched != 30 || last.Failed != 0 || last.EndedAt == 0 {
			t.Errorf("got %+v", last)
		}
		loud := r.show(51).Last
		if loud.Seen != 2 || loud.Matched != 2 || loud.Failed != 2 || loud.EndedAt == 0 {
			t.Errorf("got %+v", loud)
		}
		page, _, err := r.auto.Runs(t.Context(), tenant, automation.RunQuery{
			EventID: loud.EventID,
			Outcome: automationFailed(t), Limit: 10,
		})
		if err != nil || len(page) != 2 || page[0].ActionKey != "k02" || !strings.Contains(page[0].Error,
			`job "Loud" cannot tell 1000 users`) {
			t.Errorf("got %+v %v, want the third action of both", page, err)
		}
		if got, want := r.notes(), 30*150+2*2*automation.MaxRecipients; got != want {
			t.Errorf("%d notes, want %d", got, want)
		}
		r.sound()
	})
}
