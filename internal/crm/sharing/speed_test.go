package sharing

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"renga.dev/renga/internal/crm/model"
	"renga.dev/renga/internal/crm/records"
	"renga.dev/renga/internal/platform/sqldb"
	"renga.dev/renga/internal/platform/sqldb/pgtest"
)

// The bars, and what they are measured with.
const (
	listBar  = 50 * time.Millisecond
	checkBar = 5 * time.Millisecond

	manyRecords = 200_000 // opportunities, of 20,000 accounts
	sharesEach  = 5       // rows of each
	manyUsers   = 1000
	manyGroups  = 200
)

// TestSpeed measures lists and checks at full size, with RENGA_LONG: it takes minutes and
// a machine to itself.
func TestSpeed(t *testing.T) {
	if os.Getenv("RENGA_LONG") == "" {
		t.Skip("SKIP: it measures; RENGA_LONG=1 runs it")
	}
	most := limits{chunk: 500, sweep: 2000, few: fewRecords, unreached: fewUnreached}
	t.Run("sqlite", func(t *testing.T) {
		measure(t, newRig(t, sqldb.Config{Path: filepath.Join(t.TempDir(), "test.db")}, most))
	})
	t.Run("postgres", func(t *testing.T) { measure(t, newRig(t, sqldb.Config{URL: pgtest.New(t)}, most)) })
}

func measure(t *testing.T, r *rig) {
	p := newTenant(r)
	p.fill()
	for _, who := range []struct {
		name string
		user int
	}{{"rep", 1000}, {"manager", 60}, {"director", 6}, {"top", 1}} {
		user := num(users, who.user)
		for _, q := range []records.Query{
			{Limit: 50},
			{Limit: 50, Offset: 1000},
			{Limit: 50, Sort: "Name.asc"},
			{Limit: 50, Filters: []records.Filter{{Name: "AccountId", Value: num(recordIDs+10, 17)}}},
			{Limit: 50, Filters: []records.Filter{{Name: "ownerId", Value: num(users, 17)}}},
		} {
			var total int
			p.time(fmt.Sprint(who.name, " list ", q), listBar, 60, func(int) { total = p.list(user, q) })
			p.Logf("%d records", total)
		}
		p.time(who.name+" check", checkBar, 300, func(i int) { p.check(user, num(recordIDs, 1+i*601%manyRecords)) })
	}
}

// time measures something and holds it against a bar.
func (t *tenant) time(what string, bar time.Duration, n int, do func(i int)) {
	t.Helper()
	took := make([]time.Duration, n)
	for i := range took {
		began := time.Now()
		do(i)
		took[i] = time.Since(began)
	}
	slices.Sort(took)
	p50, p99 := took[n/2], took[n*99/100]
	t.Logf("%-16s p50 %8v  p99 %8v", what, p50.Round(10*time.Microsecond), p99.Round(10*time.Microsecond))
	if p99 > bar {
		t.Errorf("%s takes %v, want at most %v", what, p99, bar)
	}
}

// list reads a page of opportunities as a user.
func (t *tenant) list(user string, q records.Query) int {
	t.Helper()
	page, total, err := t.kept.List(t.Context(), records.Caller{Tenant: t.id, Subject: user}, "Opportunity", q)
	if err != nil || len(page) != max(0, min(total-q.Offset, q.Limit)) {
		t.Fatalf("%d records on a page of %d: %v", len(page), total, err)
	}
	return total
}

func (t *tenant) check(user, id string) (n int) {
	t.Helper()
	t.See(func(ctx context.Context, tx *sqldb.Tx) error {
		var b sqldb.Binds
		where, err := t.WhereOne(ctx, tx, t.id, "Opportunity", user, model.Read, &b)
		if err != nil {
			return err
		}
		return tx.Row(ctx, "SELECT count(*) FROM records_record r WHERE r.tenant_id = "+b.Add(t.id)+" AND r.object = "+
			b.Add("Opportunity")+
			" AND r.id = "+b.Add(id)+" AND r.deleted_at = 0 AND ("+where+")", b.Args()...).
			Scan(&n)
	})
	return n
}

// fill makes a large organization: 1,000 users in 111 roles on four levels, in two groups
// each, and records with rows for groups and users.
func (t *tenant) fill() {
	t.Helper()
	began := time.Now()
	for n := 1; n <= 111; n++ {
		role := model.Role{ID: num(roles, n), Name: "r"}
		if n > 1 {
			role.ParentRoleID = num(roles, (n+8)/10)
		}
		t.putRole(role)
	}
	t.putSet(model.PermissionSet{ID: num(sets, 1), Name: "s", Objects: map[string]model.ObjectPermission{
		"Opportunity": {Read: true},
	}})
	for n := 1; n <= manyUsers; n++ {
		t.putUser(model.User{
			ID: num(users, n), Name: "u", PermissionSetIDs: []string{num(sets, 1)},
			RoleID: num(roles, min(n, 12+n%100)), IsActive: true,
		})
	}
	for n := 1; n <= manyGroups; n++ {
		g := model.Group{ID: num(groups, n), Name: "g", Type: model.PublicGroup}
		for i := range 2 * manyUsers / manyGroups {
			g.Members = append(g.Members, model.Member{Type: model.TypeUser, ID: num(users, 1+(n*7+i*83)%manyUsers)})
		}
		t.putGroup(g)
	}
	t.putRule(model.SharingRule{
		ID: num(rules, 1), Object: "Opportunity", Kind: model.CriteriaRule, Criteria: `record.Name == "red"`,
		IsActive: true, Access: model.Read,
		Target: model.Member{Type: model.TypeGroup, ID: num(groups, 1)},
	})
	var model int64
	t.Change(func(ctx context.Context, tx *sqldb.Tx) error {
		if _, err := t.ensureModels(ctx, tx, t.id, "Account"); err != nil {
			return err
		}
		now, err := t.ensureModels(ctx, tx, t.id, "Opportunity")
		if err == nil {
			model = now[0].num
			err = t.reclose(ctx, tx, t.id)
		}
		return err
	})
	t.series(
		20_000,
		`INSERT INTO records_record (tenant_id, object, id, owner_id, name, account_id, opportunity_id, fields,
			version, created_at, created_by, updated_at, updated_by, deleted_at)
		SELECT $1, 'Account', `+t.made(
			recordIDs+10,
			"i",
		)+`, `+t.made(
			users,
			"1 + i * 7 % 1000",
		)+
			`, 'a', '', '', '{"Name":"a"}', 1, 1, '', 1, '', 0`,
	)
	t.series(
		manyRecords,
		`INSERT INTO records_record (tenant_id, object, id, owner_id, name, account_id, opportunity_id, fields,
			version, created_at, created_by, updated_at, updated_by, deleted_at)
		SELECT $1, 'Opportunity', `+t.made(
			recordIDs,
			"i",
		)+`, `+t.made(
			users,
			"1 + i * 13 % 1000",
		)+`, 'o', `+
			t.made(
				recordIDs+10,
				"1 + i % 20000",
			)+`, '', '{"Name":"o","Amount":1000}', 1, 1, '', 1, '', 0`,
	)
	for k := range sharesEach {
		grantee := `'group:' || ` + t.made(groups, fmt.Sprintf("1 + (i * %d + %d) %% %d", 2*k+3, 31*k, manyGroups))
		cause := "'rule'"
		if k == 0 {
			grantee, cause = `'user:' || `+t.made(users, "1 + i * 17 % 1000"), "'team'"
		}
		t.series(manyRecords, fmt.Sprintf(
			`INSERT INTO sharing_share (tenant_id, model, record_id, grantee, cause, cause_id, level, owner_id)
			SELECT $1, %d, %s, %s, %s, 'c%d', 1, %s`, model, t.made(recordIDs, "i"), grantee, cause, k,
			t.made(users, "1 + i * 13 % 1000")))
	}
	if t.DB.Dialect() == sqldb.Postgres {
		t.Change(func(ctx context.Context, tx *sqldb.Tx) error {
			_, err := tx.Exec(ctx, "ANALYZE")
			return err
		})
	}
	t.Logf("filled in %v", time.Since(began).Round(time.Second))
}

// made is SQL of the id of a kind with a number.
func (t *tenant) made(kind int, number string) string {
	prefix := fmt.Sprintf("'00000000-0000-7000-80%02d-' || ", kind)
	if t.DB.Dialect() == sqldb.SQLite {
		return prefix + "printf('%012d', " + number + ")"
	}
	return prefix + "lpad(CAST(" + number + " AS text), 12, '0')"
}

// series runs an INSERT … SELECT for i from 1 to n, some at a time.
func (t *tenant) series(n int, insert string) {
	t.Helper()
	const step = 20_000
	for from := 1; from <= n; from += step {
		t.Change(func(ctx context.Context, tx *sqldb.Tx) error {
			_, err := tx.Exec(ctx, fmt.Sprintf("%s FROM (WITH RECURSIVE n(i) AS (SELECT %d UNION ALL SELECT i + 1 "+
				"FROM n WHERE i < %d) SELECT i FROM n) AS series", insert, from, min(from+step-1, n)), t.id)
			return err
		})
	}
}
