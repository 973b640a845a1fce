package recheck

import (
	"context"
	"errors"

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

// selectPage reads strategies by their ids, in no order.
var selectPage = map[sqldb.Dialect]string{
	sqldb.SQLite: "SELECT " + strategyColumns +
		" FROM pdca_strategy WHERE tenant_id = $1 AND id IN (SELECT value FROM json_each($2))",
	sqldb.Postgres: "SELECT " + strategyColumns + " FROM pdca_strategy WHERE tenant_id = $1 AND id = ANY($2)",
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
var errOld = errors.New("pdca: the index is not current")

// current calls fn with an index that is current, in the transaction that says so.
func (s *Strategies) current(ctx context.Context, x *index, tenant string, fn func(context.Context,
	*sqldb.Tx) error,
) error {
	err := s.glance(ctx, x, tenant, fn)
	if errors.Is(err, errOld) {
		err = s.refresh(ctx, x, tenant, fn)
	}
	return err
}

// glance calls fn if the index is current, beside other readers.
func (s *Strategies) glance(ctx context.Context, x *index, tenant string, fn func(context.Context,
	*sqldb.Tx) error,
) error {
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

// refresh brings the index up to date and calls fn with it. A transaction takes over
// no more than a chunk, so that what was taken over is not lost when there is more than
// one call has time for.
func (s *Strategies) refresh(ctx context.Context, x *index, tenant string, fn func(context.Context, *sqldb.Tx) error) (
	err error,
) {
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
	var changed []Strategy
	last := x.revision
	err = tx.Batch(ctx, sqldb.Stmt{
		Query: selectChanged, Args: []any{tenant, x.revision, chunk},
		Row: func(r *sqldb.Row) error {
			s, revision, err := scanChanged(r)
			changed, last = append(changed, s), revision
			return err
		},
	})
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
	wanted, err := texts(tx, ids)
	if err != nil {
		return nil, 0, err
	}
	page, found := make([]Strategy, len(ids)), 0
	err = tx.Batch(ctx, sqldb.Stmt{
		Query: selectPage[tx.Dialect()], Args: []any{tenant, wanted},
		Row: func(r *sqldb.Row) error {
			s, err := scanStrategy(r)
			page[place[s.ID]] = s
			found++
			return err
		},
	})
	if err == nil && found != len(ids) {
		err = errors.New("pdca: the index names strategies that the tables do not have")
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

// selectIDs reads which of some ids there are.
var selectIDs = map[sqldb.Dialect]string{
	sqldb.SQLite:   "SELECT id FROM pdca_strategy WHERE tenant_id = $1 AND id IN (SELECT value FROM json_each($2))",
	sqldb.Postgres: "SELECT id FROM pdca_strategy WHERE tenant_id = $1 AND id = ANY($2)",
}

// unknown are those of some ids that no strategy has.
func (s *Strategies) unknown(ctx context.Context, tenant string, ids []string) (missing []string, err error) {
	known := make(map[string]bool, len(ids))
	err = s.db.Read(ctx, func(ctx context.Context, tx *sqldb.Tx) error {
		list, err := texts(tx, ids)
		if err != nil {
			return err
		}
		return tx.Batch(ctx, sqldb.Stmt{
			Query: selectIDs[tx.Dialect()], Args: []any{tenant, list},
			Row: func(r *sqldb.Row) error {
				var id string
				err := r.Scan(&id)
				known[id] = true
				return err
			},
		})
	})
	for _, id := range ids {
		if !known[id] {
			missing = append(missing, id)
		}
	}
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
		x.used = s.clock
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

// evict forgets the indexes that were not used longest, as long as there are too many or
// all together are too large. Who reads one that is forgotten reads on.
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
