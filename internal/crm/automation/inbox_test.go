package automation_test

import (
	"context"
	"strings"
	"testing"

	"renga.dev/renga/internal/crm/automation"
	"renga.dev/renga/internal/crm/kit"
	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/platform/sqldb"
	"renga.dev/renga/internal/platform/sqldb/sqltest"
)

func TestNotesAreReadAndTasksAreDoneByWhomTheyAreFor(t *testing.T) {
	t.Parallel()
	onEvery(t, func(t *testing.T, r *rig) {
		r.rule(
			100,
			"All",
			"Account",
			`["create"]`,
			"",
			`[{"key":"n","type":"notify","message":"Look."},{"key":"mine","type":"createTask","message":"Mine.",
				"dueDays":2},
			{"key":"ours","type":"createTask","to":{"type":"Group","id":"`+team+`"},"message":"Ours.","dueDays":1}]`,
		)
		r.create("Account", `{"Name":"A"}`)
		r.quiet()
		as := func(user string) kit.Caller { return kit.Caller{Tenant: tenant, Subject: user} }
		notes, _, err := r.auto.Inbox(t.Context(), as(ann), true, 0, 10)
		if err != nil || len(notes) != 1 {
			t.Fatal(notes, err)
		}
		if _, err := r.auto.MarkRead(t.Context(), as(ben), notes[0].ID); fault.KindOf(err) != fault.NotFound {
			t.Errorf("ben reads ann's: %v", err)
		}
		first, err := r.auto.MarkRead(t.Context(), as(ann), notes[0].ID)
		r.clock.Add(1000)
		again, err2 := r.auto.MarkRead(t.Context(), as(ann), notes[0].ID)
		if err != nil || err2 != nil || first.ReadAt == 0 || first != again {
			t.Errorf("%v %v, %v %v", first, err, again, err2)
		}
		if unread, total, err := r.auto.Inbox(t.Context(), as(ann), true, 0, 10); len(unread) != 0 || total != 0 ||
			err != nil {
			t.Errorf("unread: %v %d %v", unread, total, err)
		}
		tasks := func(user, status string) (texts []string) {
			page, total, err := r.auto.Tasks(t.Context(), as(user), status, 0, 10)
			if err != nil || total != len(page) {
				t.Fatal(total, err)
			}
			for i := range page {
				texts = append(texts, page[i].Message+" "+page[i].DueOn+" "+page[i].ID)
			}
			return texts
		}
		anns, bens := tasks(ann, automation.TaskOpen), tasks(ben, automation.TaskOpen)
		if len(anns) != 2 || len(bens) != 1 || !strings.HasPrefix(anns[0], "Ours. 2026-01-11 ") ||
			!strings.HasPrefix(anns[1], "Mine. 2026-01-12 ") || bens[0] != anns[0] {
			t.Fatalf("ann has %q, ben %q", anns, bens)
		}
		mine, ours := anns[1][len("Mine. 2026-01-12 "):], anns[0][len("Ours. 2026-01-11 "):]
		if _, err := r.auto.Complete(t.Context(), as(ben), mine); fault.KindOf(err) != fault.NotFound {
			t.Errorf("ben does ann's: %v", err)
		}
		if r.db.Dialect() == sqldb.Postgres { // who comes second sees what the first did, also at the same time
			waits, err := sqltest.During(t, r.db, func(ctx context.Context, tx *sqldb.Tx) error {
				_, err := tx.Exec(ctx, "UPDATE automation_task SET done_at = 1, done_by = $3 WHERE tenant_id = $1 "+
					"AND id = $2", tenant, ours, ben)
				return err
			}, func() error {
				_, err := r.auto.Complete(t.Context(), as(ann), ours)
				return err
			})
			if !waits || fault.KindOf(err) != fault.Conflict {
				t.Errorf("ann does it while ben does: she waits: %t, %v; want a conflict", waits, err)
			}
		}
		for range 2 {
			if done, err := r.auto.Complete(t.Context(), as(ben), ours); err != nil || done.DoneBy != ben {
				t.Error(done, err)
			}
		}
		if _, err := r.auto.Complete(t.Context(), as(ann), ours); fault.KindOf(err) != fault.Conflict {
			t.Errorf("ann does it too: %v", err)
		}
		if left, done := tasks(ann, automation.TaskOpen), tasks(ann, automation.TaskDone); len(left) != 1 ||
			len(done) != 1 {
			t.Errorf("left %q, done %q", left, done)
		}
		r.sound()
		r.clock.Add(400 * 24 * 3600 * 1000)
		if err := r.auto.Retain(t.Context()); err != nil {
			t.Fatal(err)
		}
		if left, done, runs := tasks(ann, automation.TaskOpen), tasks(ann, automation.TaskDone),
			r.runs(automation.RunQuery{}); len(left) != 1 || len(done) != 0 || len(runs) != 0 ||
			len(r.inbox(ann)) != 0 {
			t.Errorf("after a year: open %q, done %q, runs %q", left, done, runs)
		}
	})
}
