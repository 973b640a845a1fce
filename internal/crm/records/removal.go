package records

import (
	"context"
	"errors"
	"maps"
	"slices"

	"renga.dev/renga/internal/crm/model"
	"renga.dev/renga/internal/platform/canonical"
	"renga.dev/renga/internal/platform/events"
	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/platform/sqldb"
)

// maxRemovals is how many members of teams and campaigns one transaction removes because
// their records were deleted: each is an event. The others follow in the background.
const maxRemovals = 500

const (
	insertRemoval = `INSERT INTO records_removal (tenant_id, object, record_id, correlation_id) VALUES ($1, $2, $3, $4)
		ON CONFLICT (tenant_id, object, record_id) DO NOTHING`
	deleteRemoval = "DELETE FROM records_removal WHERE tenant_id = $1 AND object = $2 AND record_id = $3"
	lockRemoval   = "SELECT 1 FROM records_removal WHERE tenant_id = $1 AND object = $2 AND record_id = $3"
	nextRemoval   = `SELECT tenant_id, object, record_id, correlation_id FROM records_removal
		WHERE (tenant_id, object, record_id) > ($1, $2, $3) ORDER BY tenant_id, object, record_id LIMIT 1`
	deleteTeamMember = "DELETE" + oneTeamMember
	deleteMember     = "DELETE" + oneMember
)

// removal is a member that goes with its record.
type removal struct {
	record  string
	delete  sqldb.Stmt
	payload func(r *model.Record) events.Payload
}

// removals are the members of the teams or campaigns of some records, by record, at most
// one more than a transaction removes.
func (w *session) removals(ctx context.Context, object string, ids []string) ([]removal, error) {
	switch {
	case slices.Contains(model.TeamObjects, object):
		return w.teamRemovals(ctx, object, ids)
	case object == objCampaign:
		return w.memberRemovals(ctx, ids)
	}
	return nil, nil
}

func (w *session) teamRemovals(ctx context.Context, object string, ids []string) ([]removal, error) {
	b := sqldb.Bind(w.Caller.Tenant, object)
	query := selectTeams + b.OneOf(w.Tx, "record_id", ids) + w.sql.inOrder("record_id") + ", user_id LIMIT " +
		b.Add(maxRemovals+1)
	return sqldb.Collect(ctx, w.Tx, func(row *sqldb.Row) (removal, error) {
		m, err := readTeamMember(row)
		return removal{
			record: m.RecordID,
			delete: sqldb.Stmt{Query: deleteTeamMember, Args: []any{w.Caller.Tenant, object, m.RecordID, m.UserID}},
			payload: func(r *model.Record) events.Payload {
				return teamEvent(
					r,
					memberRemoved,
					&TeamMember{UserID: m.UserID, TeamRole: m.TeamRole, AccessLevel: m.Access},
				)
			},
		}, err
	}, query, b.Args()...)
}

func (w *session) memberRemovals(ctx context.Context, ids []string) ([]removal, error) {
	b := sqldb.Bind(w.Caller.Tenant)
	query := readColumns + " FROM records_member WHERE tenant_id = $1 AND " + b.OneOf(w.Tx, "campaign_id", ids) +
		w.sql.inOrder("campaign_id") + ", member_type, member_id LIMIT " + b.Add(maxRemovals+1)
	return sqldb.Collect(ctx, w.Tx, func(row *sqldb.Row) (removal, error) {
		m, err := readCampaignMember(row)
		return removal{
			record: m.CampaignID,
			delete: sqldb.Stmt{
				Query: deleteMember,
				Args:  []any{w.Caller.Tenant, m.CampaignID, m.MemberType, m.MemberID},
			},
			payload: func(r *model.Record) events.Payload {
				return w.memberEvent(r, memberRemoved, &Member{
					MemberType: m.MemberType, MemberID: m.MemberID, Status: m.Status, HasResponded: m.HasResponded,
				})
			},
		}, err
	}, query, b.Args()...)
}

// clear removes the members of some records of an object that are deleted, by id, and
// publishes it with the versions that the records have, from an index on. It gives the records
// of which there may be more.
func (w *session) clear(ctx context.Context, object string, gone map[string]*model.Record, from func(id string) int) (
	left []string, err error,
) {
	ids := slices.Sorted(maps.Keys(gone))
	all, err := w.removals(ctx, object, ids)
	if err != nil || len(all) == 0 {
		return nil, err
	}
	if len(all) > maxRemovals {
		at, _ := slices.BinarySearch(ids, all[maxRemovals].record)
		all, left = all[:maxRemovals], ids[at:]
	}
	stmts := make([]sqldb.Stmt, len(all))
	payloads := map[string][]events.Payload{}
	for i := range all {
		id := all[i].record
		stmts[i], payloads[id] = all[i].delete, append(payloads[id], all[i].payload(gone[id]))
	}
	if err := w.Tx.Batch(ctx, stmts...); err != nil {
		return nil, err
	}
	var batch []events.Event
	for _, id := range ids {
		at := len(batch)
		if batch, err = envelopes(batch, w.Caller, gone[id], payloads[id]); err != nil {
			return nil, err
		}
		for i := at; i < len(batch); i++ {
			batch[i].Index += from(id)
		}
	}
	return left, w.cfg.Publisher.Publish(ctx, w.Tx, batch...)
}

// clearDeleted removes what goes with the records that were just deleted.
func (w *session) clearDeleted(ctx context.Context, all []decision) error {
	gone, published := map[string]*model.Record{}, map[string]int{}
	for i := range all {
		if d := &all[i]; d.after.Deleted {
			gone[d.after.ID], published[d.after.ID] = &d.after, len(d.events)
		}
	}
	if len(gone) == 0 {
		return nil
	}
	object := all[0].after.Object // a batch is of one object
	left, err := w.clear(ctx, object, gone, func(id string) int { return published[id] })
	if err != nil {
		return err
	}
	stmts := make([]sqldb.Stmt, len(left))
	for i, id := range left {
		stmts[i] = sqldb.Stmt{Query: insertRemoval, Args: []any{w.Caller.Tenant, object, id, w.Caller.CorrelationID}}
	}
	return w.Tx.Batch(ctx, stmts...)
}

// cleared is a deleted record that had many members.
type cleared struct {
	caller     Caller
	object, id string
}

// Clear removes the members of records that were deleted and had many, some in each
// transaction, until it has been at all of these records or ctx ends. One that fails, of a
// tenant whose definitions are damaged say, holds up no other. It is called every few seconds,
// by any number of processes.
func (s *Records) Clear(ctx context.Context) error {
	var bad error
	var at cleared
	for ctx.Err() == nil {
		next, ok, err := s.nextCleared(ctx, at)
		if err != nil || !ok {
			return fault.Wrap("records.clear", errors.Join(bad, err))
		}
		at = next
		of := sqldb.For(ctx, at.caller.Tenant)
		for more := true; more && err == nil && ctx.Err() == nil; {
			err = s.DB.Write(of, sqldb.Other, func(ctx context.Context, tx *sqldb.Tx) (err error) {
				more, err = s.clearSome(ctx, tx, &at)
				return err
			})
		}
		bad = errors.Join(bad, err)
	}
	return fault.Wrap("records.clear", bad)
}

// nextCleared finds the record after one; ok says that there is one.
func (s *Records) nextCleared(ctx context.Context, at cleared) (next cleared, ok bool, err error) {
	err = s.DB.Read(ctx, func(ctx context.Context, tx *sqldb.Tx) error {
		return tx.Row(ctx, nextRemoval, at.caller.Tenant, at.object, at.id).
			Scan(&next.caller.Tenant, &next.object, &next.id, &next.caller.CorrelationID)
	})
	if errors.Is(err, sqldb.ErrNoRow) {
		return at, false, nil
	}
	return next, err == nil, err
}

// clearSome removes some members of a record; more says that there may be others. What another
// process is at is left to it.
func (s *Records) clearSome(ctx context.Context, tx *sqldb.Tx, of *cleared) (more bool, err error) {
	c, object, id := of.caller, of.object, of.id
	row := tx.Row(ctx, lockRemoval+s.sql.hold(free), c.Tenant, object, id)
	if _, err := sqldb.Column[int64](row); err != nil {
		if errors.Is(err, sqldb.ErrNoRow) {
			return false, nil
		}
		return false, err
	}
	w, err := s.begin(ctx, tx, c)
	if err != nil {
		return false, err
	}
	r, ok, err := Reads{}.Get(ctx, tx, c.Tenant, object, id)
	if err != nil {
		return false, err
	}
	var left []string
	if ok {
		r.Version = canonical.NextStamp(r.Version, w.now)
		if left, err = w.clear(ctx, object, map[string]*model.Record{id: &r},
			func(string) int { return 0 }); err != nil {
			return false, err
		}
		if _, err := tx.Exec(ctx, updateVersion, c.Tenant, object, id, r.Version); err != nil {
			return false, err
		}
	}
	if len(left) == 0 {
		_, err = tx.Exec(ctx, deleteRemoval, c.Tenant, object, id)
	}
	return len(left) > 0, err
}
