package sharing

import (
	"context"
	"fmt"
	"slices"

	"renga.dev/renga/internal/crm/model"
	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/platform/sqldb"
)

// reclose brings sharing_principal and sharing_reach up to date with the directory, the
// territories and the models. It does nothing when they are of this state.
func (s *Sharing) reclose(ctx context.Context, tx *sqldb.Tx, tenant string) error {
	revision, closed, err := holdTenant(ctx, tx, tenant)
	if err != nil {
		return fault.Wrap("sharing.close", err)
	}
	m, err := s.cfg.Models.Model(ctx, tx, tenant)
	if err != nil {
		return err
	}
	state := fmt.Sprintf("%d.%d", m.Revision, revision)
	if state == closed {
		return nil
	}
	want, err := readClosure(ctx, tx, m)
	if err == nil {
		err = memberTable.write(ctx, tx, tenant, want.members)
	}
	if err == nil {
		err = reachTable.write(ctx, tx, tenant, want.reach)
	}
	if err == nil {
		_, err = tx.Exec(ctx, "UPDATE sharing_tenant SET closed = $2 WHERE tenant_id = $1", tenant, state)
	}
	return fault.Wrap("sharing.close", err)
}

// readClosure computes what the tables should say.
func readClosure(ctx context.Context, tx *sqldb.Tx, m *model.Model) (closure, error) {
	tree, err := readTree(ctx, tx, m.Tenant)
	if err != nil {
		return closure{}, err
	}
	models, err := currentModels(ctx, tx, m.Tenant, "")
	return closureOf(m, tree, models), err
}

// difference is what is in one sorted list and not in the other, both ways.
func difference[T comparable](have, want []T, compare func(a, b T) int) (gone, added []T) {
	for len(have) > 0 || len(want) > 0 {
		switch {
		case len(want) == 0 || len(have) > 0 && compare(have[0], want[0]) < 0:
			gone, have = append(gone, have[0]), have[1:]
		case len(have) == 0 || compare(have[0], want[0]) > 0:
			added, want = append(added, want[0]), want[1:]
		default:
			have, want = have[1:], want[1:]
		}
	}
	return gone, added
}

// maxBatch is how many statements are sent at once.
const maxBatch = 500

// batch runs statements, some at a time.
func batch(ctx context.Context, tx *sqldb.Tx, stmts []sqldb.Stmt) error {
	for some := range slices.Chunk(stmts, maxBatch) {
		if err := tx.Batch(ctx, some...); err != nil {
			return err
		}
	}
	return nil
}

// table is a table that holds a set of rows for each tenant.
type table[T comparable] struct {
	query, insert, remove string
	scan                  func(*sqldb.Row) (T, error)
	args                  func(tenant string, row T) []any
	compare               func(a, b T) int // the order of query
}

var memberTable = table[Member]{
	query:  "SELECT user_id, principal FROM sharing_principal WHERE tenant_id = $1 ORDER BY user_id, principal",
	insert: "INSERT INTO sharing_principal (tenant_id, user_id, principal) VALUES ($1, $2, $3)",
	remove: "DELETE FROM sharing_principal WHERE tenant_id = $1 AND user_id = $2 AND principal = $3",
	scan:   scanMember,
	args:   func(tenant string, m Member) []any { return []any{tenant, m.User, m.Principal} },

	compare: Member.compare,
}

func scanMember(row *sqldb.Row) (m Member, err error) {
	err = row.Scan(&m.User, &m.Principal)
	return m, err
}

var reachTable = table[Reach]{
	query: `SELECT model, principal, owner_id, cause, cause_id, level FROM sharing_reach WHERE tenant_id = $1
		ORDER BY model, principal, owner_id, cause, cause_id`,
	insert: `INSERT INTO sharing_reach (tenant_id, model, principal, owner_id, cause, cause_id, level)
		VALUES ($1, $2, $3, $4, $5, $6, $7)`,
	remove: `DELETE FROM sharing_reach WHERE tenant_id = $1 AND model = $2 AND principal = $3 AND owner_id = $4
		AND cause = $5 AND cause_id = $6 AND level = $7`,
	scan: func(row *sqldb.Row) (r Reach, err error) {
		err = row.Scan(&r.Model, &r.Principal, &r.Owner, &r.Cause, &r.CauseID, &r.Level)
		return r, err
	},
	args: func(tenant string, r Reach) []any {
		return []any{tenant, r.Model, r.Principal, r.Owner, r.Cause, r.CauseID, r.Level}
	},
	compare: Reach.compare,
}

// write makes the rows of a tenant those that are wanted, which are sorted.
func (t *table[T]) write(ctx context.Context, tx *sqldb.Tx, tenant string, want []T) error {
	gone, added, err := t.differs(ctx, tx, tenant, want)
	if err != nil {
		return err
	}
	stmts := make([]sqldb.Stmt, 0, len(gone)+len(added))
	for _, row := range gone {
		stmts = append(stmts, sqldb.Stmt{Query: t.remove, Args: t.args(tenant, row)})
	}
	for _, row := range added {
		stmts = append(stmts, sqldb.Stmt{Query: t.insert, Args: t.args(tenant, row)})
	}
	return batch(ctx, tx, stmts)
}

// differs are the rows of a tenant that are not wanted, and the wanted ones that it lacks.
func (t *table[T]) differs(ctx context.Context, tx *sqldb.Tx, tenant string, want []T) (gone, added []T, err error) {
	have, err := sqldb.Collect(ctx, tx, t.scan, t.query, tenant)
	gone, added = difference(have, want, t.compare)
	return gone, added, err
}
