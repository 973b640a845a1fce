package automation_test

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"renga.dev/renga/internal/crm/automation"
	"renga.dev/renga/internal/crm/kit"
	"renga.dev/renga/internal/crm/metadata"
	"renga.dev/renga/internal/crm/model"
	"renga.dev/renga/internal/crm/records"
	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/platform/sqldb"
)

const other = "00000000-0000-4000-8000-00000000000b"

// TestTenantsThatShareUserIDsShareNothingElse has the same users, roles, groups and rules by
// id in two tenants: callers choose these ids. Nobody reads or closes what is the other's.
func TestTenantsThatShareUserIDsShareNothingElse(t *testing.T) {
	t.Parallel()
	onEvery(t, func(t *testing.T, r *rig) {
		role := id(7)
		for _, of := range []string{tenant, other} {
			r.settle(of, role)
		}
		r.quiet()
		mine := func(of string) (tasks, notes []string) {
			t.Helper()
			c := kit.Caller{Tenant: of, Subject: ann}
			page, total, err := r.auto.Tasks(t.Context(), c, automation.TaskOpen, 0, 100)
			if err != nil || total != len(page) {
				t.Fatal(total, len(page), err)
			}
			for _, task := range page {
				tasks = append(tasks, task.ID)
				if task.Message != "of "+of {
					t.Errorf("a user of %s has the task %+v", of, task)
				}
			}
			inbox, total, err := r.auto.Inbox(t.Context(), c, true, 0, 100)
			if err != nil || total != len(inbox) {
				t.Fatal(total, len(inbox), err)
			}
			for _, note := range inbox {
				notes = append(notes, note.ID)
				if note.Message != "of "+of {
					t.Errorf("a user of %s was notified %+v", of, note)
				}
			}
			return tasks, notes
		}
		tasks, notes := mine(tenant)
		others, notified := mine(other)
		if len(tasks) != 3 || len(others) != 3 || len(notes) != 1 || len(notified) != 1 {
			t.Fatalf("%d and %d tasks, %d and %d notes; want 3 and 1 each", len(tasks), len(others), len(notes),
				len(notified))
		}
		stranger := kit.Caller{Tenant: tenant, Subject: ann}
		for _, task := range others {
			if _, err := r.auto.Complete(t.Context(), stranger, task); fault.KindOf(err) != fault.NotFound {
				t.Errorf("closing a task of another tenant: %v", err)
			}
		}
		if _, err := r.auto.MarkRead(t.Context(), stranger, notified[0]); fault.KindOf(err) != fault.NotFound {
			t.Errorf("reading a note of another tenant: %v", err)
		}
		for _, task := range tasks {
			if _, err := r.auto.Complete(t.Context(), stranger, task); err != nil {
				t.Error(err)
			}
		}
		if _, err := r.auto.MarkRead(t.Context(), stranger, notes[0]); err != nil {
			t.Error(err)
		}
		if left, unread := mine(other); !slices.Equal(left, others) || !slices.Equal(unread, notified) {
			t.Errorf("the other tenant has %q and %q left, want %q and %q", left, unread, others, notified)
		}
		if done, total, err := r.auto.Tasks(t.Context(), kit.Caller{Tenant: other, Subject: ann},
			automation.TaskDone, 0, 100); err != nil || total != 0 {
			t.Errorf("the other tenant has done %+v, %v", done, err)
		}
		for of, want := range map[string]string{tenant: "of " + tenant, other: "of " + other} {
			runs, total, err := r.auto.Runs(t.Context(), of, automation.RunQuery{RuleID: id(100), Limit: 100})
			if err != nil || total != 4 {
				t.Errorf("%s has %d runs, %v", of, total, err)
			}
			for i := range runs {
				if runs[i].RuleName != want {
					t.Errorf("%s shows the run %+v", of, runs[i])
				}
			}
		}
	})
}

// settle defines a user, its role and group, and a rule for each of them, in a tenant, and
// lets the rule act once.
func (r *rig) settle(of, role string) {
	r.Helper()
	set := id(9)
	for _, d := range []struct {
		kind     model.Kind
		id, body string
	}{
		{model.KindPermissionSet, set, `{"name":"all","modifyAll":true,"objects":{}}`},
		{model.KindRole, role, `{"name":"Desk"}`},
		{model.KindUser, ann, fmt.Sprintf(`{"name":"Ann","roleId":%q,"permissionSetIds":[%q],"isActive":true}`, role,
			set)},
		{model.KindGroup, team, fmt.Sprintf(`{"name":"Team","type":"queue","members":[{"type":"User","id":%q}]}`, ann)},
		{
			model.KindWorkflowRule, id(100),
			fmt.Sprintf(`{"name":%[1]q,"object":"Account","on":["create"],"when":"after","condition":"true","actions":[
			{"key":"u","type":"createTask","to":{"type":"User","id":%[2]q},"message":%[1]q},{"key":"r",
			"type":"createTask","to":{"type":"Role","id":%[3]q},"message":%[1]q},
			{"key":"g","type":"createTask","to":{"type":"Group","id":%[4]q},"message":%[1]q},{"key":"n",
			"type":"notify","to":{"type":"User","id":%[2]q},"message":%[1]q}]}`,
				"of "+of, ann, role, team),
		},
	} {
		change := metadata.Change{Tenant: of, Kind: d.kind, ID: d.id, Actor: "test", CorrelationID: "test"}
		if _, _, err := r.metadata.Put(r.Context(), change, []byte(d.body)); err != nil {
			r.Fatal(err)
		}
	}
	op := records.Op{Kind: records.Create, Fields: map[string]jsontext.Value{"Name": jsontext.Value(`"Acme"`)}}
	_, _, err := r.records.Apply(r.Context(), records.Caller{Tenant: of, CorrelationID: "test"},
		records.Batch{Object: "Account", Ops: []records.Op{op}, AllOrNone: true},
		func([]records.Result) ([]byte, error) { return []byte("{}"), nil })
	if err != nil {
		r.Fatal(err)
	}
}

// TestTenantsTakeTurnsWithTheirJobs has a tenant with more jobs than are looked at together,
// which wait longer than the one of another tenant.
func TestTenantsTakeTurnsWithTheirJobs(t *testing.T) {
	t.Parallel()
	onEvery(t, func(t *testing.T, r *rig) {
		const many = 150
		err := r.db.Write(t.Context(), sqldb.Other, func(ctx context.Context, tx *sqldb.Tx) error {
			for n := range 2*many + 2 {
				of, at := tenant, n
				if n >= 2*many {
					of, at = other, 1000+n
				}
				if _, err := tx.Exec(ctx,
					`INSERT INTO automation_job (tenant_id, job_id, cron, time_zone, next_at, fired_at, missed,
					started_at, ended_at, running, place, seen, matched, failed)
					VALUES ($1, $2, '', 'UTC', $3, 0, 0, $3, 0, $4, '', 0, 0, 0)`, of, id(n), 1+at, n%2); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		due, running, err := r.auto.Seen(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for what, got := range map[string][]string{"due": automation.TenantsOf(due), "running": automation.TenantsOf(
			running)} {
			if len(got) != 11 || got[0] != tenant || got[1] != other || slices.Contains(got[2:], other) {
				t.Errorf("%s: got jobs of %q, want ten of one tenant, and that of the other second", what, got)
			}
		}
	})
}
