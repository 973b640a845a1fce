package bus

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"renga.dev/renga/internal/platform/canonical"
	"renga.dev/renga/internal/platform/sqldb"
)

// On PostgreSQL each day of processed_events is a table, made ahead and dropped as a whole. Other days go to
// processed_events_rest.
const (
	dayTable   = "processed_events_"
	daysAhead  = 3
	daysBehind = 1
	daysLock   = 0x72656e676164 // "rengad", advisory lock
)

// firstDay is the oldest day that is kept.
func firstDay(now canonical.Stamp) int64 {
	return dayOf(now - canonical.Stamp(ProcessedFor.Milliseconds()))
}

func (r *retention) retainDays(ctx context.Context, tx *sqldb.Tx, now canonical.Stamp) (int64, error) {
	return tx.Exec(ctx, queriesOf(tx).trimProcessed, firstDay(now), retainRows)
}

// prepareDays makes and drops day tables, like other processes.
func (r *retention) prepareDays(ctx context.Context) error {
	if !queriesOf(r.bus.db).dayTables {
		return nil
	}
	var now canonical.Stamp
	var have []int64
	err := r.bus.read(ctx, "bus.days", func(ctx context.Context, tx *sqldb.Tx) (err error) {
		if now, err = r.bus.now(ctx, tx); err == nil {
			have, err = dayTables(ctx, tx)
		}
		return err
	})
	if err != nil {
		return err
	}
	has := map[int64]bool{}
	for _, d := range have {
		has[d] = true
		if d < firstDay(now) {
			if err := r.alterDays(ctx, "DROP TABLE IF EXISTS "+dayName(d)); err != nil {
				return err
			}
		}
	}
	today := dayOf(now)
	for d := today - daysBehind; d <= today+daysAhead; d++ {
		if has[d] {
			continue
		}
		if err := r.makeDay(ctx, d); err != nil {
			return err
		}
	}
	return nil
}

// makeDay makes a day's table, unless the rest has rows of that day.
func (r *retention) makeDay(ctx context.Context, d int64) error {
	late, err := readValue[bool](ctx, r.bus, "bus.days",
		"SELECT EXISTS (SELECT 1 FROM processed_events_rest WHERE day = $1)", d)
	if err != nil || late {
		return err
	}
	return r.alterDays(ctx, fmt.Sprintf(
		"CREATE TABLE IF NOT EXISTS %s PARTITION OF processed_events FOR VALUES FROM (%d) TO (%d)", dayName(d), d, d+1))
}

// alterDays changes tables, one process at a time.
func (r *retention) alterDays(ctx context.Context, query string) error {
	return r.bus.write(ctx, "bus.days", func(ctx context.Context, tx *sqldb.Tx) error {
		_, err := tx.Exec(ctx, "SELECT pg_advisory_xact_lock($1)", int64(daysLock))
		if err == nil {
			_, err = tx.Exec(ctx, query)
		}
		return err
	})
}

func dayName(d int64) string { return dayTable + "d" + strconv.FormatInt(d, 10) }

func dayTables(ctx context.Context, tx *sqldb.Tx) (days []int64, err error) {
	names, err := sqldb.Collect(ctx, tx, sqldb.Column[string], `SELECT c.relname::text FROM pg_inherits i
		JOIN pg_class c ON c.oid = i.inhrelid WHERE i.inhparent = 'processed_events'::regclass`)
	for _, name := range names {
		if d, err := strconv.ParseInt(strings.TrimPrefix(name, dayTable+"d"), 10, 64); err == nil {
			days = append(days, d)
		}
	}
	return days, err
}
