package sharing

import (
	"context"
	"fmt"

	"renga.dev/renga/internal/crm/model"
	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/platform/sqldb"
)

// reclose brings sharing_principal and sharing_reach up to what the directory, the
// territories and the models say now. It does nothing when they are of this state.
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
	want, err := s.closure(ctx, tx, m)
	if err != nil {
		return fault.Wrap("sharing.close", err)
	}
	if err := writeMembers(ctx, tx, tenant, want.members); err != nil {
		return fault.Wrap("sharing.close", err)
	}
	if err := writeReach(ctx, tx, tenant, want.reach); err != nil {
		return fault.Wrap("sharing.close", err)
	}
	_, err = tx.Exec(ctx, "UPDATE sharing_tenant SET closed = $2 WHERE tenant_id = $1", tenant, state)
	return fault.Wrap("sharing.close", err)
}

// closure works out what the tables should say.
func (s *Sharing) closure(ctx context.Context, tx *sqldb.Tx, m *model.Model) (closure, error) {
	tree, err := readTree(ctx, tx, m.Tenant)
	if err != nil {
		return closure{}, err
	}
	models, err := currentModels(ctx, tx, m.Tenant, "")
	if err != nil {
		return closure{}, err
	}
	rules := make([]frozen, len(models))
	for i := range models {
		rules[i] = frozen{models[i].num, models[i].Setup}
	}
	return closureOf(m, tree, rules), nil
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

// maxBatch is how many statements travel at once.
const maxBatch = 500

// batch runs statements, some at a time.
func batch(ctx context.Context, tx *sqldb.Tx, stmts []sqldb.Stmt) error {
	for len(stmts) > 0 {
		n := min(len(stmts), maxBatch)
		if err := tx.Batch(ctx, stmts[:n]...); err != nil {
			return err
		}
		stmts = stmts[n:]
	}
	return nil
}

func writeMembers(ctx context.Context, tx *sqldb.Tx, tenant string, want []Member) error {
	have, err := readMembers(ctx, tx, tenant)
	if err != nil {
		return err
	}
	gone, added := difference(have, want, Member.compare)
	stmts := make([]sqldb.Stmt, 0, len(gone)+len(added))
	for _, m := range gone {
		stmts = append(stmts, sqldb.Stmt{
			Query: "DELETE FROM sharing_principal WHERE tenant_id = $1 AND user_id = $2 AND principal = $3",
			Args:  []any{tenant, m.User, m.Principal},
		})
	}
	for _, m := range added {
		stmts = append(stmts, sqldb.Stmt{
			Query: "INSERT INTO sharing_principal (tenant_id, user_id, principal) VALUES ($1, $2, $3)",
			Args:  []any{tenant, m.User, m.Principal},
		})
	}
	return batch(ctx, tx, stmts)
}

func readMembers(ctx context.Context, tx *sqldb.Tx, tenant string) (have []Member, err error) {
	for row, err := range tx.Query(ctx,
		"SELECT user_id, principal FROM sharing_principal WHERE tenant_id = $1 ORDER BY user_id, principal", tenant) {
		if err != nil {
			return nil, err
		}
		var m Member
		if err := row.Scan(&m.User, &m.Principal); err != nil {
			return nil, err
		}
		have = append(have, m)
	}
	return have, nil
}

func writeReach(ctx context.Context, tx *sqldb.Tx, tenant string, want []Reach) error {
	have, err := readReach(ctx, tx, tenant)
	if err != nil {
		return err
	}
	gone, added := difference(have, want, Reach.compare)
	stmts := make([]sqldb.Stmt, 0, len(gone)+len(added))
	for _, r := range gone {
		stmts = append(stmts, sqldb.Stmt{
			Query: `DELETE FROM sharing_reach WHERE tenant_id = $1 AND model = $2 AND principal = $3 AND owner_id = $4 AND cause = $5 AND cause_id = $6`,
			Args:  []any{tenant, r.Model, r.Principal, r.Owner, r.Cause, r.CauseID},
		})
	}
	for _, r := range added {
		stmts = append(stmts, sqldb.Stmt{
			Query: `INSERT INTO sharing_reach (tenant_id, model, principal, owner_id, cause, cause_id, level) VALUES ($1, $2, $3, $4, $5, $6, $7)`,
			Args:  []any{tenant, r.Model, r.Principal, r.Owner, r.Cause, r.CauseID, int64(r.Level)},
		})
	}
	return batch(ctx, tx, stmts)
}

func readReach(ctx context.Context, tx *sqldb.Tx, tenant string) (have []Reach, err error) {
	for row, err := range tx.Query(ctx,
		`SELECT model, principal, owner_id, cause, cause_id, level FROM sharing_reach WHERE tenant_id = $1
		ORDER BY model, principal, owner_id, cause, cause_id`, tenant) {
		if err != nil {
			return nil, err
		}
		var r Reach
		var level int64
		if err := row.Scan(&r.Model, &r.Principal, &r.Owner, &r.Cause, &r.CauseID, &level); err != nil {
			return nil, err
		}
		r.Level = Level(level)
		have = append(have, r)
	}
	return have, nil
}
