package bench

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/go-json-experiment/json"

	"renga.dev/renga/internal/app"
	"renga.dev/renga/internal/crm/model"
	"renga.dev/renga/internal/crm/records"
	"renga.dev/renga/internal/platform/sqldb"
)

// The organization that records are measured in: users in roles on three levels and in two
// groups each, and opportunities with shares for groups and users.
const (
	officeUsers  = 1000
	officeRoles  = 111
	officeGroups = 200
	officeShares = 5      // of each opportunity
	officeFamily = 10_000 // opportunities of one account
	perAccount   = 10     // of the others

	officeTenant = "5d0f4a10-1111-4222-8333-444455556666"
)

// The kinds of ids.
const (
	userKind = iota
	roleKind
	groupKind
	setKind
	ruleKind
	accountKind
	dealKind
)

func idOf(kind, n int) string { return fmt.Sprintf("00000000-0000-7000-80%02d-%012d", kind, n) }

// openOffice defines the people, and lets a server find out what follows of it.
func (b *recordsBench) openOffice(ctx context.Context) error {
	err := app.WithDB(ctx, b.place, func(db *sqldb.DB) error {
		return db.Write(ctx, sqldb.Other, func(ctx context.Context, tx *sqldb.Tx) error {
			return defineOffice(ctx,
				tx)
		})
	})
	if err != nil {
		return err
	}
	return b.serve(ctx, func() error {
		rule := map[string]any{
			"name": "red", "object": "Opportunity", "kind": "criteria", "criteria": `record.Name == "red"`,
			"access": "Read", "isActive": true,
			"target": map[string]string{"type": "Group", "id": idOf(groupKind, 1)},
		}
		if err := b.must(ctx, http.MethodPut, "/metadata/sharing-rules/"+idOf(ruleKind, 1), rule, nil); err != nil {
			return err
		}
		return b.until(ctx, 5*time.Minute, "sharing follows the rule", func() (bool, error) {
			var models struct {
				Items []struct {
					Object string           `json:"object"`
					Status string           `json:"status"`
					Rules  []map[string]any `json:"rules"`
				} `json:"items"`
			}
			err := b.must(ctx, http.MethodGet, "/sharing/models?page_size=100", nil, &models)
			for _, m := range models.Items {
				if m.Object == "Opportunity" && m.Status == "ACTIVE" && len(m.Rules) > 0 {
					return true, err
				}
			}
			return false, err
		})
	})
}

// defineOffice writes definitions as if they had been put one by one.
func defineOffice(ctx context.Context, tx *sqldb.Tx) error {
	all := []model.Definition{{Kind: model.KindPermissionSet, ID: idOf(setKind, 1), Value: &model.PermissionSet{
		ID: idOf(setKind, 1), Name: "sales", Objects: map[string]model.ObjectPermission{"Opportunity": {
			Read:   true,
			Update: true,
		}, "Account": {Read: true}},
		Fields: map[string]model.FieldPermission{},
	}}}
	for n := 1; n <= officeRoles; n++ {
		r := &model.Role{ID: idOf(roleKind, n), Name: fmt.Sprint("role ", n)}
		if n > 1 {
			r.ParentRoleID = idOf(roleKind, (n+8)/10)
		}
		all = append(all, model.Definition{Kind: model.KindRole, ID: r.ID, Value: r})
	}
	for n := 1; n <= officeUsers; n++ {
		u := &model.User{ID: idOf(userKind, n), Name: fmt.Sprint("user ", n), RoleID: idOf(roleKind,
			min(n, 12+n%100)), PermissionSetIDs: []string{idOf(setKind, 1)}, IsActive: true}
		all = append(all, model.Definition{Kind: model.KindUser, ID: u.ID, Value: u})
	}
	for n := 1; n <= officeGroups; n++ {
		g := &model.Group{ID: idOf(groupKind, n), Name: fmt.Sprint("group ", n), Type: model.PublicGroup}
		for i := range 2 * officeUsers / officeGroups {
			g.Members = append(g.Members, model.Member{
				Type: model.TypeUser,
				ID:   idOf(userKind, 1+(n*7+i*83)%officeUsers),
			})
		}
		all = append(all, model.Definition{Kind: model.KindGroup, ID: g.ID, Value: g})
	}
	if _, err := tx.Exec(ctx, "INSERT INTO metadata_tenant (tenant_id, revision, stamp) VALUES ($1, 1, 'bench')",
		officeTenant); err != nil {
		return err
	}
	for _, d := range all {
		body, err := json.Marshal(d.Value)
		if err != nil {
			return err
		}
		_, err = tx.Exec(ctx, "INSERT INTO metadata_definition (tenant_id, kind, id, body, revision) VALUES ($1, $2, "+
			"$3, $4, 1)",
			officeTenant, string(d.Kind), d.ID, string(body))
		if err != nil {
			return err
		}
	}
	return nil
}

// fillOffice stores accounts, opportunities and shares.
func (b *recordsBench) fillOffice(ctx context.Context) error {
	return app.WithDB(ctx, b.place, func(db *sqldb.DB) error {
		var model int64
		err := db.Read(ctx, func(ctx context.Context, tx *sqldb.Tx) error {
			return tx.Row(ctx, "SELECT num FROM sharing_model WHERE tenant_id = $1 AND object = 'Opportunity' AND "+
				"status = 2", officeTenant).Scan(&model)
		})
		if err != nil {
			return err
		}
		id := func(kind int, number string) string {
			if db.Dialect() == sqldb.SQLite {
				return fmt.Sprintf("printf('00000000-0000-7000-80%02d-%%012d', %s)", kind, number)
			}
			return fmt.Sprintf("'00000000-0000-7000-80%02d-' || lpad(CAST(%s AS text), 12, '0')", kind, number)
		}
		const insert = `INSERT INTO records_record (tenant_id, object, id, owner_id, name,
			account_id, opportunity_id, fields, version,
			created_at, created_by, updated_at, updated_by, deleted_at) `
		stage := "CASE i % 3 WHEN 0 THEN 'Prospecting' WHEN 1 THEN 'Qualification' ELSE 'Negotiation' END"
		deal := func(owner, account string) string {
			name := "'blue deal ' || CAST(i % 1000 AS text)"
			return `SELECT $1, 'Opportunity', ` + id(dealKind, "i") + `, ` + owner + `, ` + name + `, ` + account +
				`, '', '{"Amount":1000,"CloseDate":"2026-02-28","IsClosed":false,"IsWon":false,"Name":"' || ` + name +
				` || '","StageName":"' || ` + stage + ` || '"}', 1, 1, '', 1, '', 0`
		}
		accounts, owner := max(1, b.size/perAccount), id(userKind, fmt.Sprint("1 + i * 13 % ", officeUsers))
		steps := []struct {
			from, to int
			insert   string
		}{
			{0, accounts, insert + `SELECT $1, 'Account', ` + id(accountKind, "i") + `, ` +
				id(userKind, fmt.Sprint("1 + i * 7 % ", officeUsers)) +
				`, 'Account', '', '', '{"Name":"Account"}', 1, 1, '', 1, '', 0`},
			{1, b.size, insert + deal(owner, id(accountKind, fmt.Sprint("1 + i % ", accounts)))},
			{b.size + 1, b.size + b.family, insert + deal(id(userKind, "999"), id(accountKind, "0"))},
			{1, b.size, insertFact + `SELECT $1, ` + id(dealKind, "i") + `, 1, ` + owner + `, ` + stage +
				`, 'open', '', '2026-02', '', 100000, 0`},
			{b.size + 1, b.size + b.family, insertFact + `SELECT $1, ` + id(dealKind, "i") + `, 1, ` +
				id(userKind, "999") + `, ` + stage + `, 'open', '', '2026-02', '', 100000, 0`},
		}
		for k := range officeShares {
			grantee, cause := `'group:' || `+id(groupKind, fmt.Sprintf("2 + (i * %d + %d) %% %d", 2*k+3, 31*k,
				officeGroups-1)), "rule"
			if k == 0 {
				grantee, cause = `'user:' || `+id(userKind, fmt.Sprint("1 + i * 17 % ", officeUsers)), "team"
			}
			steps = append(steps, struct {
				from, to int
				insert   string
			}{1, b.size, fmt.Sprintf(
				`INSERT INTO sharing_share (tenant_id, model, record_id, grantee, cause, cause_id, level, owner_id)
				SELECT $1, %d, %s, %s, '%s', 'c%d', 1, %s`, model, id(dealKind, "i"), grantee, cause, k, owner)})
		}
		for _, s := range steps {
			if err := series(ctx, db, s.from, s.to, s.insert); err != nil {
				return err
			}
		}
		err = db.Write(ctx, sqldb.Other, func(ctx context.Context, tx *sqldb.Tx) error {
			for _, count := range countFacts {
				if _, err := tx.Exec(ctx, count, officeTenant); err != nil {
					return err
				}
			}
			return nil
		})
		if err == nil { // it is not waited for that the servers do
			_, err = records.New(db, records.Config{}).Compact(ctx)
		}
		if err != nil {
			return err
		}
		return db.Vacuum(ctx)
	})
}

// What reporting would have counted of the opportunities, had it consumed the events of each.
const insertFact = "INSERT INTO reporting_opportunity (tenant_id, id, version, owner_id, stage, status, category, " +
	"month, campaign_id, amount, weighted) "

var countFacts = []string{
	insertCount + "SELECT $1, 'stage', owner_id, stage, status, '', count(*), 0, sum(amount), 0, 0 FROM " +
		"reporting_opportunity WHERE tenant_id = $1 GROUP BY owner_id, stage, status",
	insertCount + "SELECT $1, 'month', owner_id, month, category, status, count(*), 0, sum(amount), 0, 0 FROM " +
		"reporting_opportunity WHERE tenant_id = $1 GROUP BY owner_id, month, category, status",
	insertCount + "SELECT $1, cube, '', k1, k2, k3, sum(n), 0, sum(amount_lo), 0, 0 FROM reporting_count WHERE " +
		"tenant_id = $1 GROUP BY cube, k1, k2, k3",
}

const insertCount = "INSERT INTO reporting_count (tenant_id, cube, owner_id, k1, k2, k3, n, amount_hi, amount_lo, " +
	"weighted_hi, weighted_lo) "

// series runs an INSERT … SELECT for i from one number to another, some at a time.
func series(ctx context.Context, db *sqldb.DB, from, to int, insert string) error {
	const step = 10_000
	for ; from <= to; from += step {
		err := db.Write(ctx, sqldb.Other, func(ctx context.Context, tx *sqldb.Tx) error {
			_, err := tx.Exec(ctx, fmt.Sprintf("%s FROM (WITH RECURSIVE n(i) AS (SELECT %d UNION ALL SELECT i + 1 "+
				"FROM n WHERE i < %d) SELECT i FROM n) AS series",
				insert, from, min(from+step-1, to)), officeTenant)
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// serve runs a server while f runs.
func (b *recordsBench) serve(ctx context.Context, f func() error) error {
	srv, err := startServer(ctx, b.dir, b.args...)
	if err != nil {
		return err
	}
	b.url, b.srv = srv.url, srv
	return errors.Join(f(), srv.stop())
}
