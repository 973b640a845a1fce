package recheck

import (
	"context"
	"errors"
	"slices"

	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/platform/sqldb"
)

// What is kept in memory, and how it is brought up to date.
const (
	MaxHeld = 1_000_000 // strategies in the indexes of a process; those of other tenants make room
	chunk   = 20_000    // strategies that one transaction takes over

	maxIndexes = 1000 // tenants whose strategies are in memory
)

const (
	selectRevision = "SELECT revision FROM pdca_tenant WHERE tenant_id = $1"
	selectChanged  = "SELECT revision, id, name, tags, health, last_checked_at FROM pdca_strategy WHERE tenant_id = " +
		"$1 AND revision > $2 ORDER BY revision LIMIT $3"
)

// whereIDs is the rest of a SELECT of the strategies with some ids.
func whereIDs(b *sqldb.Binds, tx *sqldb.Tx, tenant string, ids []string) string {
	return " FROM pdca_strategy WHERE tenant_id = " + b.Add(tenant) + " AND " + b.OneOf(tx, "id", ids)
}

// byIDs reads strategies by their ids, in no order.
func byIDs(ctx context.Context, tx *sqldb.Tx, tenant string, ids []string) ([]Strategy, error) {
	b := sqldb.Binds{}
	where := whereIDs(&b, tx, tenant, ids)
	return sqldb.Collect(ctx, tx, scanStrategy, "SELECT "+strategyColumns+where, b.Args()...)
}

// List is a page of a tenant's strategies, and how many there are on all pages.
//
// The index is locked before the transaction begins, so that the transaction sees all
// that the index knows; if it sees no more, then the page is of exactly its state.
func (s *Strategies) List(ctx context.Context, tenant string, q Query) (page []Strategy, total int, err error) {
	x := s.use(tenant)
	err = s.current(ctx, x, tenant, func(ctx context.Context, tx *sqldb.Tx) error {
		page, total, err = x.read(ctx, tx, tenant, &q)
		return err
	})
	return page, total, fault.Wrap("recheck.list", err)
}

// errOld says that the tables know more than the index.
var errOld = errors.New("recheck: the index is not current")

// inTx is done in a transaction.
type inTx = func(context.Context, *sqldb.Tx) error

// current calls fn with an index that is current, in the transaction that says so.
func (s *Strategies) current(ctx context.Context, x *index, tenant string, fn inTx) error {
	err := s.glance(ctx, x, tenant, fn)
	if errors.Is(err, errOld) {
		err = s.refresh(ctx, x, tenant, fn)
	}
	return err
}

// glance calls fn if the index is current, beside other readers.
func (s *Strategies) glance(ctx context.Context, x *index, tenant string, fn inTx) error {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return s.db.Read(ctx, func(ctx context.Context, tx *sqldb.Tx) error {
		newest, err := revisionOf(ctx, tx, tenant)
		if err == nil && newest != x.revision {
			err = errOld
		}
		if err != nil {
			return err
		}
		return fn(ctx, tx)
	})
}

// refresh brings the index up to date and calls fn with it. A transaction takes over a chunk, so
// that a call that has no time for all changes does not lose those that it took over.
func (s *Strategies) refresh(ctx context.Context, x *index, tenant string, fn inTx) (err error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for current := false; err == nil && !current; {
		err = s.db.Read(ctx, func(ctx context.Context, tx *sqldb.Tx) (err error) {
			if current, err = x.catchUp(ctx, tx, tenant); err == nil && current {
				err = fn(ctx, tx)
			}
			return err
		})
		s.grown(x)
	}
	return err
}

func revisionOf(ctx context.Context, tx *sqldb.Tx, tenant string) (revision int64, err error) {
	err = tx.Row(ctx, selectRevision, tenant).Scan(&revision)
	if errors.Is(err, sqldb.ErrNoRow) {
		return 0, nil // of whom nothing was ever stored
	}
	return revision, err
}

// catchUp takes over the next changes. current says that there are no more.
func (x *index) catchUp(ctx context.Context, tx *sqldb.Tx, tenant string) (current bool, err error) {
	newest, err := revisionOf(ctx, tx, tenant)
	if err != nil || newest == x.revision {
		return err == nil, err
	}
	last := x.revision
	changed, err := sqldb.Collect(ctx, tx, func(row *sqldb.Row) (s Strategy, err error) {
		s, last, err = scanChanged(row)
		return s, err
	}, selectChanged, tenant, x.revision, chunk)
	if err != nil {
		return false, err
	}
	x.apply(changed)
	if current = len(changed) < chunk; current {
		last = newest
	}
	x.revision = last
	return current, nil
}

// read reads the rows of a page.
func (x *index) read(ctx context.Context, tx *sqldb.Tx, tenant string, q *Query) ([]Strategy, int, error) {
	ids, total := x.page(q)
	if len(ids) == 0 {
		return nil, total, nil
	}
	place := make(map[string]int, len(ids))
	for i, id := range ids {
		place[id] = i
	}
	rows, err := byIDs(ctx, tx, tenant, ids)
	if err == nil && len(rows) != len(ids) {
		err = errors.New("recheck: the index names strategies that the tables do not have")
	}
	page := make([]Strategy, len(ids))
	for _, s := range rows {
		page[place[s.ID]] = s
	}
	return page, total, err
}

// match is the ids of the strategies that a query wants, in the order of their ids, and how
// many there are. More than limit are not given.
func (s *Strategies) match(ctx context.Context, tenant string, q Query, limit int) (
	ids []string, total int, err error,
) {
	q.Sort, q.Offset, q.Limit = Sort{}, 0, limit
	x := s.use(tenant)
	err = s.current(ctx, x, tenant, func(context.Context, *sqldb.Tx) error {
		ids, total = x.page(&q)
		return nil
	})
	return ids, total, fault.Wrap("recheck.match", err)
}

// unknown are those of some ids that no strategy has.
func (s *Strategies) unknown(ctx context.Context, tenant string, ids []string) (missing []string, err error) {
	var known []string
	err = s.db.Read(ctx, func(ctx context.Context, tx *sqldb.Tx) (err error) {
		b := sqldb.Binds{}
		where := whereIDs(&b, tx, tenant, ids)
		known, err = sqldb.Collect(ctx, tx, sqldb.Column[string], "SELECT id"+where, b.Args()...)
		return err
	})
	missing = slices.DeleteFunc(slices.Clone(ids), func(id string) bool { return slices.Contains(known, id) })
	return missing, fault.Wrap("recheck.unknown", err)
}

// use is the index of a tenant, empty at first.
func (s *Strategies) use(tenant string) *index {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.clock++
	x := s.indexes[tenant]
	if x == nil {
		x = newIndex()
		s.indexes[tenant] = x
		s.evict(x)
	}
	x.used = s.clock
	return x
}

// grown notes the size of an index that was brought up to date.
func (s *Strategies) grown(x *index) {
	s.mu.Lock()
	defer s.mu.Unlock()
	x.size = len(x.entries)
	s.evict(x)
}

// evict drops the indexes that were not used longest, as long as there are too many or all together
// are too large. Who reads one of them reads on.
func (s *Strategies) evict(keep *index) {
	for {
		total, oldest := 0, ""
		for tenant, x := range s.indexes {
			total += x.size
			if x != keep && (oldest == "" || x.used < s.indexes[oldest].used) {
				oldest = tenant
			}
		}
		if total <= s.most && len(s.indexes) <= maxIndexes || oldest == "" {
			return
		}
		delete(s.indexes, oldest)
	}
}
