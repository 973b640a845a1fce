package records

import (
	"context"
	"errors"

	"renga.dev/renga/internal/crm/model"
	"renga.dev/renga/internal/platform/events"
	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/platform/sqldb"
)

// settle writes the outcome of an approval into its record, as a change like any other,
// and notes that in the same transaction: what is noted is not done again, however the
// event comes. A record that rules refuse stays as it is, and why is kept for those who
// look at the approval: nobody could repair it by sending the event again.
func (s consumer) settle(ctx context.Context, tx *sqldb.Tx, e *events.Event, approval string, o model.Outcome) error {
	if _, done, err := (Locks{}).Settled(ctx, tx, e.Tenant, approval); err != nil || done {
		return err
	}
	results, err := s.Set(ctx, tx, e.Tenant, e.CorrelationID, o.Object,
		[]model.Change{{ID: o.RecordID, Fields: o.Fields}})
	if err != nil {
		return err
	}
	got := results[0]
	refused, changed := "", false
	switch kind := fault.KindOf(got.Err); {
	case got.Err == nil:
		changed = got.Changed
	case kind == fault.Internal || kind == fault.Unavailable:
		return got.Err
	default:
		failure, _ := fault.As(got.Err)
		refused, got.Version = failure.Message, 0
	}
	return s.noteOutcome(ctx, tx, e, approval, o, model.Settled{
		Version: got.Version, Changed: changed,
		Refused: refused,
	})
}

// noteOutcome notes what became of the outcome of an approval, and publishes one that was
// refused.
func (s consumer) noteOutcome(ctx context.Context, tx *sqldb.Tx, e *events.Event, approval string, o model.Outcome,
	got model.Settled,
) error {
	changed := 0
	if got.Changed {
		changed = 1
	}
	_, err := tx.Exec(ctx, `
		INSERT INTO records_outcome (tenant_id, approval_id, object, record_id, version, changed, refused, at)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`, e.Tenant, approval, o.Object, o.RecordID, got.Version, changed,
		got.Refused, s.cfg.Now().UnixMilli())
	if err != nil || got.Refused == "" {
		return err
	}
	return s.notifier.OutcomeRefused(ctx, tx, e, o)
}

// Settled is what became of the outcome of an approval; ok says that something did.
func (Locks) Settled(ctx context.Context, tx *sqldb.Tx, tenant, approval string) (
	got model.Settled, ok bool, err error,
) {
	var changed int64
	err = tx.Row(ctx, "SELECT version, changed, refused FROM records_outcome WHERE tenant_id = $1 AND approval_id = $2",
		tenant, approval).
		Scan(&got.Version, &changed, &got.Refused)
	if errors.Is(err, sqldb.ErrNoRow) {
		return got, false, nil
	}
	got.Changed = changed != 0
	return got, err == nil, err
}

// Held is an approval that keeps fields of a record as they are; "": none does.
func (Locks) Held(ctx context.Context, tx *sqldb.Tx, tenant, object, record string) (approval string, err error) {
	err = tx.Row(ctx, "SELECT approval_id FROM records_lock WHERE tenant_id = $1 AND object = $2 AND record_id = $3 "+
		"LIMIT 1", tenant, object, record).Scan(&approval)
	if errors.Is(err, sqldb.ErrNoRow) {
		err = nil
	}
	return approval, err
}
