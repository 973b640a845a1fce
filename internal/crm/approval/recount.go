package approval

import (
	"context"
	"fmt"
	"slices"

	"renga.dev/renga/internal/crm/model"
	"renga.dev/renga/internal/platform/sqldb"
)

// Recount compares the locks in core with the approvals that are pending, and the outcomes
// of those that have ended with what core has written, and gives what differs, by approval.
func (s *Approvals) Recount(ctx context.Context, tenant string) (differences []string, err error) {
	err = s.Read(ctx, "recount", func(ctx context.Context, tx *sqldb.Tx) error {
		locks, err := s.allLocks(ctx, tx, tenant)
		if err != nil {
			return err
		}
		if differences, err = s.compareLocks(ctx, tx, tenant, locks); err != nil {
			return err
		}
		unwritten, err := s.unwritten(ctx, tx, tenant)
		differences = append(differences, unwritten...)
		return err
	})
	slices.Sort(differences)
	return differences, err
}

// differs says what is wrong with the lock of an approval.
func differs(approval, object, record, what string) string {
	return fmt.Sprintf("approval %s of %s %s: %s", approval, object, record, what)
}

// allLocks are the locks of a tenant by approval.
func (s *Approvals) allLocks(ctx context.Context, tx *sqldb.Tx, tenant string) (map[string]model.FieldLock, error) {
	all := map[string]model.FieldLock{}
	for after := ""; ; {
		page, err := s.cfg.Locks.Walk(ctx, tx, tenant, after, chunk)
		if err != nil {
			return nil, err
		}
		for _, l := range page {
			all[l.ApprovalID], after = l, l.ApprovalID
		}
		if len(page) < chunk {
			return all, nil
		}
	}
}

func (s *Approvals) compareLocks(ctx context.Context, tx *sqldb.Tx, tenant string, locks map[string]model.FieldLock) (
	found []string, err error,
) {
	err = walk(ctx, tx, tenant, "a.status = 0", func(a *instance) error {
		l, ok := locks[a.id]
		delete(locks, a.id)
		switch {
		case !ok:
			found = append(found, differs(a.id, a.object, a.recordID,
				"the approval is pending, and its fields are not locked"))
		case l.Object != a.object || l.RecordID != a.recordID || !slices.Equal(l.Fields, a.locked):
			found = append(found, differs(a.id, a.object, a.recordID, "other fields are locked than the approval says"))
		}
		return nil
	})
	for id, l := range locks {
		found = append(found, differs(id, l.Object, l.RecordID, "fields are locked by an approval that is not pending"))
	}
	return found, err
}

// unwritten are the approvals that have ended and whose outcomes core has not settled.
func (s *Approvals) unwritten(ctx context.Context, tx *sqldb.Tx, tenant string) (found []string, err error) {
	err = walk(ctx, tx, tenant, "a.status <> 0 AND a.outcomes <> '{}'", func(a *instance) error {
		if len(a.outcome()) == 0 {
			return nil
		}
		_, ok, err := s.cfg.Locks.Settled(ctx, tx, tenant, a.id)
		if err != nil || ok {
			return err
		}
		what := "the approval has ended, and its outcome is not written"
		why, err := stuckAt(ctx, tx, tenant, a.id)
		if why.letter != "" {
			what += ": " + why.help
		}
		found = append(found, differs(a.id, a.object, a.recordID, what))
		return err
	})
	return found, err
}

// walk gives the approvals of a tenant of which a condition is true, without their votes.
func walk(ctx context.Context, tx *sqldb.Tx, tenant, where string, each func(*instance) error) error {
	for after := ""; ; {
		page, err := instances(ctx, tx, selectInstances+where+" AND a.id > $2 ORDER BY a.id LIMIT $3", tenant, after,
			chunk)
		if err != nil {
			return err
		}
		for i := range page {
			after = page[i].id
			if err := each(&page[i]); err != nil {
				return err
			}
		}
		if len(page) < chunk {
			return nil
		}
	}
}
