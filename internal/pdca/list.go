package pdca

import (
	"context"
	"errors"

	"github.com/go-json-experiment/json"

	"renga.dev/renga/internal/fault"
	"renga.dev/renga/internal/sqldb"
)

// What is kept in memory, and how it is brought up to date.
const (
	MaxHeld = 1_000_000 // strategies in the indexes of a process; those of other tenants make room
	chunk   = 20_000    // strategies that one transaction takes over

	maxIndexes = 1000 // tenants whose strategies are in memory
)

const (
	selectRevision = "SELECT revision FROM pdca_tenant WHERE tenant_id = $1"
	selectChanged  = "SELECT revision, id, name, tags, health, last_checked_at FROM pdca_strategy WHERE tenant_id = $1 AND revision > $2 ORDER BY revision LIMIT $3"
)

// selectPage reads strategies by their ids, in no order.
var selectPage = map[sqldb.Dialect]string{
	sqldb.SQLite:   "SELECT " + strategyColumns + " FROM pdca_strategy WHERE tenant_id = $1 AND id IN (SELECT value FROM json_each($2))",
	sqldb.Postgres: "SELECT " + strategyColumns + " FROM pdca_strategy WHERE tenant_id = $1 AND id = ANY($2)",
}

// List is a page of a tenant's strategies, and how many there are on all pages.
//
// The index is locked before the transaction begins, so that the transaction sees all
// that the index knows; if it sees no more, then the page is of exactly its state.
func (s *Strategies) List(ctx context.Context, tenant string, q Query) (page []Strategy, total int, err error) {
	x := s.use(tenant)
	page, total, err = s.read(ctx, x, tenant, &q)
	if errors.Is(err, errOld) {
		page, total, err = s.refresh(ctx, x, tenant, &q)
	}
	return page, total, fault.Wrap("pdca.list", err)
}

// errOld says that the tables know more than the index.
var errOld = errors.New("pdca: the index is not current")

// read reads a page with an index that is current, beside other readers.
func (s *Strategies) read(ctx context.Context, x *index, tenant string, q *Query) (page []Strategy, total int, err error) {
	x.mu.RLock()
	defer x.mu.RUnlock()
	err = s.db.Read(ctx, func(ctx context.Context, tx *sqldb.Tx) error {
		newest, err := revisionOf(ctx, tx, tenant)
		if err == nil && newest != x.revision {
			err = errOld
		}
		if err == nil {
			page, total, err = x.read(ctx, tx, tenant, q)
		}
		return err
	})
	return page, total, err
}

// refresh brings the index up to date and reads a page with it. A transaction takes over
// no more than a chunk, so that what was taken over is not lost when there is more than
// one call has time for.
func (s *Strategies) refresh(ctx context.Context, x *index, tenant string, q *Query) (page []Strategy, total int, err error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for current := false; err == nil && !current; {
		err = s.db.Read(ctx, func(ctx context.Context, tx *sqldb.Tx) error {
			if current, err = x.catchUp(ctx, tx, tenant); err == nil && current {
				page, total, err = x.read(ctx, tx, tenant, q)
			}
			return err
		})
		s.grown(x)
	}
	return page, total, err
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
	err = tx.Batch(ctx, sqldb.Stmt{Query: selectChanged, Args: []any{tenant, x.revision, chunk}, Row: func(r *sqldb.Row) error {
		s, revision, err := scanChanged(r)
		changed, last = append(changed, s), revision
		return err
	}})
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
	var wanted any = ids
	if tx.Dialect() == sqldb.SQLite {
		list, err := json.Marshal(ids)
		if err != nil {
			return nil, 0, err
		}
		wanted = string(list)
	}
	page, found := make([]Strategy, len(ids)), 0
	err := tx.Batch(ctx, sqldb.Stmt{Query: selectPage[tx.Dialect()], Args: []any{tenant, wanted}, Row: func(r *sqldb.Row) error {
		s, err := scanStrategy(r)
		page[place[s.ID]] = s
		found++
		return err
	}})
	if err == nil && found != len(ids) {
		err = errors.New("pdca: the index names strategies that the tables do not have")
	}
	return page, total, err
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
