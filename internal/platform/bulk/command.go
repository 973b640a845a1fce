package bulk

import (
	"context"
	"errors"
	"time"

	"github.com/google/uuid"

	"renga.dev/renga/internal/platform/fault"

	"renga.dev/renga/internal/platform/canonical"
	"renga.dev/renga/internal/platform/sqldb"
)

type Request struct {
	Tenant        string
	Kind          string
	Spec          []byte // JSON of the kind
	Actor         string // "": unknown
	CorrelationID string
	Idempotency   canonical.IdempotencyKey
}

type Order struct {
	Tenant        string
	ID            string
	Actor         string
	CorrelationID string
	Idempotency   canonical.IdempotencyKey
}

// Create freezes a set and does nothing to it. It is fault.TooLarge for too many items or bulks.
func (s *Bulks) Create(ctx context.Context, r Request) (Answer, error) {
	kind := s.cfg.Kinds[r.Kind]
	if kind == nil {
		return Answer{}, fault.New(fault.Invalid, canonical.CodeInvalid, "there is no bulk of the kind %.64q", r.Kind)
	}
	known, b, err := s.prepare(ctx, &r)
	if err != nil {
		return Answer{}, err
	}
	if known != nil {
		return *known, nil
	}
	n, err := kind.Count(ctx, b)
	if err != nil {
		return Answer{}, fault.Wrap("bulk.count", err)
	}
	if n > s.cfg.limits.items {
		return Answer{}, fault.New(fault.TooLarge, "BULK_TOO_LARGE",
			"the filter selects %d items and a bulk has at most %d; make it narrower", n, s.cfg.limits.items).
			With(map[string]int{"items": n, "maxItems": s.cfg.limits.items})
	}
	names, last, err := kind.Select(ctx, b, "", s.cfg.limits.freeze)
	if err != nil {
		return Answer{}, fault.Wrap("bulk.freeze", err)
	}
	ans, err := s.insert(ctx, &r, b, names, last)
	if err != nil || ans.Status != Freezing {
		return ans, err
	}
	s.wake()
	return ans, s.passed(ctx, b.CreatedAt)
}

// prepare looks up the key and makes the bulk. Its set is that of CreatedAt.
func (s *Bulks) prepare(ctx context.Context, r *Request) (known *Answer, b *Bulk, err error) {
	err = s.read(ctx, "bulk.create", func(ctx context.Context, tx *sqldb.Tx) error {
		now, err := s.now(ctx, tx)
		if err != nil {
			return err
		}
		b = &Bulk{
			ID: uuid.Must(uuid.NewV7()).String(), Tenant: r.Tenant, Kind: r.Kind, Spec: r.Spec,
			CreatedBy: r.Actor, CorrelationID: r.CorrelationID, CreatedAt: instant(now),
		}
		known, err = s.recall(ctx, tx, s.request(r.Tenant, &r.Idempotency, now))
		return err
	})
	return known, b, err
}

func (s *Bulks) insert(
	ctx context.Context, r *Request, b *Bulk, names []string, last string,
) (ans Answer, err error) {
	status := Freezing
	if len(names) < s.cfg.limits.freeze {
		status = Preview
	}
	err = s.write(ctx, "bulk.create", func(ctx context.Context, tx *sqldb.Tx, now int64) error {
		ans, err = s.idempotent(ctx, tx, s.request(r.Tenant, &r.Idempotency, now), func() (Answer, error) {
			if err := s.room(ctx, tx, r.Tenant); err != nil {
				return Answer{}, err
			}
			err := tx.Row(ctx, `INSERT INTO bulk (id, tenant, kind, spec, status, total, applied, already, refused,
				failed, created_by, started_by, correlation_id, created_at, started_at, ended_at, changed_at, place,
				epoch, lease_until)
				VALUES ($1, $2, $3, $4, $5, $6, 0, 0, 0, 0, $7, '', $8, $9, 0, 0, $10, $11, 0, 0) RETURNING num`,
				b.ID, b.Tenant, b.Kind, b.Spec, int64(status), len(names), b.CreatedBy, b.CorrelationID,
				b.CreatedAt.UnixMilli(), now, last).Scan(&b.num)
			if err != nil {
				return Answer{}, err
			}
			return Answer{BulkID: b.ID, Status: status, Total: len(names), CorrelationID: r.CorrelationID},
				insertItems(ctx, tx, b.num, 0, names)
		})
		return err
	})
	return ans, err
}

func (s *Bulks) room(ctx context.Context, tx *sqldb.Tx, tenant string) error {
	var open int
	err := tx.Row(ctx, "SELECT count(*) FROM bulk WHERE tenant = $1 AND status < $2", tenant, int64(Done)).Scan(&open)
	if err == nil && open >= MaxOpen {
		err = fault.New(fault.TooLarge, "TOO_MANY_BULKS",
			"there are %d bulks that are not done, the most that there may be; finish some of them", open).
			With(map[string]int{"maxOpen": MaxOpen})
	}
	return err
}

// insertItems stores items after the first n.
func insertItems(ctx context.Context, tx *sqldb.Tx, bulk int64, n int, names []string) error {
	stmts := make([]sqldb.Stmt, len(names))
	for i, name := range names {
		stmts[i] = sqldb.Stmt{
			Query: "INSERT INTO bulk_item (bulk, n, name, outcome) VALUES ($1, $2, $3, 0)",
			Args:  []any{bulk, n + i + 1, name},
		}
	}
	return tx.Batch(ctx, stmts...)
}

// passed returns when the clock is past a moment: whatever is created later is not in that moment's set, even while
// freezing goes on.
func (s *Bulks) passed(ctx context.Context, moment time.Time) error {
	for {
		var now int64
		err := s.read(ctx, "bulk.create", func(ctx context.Context, tx *sqldb.Tx) (err error) {
			now, err = s.now(ctx, tx)
			return err
		})
		if err != nil || now > moment.UnixMilli() {
			return err
		}
		select {
		case <-time.After(time.Millisecond):
		case <-ctx.Done():
			return fault.Wrap("bulk.create", ctx.Err())
		}
	}
}

// Start starts a bulk, or continues a stopped one.
func (s *Bulks) Start(ctx context.Context, o Order) (Answer, error) {
	ans, err := s.order(ctx, &o, Status.start)
	if err == nil && ans.Refused == "" {
		s.wake()
	}
	return ans, err
}

// Stop stops a bulk after the chunk in progress.
func (s *Bulks) Stop(ctx context.Context, o Order) (Answer, error) {
	return s.order(ctx, &o, Status.stop)
}

func (s *Bulks) order(ctx context.Context, o *Order, decide func(Status) (Status, Guard)) (ans Answer, err error) {
	err = s.write(ctx, "bulk.order", func(ctx context.Context, tx *sqldb.Tx, now int64) error {
		ans, err = s.idempotent(ctx, tx, s.request(o.Tenant, &o.Idempotency, now), func() (Answer, error) {
			b, err := find(ctx, tx, o.Tenant, o.ID, s.hold)
			if err != nil {
				return Answer{}, err
			}
			next, guard := decide(b.Status)
			ans := Answer{BulkID: b.ID, Status: next, Total: b.Total, CorrelationID: o.CorrelationID, Refused: guard}
			if guard != "" || next == b.Status {
				return ans, nil
			}
			if next == Running {
				return ans, begin(ctx, tx, &b, o.Actor, now)
			}
			_, err = tx.Exec(ctx, "UPDATE bulk SET status = $2, changed_at = $3 WHERE num = $1",
				b.num, int64(next), now)
			return ans, err
		})
		return err
	})
	return ans, err
}

// begin starts a bulk. Run ends an empty one too.
func begin(ctx context.Context, tx *sqldb.Tx, b *Bulk, actor string, now int64) error {
	started := now
	if !b.StartedAt.IsZero() {
		started = b.StartedAt.UnixMilli()
	}
	_, err := tx.Exec(ctx, `UPDATE bulk SET status = $2, started_by = $3, started_at = $4, changed_at = $5
		WHERE num = $1`, b.num, int64(Running), actor, started, now)
	return err
}

func find(ctx context.Context, tx *sqldb.Tx, tenant, id, lock string) (Bulk, error) {
	b, err := scan(tx.Row(ctx, "SELECT "+columns+" FROM bulk WHERE id = $1 AND tenant = $2 AND status < $3"+lock,
		id, tenant, int64(gone)))
	if errors.Is(err, sqldb.ErrNoRow) {
		return b, fault.New(fault.NotFound, "BULK_NOT_FOUND", "there is no bulk %.64q", id)
	}
	return b, err
}

// Guard is the rule that refused a command.
type Guard string

const (
	GuardFrozen   Guard = "bulk_frozen"
	GuardNotEnded Guard = "bulk_not_ended"
	GuardStarted  Guard = "bulk_started"
)

func (s Status) start() (Status, Guard) {
	switch s {
	case Preview, Stopped, Running:
		return Running, ""
	case Freezing:
		return s, GuardFrozen
	}
	return s, GuardNotEnded
}

func (s Status) stop() (Status, Guard) {
	switch s {
	case Running, Stopped:
		return Stopped, ""
	case Freezing, Preview:
		return s, GuardStarted
	}
	return s, GuardNotEnded
}
