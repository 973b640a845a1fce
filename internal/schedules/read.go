package schedules

import (
	"context"
	"errors"
	"slices"

	"renga.dev/renga/internal/platform/canonical"
	"renga.dev/renga/internal/platform/sqldb"
)

// Get is a schedule.
func (s *Schedules) Get(ctx context.Context, tenant, id string) (found Schedule, err error) {
	err = s.read(ctx, "get", func(ctx context.Context, tx *sqldb.Tx) error {
		found, err = get(ctx, tx, tenant, id)
		return err
	})
	return found, err
}

func get(ctx context.Context, tx *sqldb.Tx, tenant, id string) (Schedule, error) {
	found, err := scanSchedule(tx.Row(ctx, selectRow, tenant, id))
	if errors.Is(err, sqldb.ErrNoRow) {
		err = unknown(id)
	}
	return found, err
}

// List is a page of a tenant's schedules, by id, and how many there are.
func (s *Schedules) List(ctx context.Context, tenant string, offset, limit int) (
	page []Schedule, total int, err error,
) {
	err = s.read(ctx, "list", func(ctx context.Context, tx *sqldb.Tx) error {
		if err := tx.Row(ctx, countRows, tenant).Scan(&total); err != nil {
			return err
		}
		page, err = sqldb.Collect(ctx, tx, scanSchedule, selectRows, tenant, limit, offset)
		return err
	})
	return page, total, err
}

// MaxNext is how many instants to come a preview shows.
const MaxNext = 100

// Instant is a time to come of a schedule, and what a clock in its zone shows then.
type Instant struct {
	DueAt     canonical.Stamp `json:"dueAt"`
	LocalTime string          `json:"localTime"`
}

// Next are the instants of a schedule that come next. Those of a paused schedule come, too, and are skipped.
func (s *Schedules) Next(ctx context.Context, tenant, id string, n int) ([]Instant, error) {
	found, err := s.Get(ctx, tenant, id)
	if err != nil {
		return nil, err
	}
	t, err := found.timing()
	if err != nil {
		return nil, err
	}
	list := []Instant{}
	for at := found.NextAt; at > 0 && len(list) < n; at = t.next(at) {
		list = append(list, Instant{at, found.local(at)})
	}
	return list, nil
}

// RunQuery is which rows of the ledger are wanted; what is zero is any.
type RunQuery struct {
	Outcome       Outcome
	From, To      canonical.Stamp // of due instants; To is not among them
	Offset, Limit int
}

// Runs is a page of a schedule's ledger, the newest instants first, and how many rows there are. The ledger of a
// schedule that was deleted is still there.
func (s *Schedules) Runs(ctx context.Context, tenant, id string, q RunQuery) (page []Run, total int, err error) {
	binds := sqldb.Bind(tenant, id)
	where := " FROM schedules_run WHERE tenant_id = $1 AND schedule_id = $2"
	if q.Outcome != 0 {
		where += " AND outcome = " + binds.Add(q.Outcome)
	}
	if q.From > 0 {
		where += " AND last_at >= " + binds.Add(q.From)
	}
	if q.To > 0 {
		where += " AND due_at < " + binds.Add(q.To)
	}
	counted := slices.Clip(binds.Args())
	rows := "SELECT " + runColumns + where + " ORDER BY due_at DESC, origin DESC LIMIT " + binds.Add(q.Limit) +
		" OFFSET " + binds.Add(q.Offset)
	err = s.read(ctx, "runs", func(ctx context.Context, tx *sqldb.Tx) error {
		if err := tx.Row(ctx, "SELECT count(*)"+where, counted...).Scan(&total); err != nil {
			return err
		}
		if total == 0 {
			return known(ctx, tx, tenant, id)
		}
		page, err = sqldb.Collect(ctx, tx, scanRun, rows, binds.Args()...)
		return err
	})
	return page, total, err
}

// known refuses the id of a schedule that is not there and has no ledger.
func known(ctx context.Context, tx *sqldb.Tx, tenant, id string) error {
	var n int
	err := tx.Row(ctx, `SELECT count(*) FROM (SELECT 1 FROM schedules_run WHERE tenant_id = $1 AND schedule_id = $2
		LIMIT 1) AS one`, tenant, id).Scan(&n)
	if err == nil && n == 0 {
		_, err = get(ctx, tx, tenant, id)
	}
	return err
}
