package records

import (
	"context"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"renga.dev/renga/internal/crm/model"
	"renga.dev/renga/internal/platform/sqldb"
)

// put stores a record as it is.
func (r *rig) put(tenant, object, id, account, opportunity string, deletedAt int64) {
	r.Helper()
	r.Change(func(ctx context.Context, tx *sqldb.Tx) error {
		_, err := tx.Exec(
			ctx,
			`INSERT INTO records_record (tenant_id, object, id, owner_id, name, account_id, opportunity_id, fields,
			version, created_at, created_by, updated_at, updated_by, deleted_at)
			VALUES ($1, $2, $3, 'o', $3, $4, $5, $6, 7, 5, 'c', 6, 'u', $7)`,
			tenant,
			object,
			id,
			account,
			opportunity,
			`{"Amount":1.5,"IsWon":true,"Name":"`+id+`"}`,
			deletedAt,
		)
		return err
	})
}

func ids(records []model.Record) (all string) {
	for i := range records {
		all += records[i].Object + ":" + records[i].ID + " "
	}
	return all
}

func TestOtherServicesReadRecordsByPages(t *testing.T) {
	onEvery(t, func(t *testing.T, r *rig) {
		r.put(tenantA, "Account", "a1", "", "", 0)
		r.put(tenantA, "Account", "a2", "", "", 0)
		r.put(tenantA, "Account", "a3", "", "", 9)
		r.put(tenantB, "Account", "a4", "", "", 0)
		r.put(tenantA, "Contact", "c1", "a1", "", 0)
		r.put(tenantA, "Opportunity", "o1", "a1", "", 0)
		r.put(tenantA, "Quote", "q1", "a1", "o1", 0)
		r.put(tenantA, "Quote", "q2", "a1", "o1", 9)
		r.put(tenantB, "Quote", "q3", "a1", "o1", 0)
		r.Change(func(ctx context.Context, tx *sqldb.Tx) error {
			for _, user := range []string{"u1", "u2"} {
				_, err := tx.Exec(
					ctx,
					`INSERT INTO records_team (tenant_id, object, record_id, user_id, team_role, access, added_at)
					VALUES ($1, 'Account', 'a1', $2, 'Sales Rep', 'Edit', 1)`,
					tenantA,
					user,
				)
				if err != nil {
					return err
				}
			}
			return nil
		})
		r.See(func(ctx context.Context, tx *sqldb.Tx) error {
			var reads Reads
			got, ok, err := reads.Get(ctx, tx, tenantA, "Account", "a3")
			want := model.Record{
				Object: "Account", ID: "a3", OwnerID: "o", Name: "a3", Fields: map[string]any{
					"Amount": 1.5,
					"IsWon":  true, "Name": "a3",
				},
				Version: 7, CreatedAt: 5, CreatedBy: "c", UpdatedAt: 6, UpdatedBy: "u", Deleted: true,
			}
			if diff := cmp.Diff(want, got); diff != "" || !ok || err != nil {
				t.Errorf("Get: %v %v %s", ok, err, diff)
			}
			if _, ok, err := reads.Get(ctx, tx, tenantA, "Account", "a4"); ok || err != nil {
				t.Errorf("a record of another tenant: got %v %v", ok, err)
			}
			pages := []struct{ want, got string }{}
			page := func(want string, records []model.Record, err error) {
				pages = append(pages, struct{ want, got string }{want, ids(records)})
				if err != nil {
					t.Error(err)
				}
			}
			first, err := reads.Walk(ctx, tx, tenantA, "Account", "", 1)
			page("Account:a1 ", first, err)
			next, err := reads.Walk(ctx, tx, tenantA, "Account", "a1", 5)
			page("Account:a2 ", next, err)
			children, err := reads.Children(ctx, tx, tenantA, "a1", model.Record{}, 2)
			page("Contact:c1 Opportunity:o1 ", children, err)
			rest, err := reads.Children(ctx, tx, tenantA, "a1", children[1], 5)
			page("Quote:q1 ", rest, err)
			for _, p := range pages {
				if p.got != p.want {
					t.Errorf("got %q, want %q", p.got, p.want)
				}
			}
			some, err := reads.Some(ctx, tx, tenantA, "Account", []string{"a1", "none"})
			if err != nil || len(some) != 1 || some["a1"].ID != "a1" {
				t.Errorf("some: got %v %v", some, err)
			}
			teams, err := reads.TeamsAmong(ctx, tx, tenantA, "Account", []string{"a1", "none"})
			members := teams["a1"]
			if err != nil || len(teams) != 1 ||
				fmt.Sprint(members) != "[{Account a1 u1 Sales Rep Edit} {Account a1 u2 Sales Rep Edit}]" {
				t.Errorf("teams: got %v %v", teams, err)
			}
			return nil
		})
	})
}
