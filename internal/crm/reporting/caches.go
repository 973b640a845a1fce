package reporting

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/platform/sqldb"
)

// MaxCached is how many facts a process caches, of all tenants together: about 100 MB.
const MaxCached = 1_000_000

const (
	cacheFrom     = 500     // a report of a caller who sees more records individually has the tenant cached
	maxIndividual = 200_000 // ids that are read for a report; with more it is made from the tables
	maxPast       = 10_000  // former facts of a tenant
	maxCatchUp    = 2000    // changed facts that a report reads; with more it is made from the tables
	maxBackground = 100_000 // changed facts that are read in the background; with more all are read anew
	fillChunk     = 5000
	catchUpEvery  = time.Second      // so that reports find few changes
	idleCache     = 10 * time.Minute // after which a cache that nobody asked for is dropped
	spareCache    = time.Minute      // before which none is dropped to make room for others
	retryFill     = 10 * time.Second // after which facts that could not be read are tried again
)

// caches are the caches of the tenants that were asked for lately.
type caches struct {
	*Reporting
	mu     sync.Mutex
	of     map[string]*entry // by tenant
	wake   chan struct{}     // holds a token when a cache is requested
	most   int               // facts of all
	chunk  int               // facts that are read in one transaction
	now    func() time.Time
	hits   atomic.Int64 // reports that were made from a cache
	misses atomic.Int64 // reports that could have been, and were made from the tables
}

// entry is a cache; nil: it is requested, and yet to be read.
type entry struct {
	cache *cache
	asked time.Time
	after time.Time // before then it is not tried again to read it
}

func newCaches(s *Reporting) *caches {
	return &caches{
		Reporting: s, of: map[string]*entry{}, wake: make(chan struct{}, 1), most: MaxCached, chunk: fillChunk,
		now: time.Now,
	}
}

// find is the cache of a tenant, nil when there is none; known says that there is or will be one.
func (s *caches) find(tenant string) (m *cache, known bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	k := s.of[tenant]
	if k == nil {
		return nil, false
	}
	k.asked = s.now()
	return k.cache, true
}

func (s *caches) request(tenant string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.of[tenant] != nil {
		return
	}
	s.of[tenant] = &entry{asked: s.now()}
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// put stores the cache of a tenant that is still requested.
func (s *caches) put(tenant string, m *cache) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if k := s.of[tenant]; k != nil {
		k.cache = m
	}
}

// drop removes a cache that is of no use. When it is asked for, it is read anew.
func (s *caches) drop(tenant string, m *cache) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if k := s.of[tenant]; k != nil && k.cache == m {
		delete(s.of, tenant)
	}
}

func (s *caches) pause(tenant string, by time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if k := s.of[tenant]; k != nil {
		k.after = s.now().Add(by)
	}
}

// all are the caches by tenant, and nil for those that are to be read now.
func (s *caches) all() map[string]*cache {
	s.mu.Lock()
	defer s.mu.Unlock()
	all, now := make(map[string]*cache, len(s.of)), s.now()
	for tenant, k := range s.of {
		if k.cache != nil || !now.Before(k.after) {
			all[tenant] = k.cache
		}
	}
	return all
}

// room makes room for more facts and reports whether there is. Idle caches are dropped in any case, then
// the least recently used; but to add facts, none that was just used: two tenants that do not fit in
// together would be read in turn.
func (s *caches) room(facts int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	now, total, spare := s.now(), facts, 0
	maps.DeleteFunc(s.of, func(_ string, k *entry) bool { return now.Sub(k.asked) > idleCache })
	var may []string
	for tenant, k := range s.of {
		total += k.cache.size()
		if k.cache != nil && (facts == 0 || now.Sub(k.asked) > spareCache) {
			may, spare = append(may, tenant), spare+k.cache.size()
		}
	}
	if total-spare > s.most {
		return false
	}
	slices.SortFunc(may, func(a, b string) int { return s.of[a].asked.Compare(s.of[b].asked) })
	for _, tenant := range may {
		if total <= s.most {
			break
		}
		total -= s.of[tenant].cache.size()
		delete(s.of, tenant)
	}
	return true
}

// run keeps caches current until ctx ends.
func (s *caches) run(ctx context.Context) {
	tick := time.NewTicker(catchUpEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-s.wake:
		case <-tick.C:
		}
		s.refreshAll(ctx, func(err error) {
			if ctx.Err() == nil && fault.KindOf(err) != fault.Unavailable {
				s.cfg.Log.ErrorContext(ctx, "facts could not be cached", "service", service, "error", err)
			}
		})
	}
}

// refreshAll brings all caches up to date and reads those that are requested.
func (s *caches) refreshAll(ctx context.Context, failed func(error)) {
	s.room(0)
	s.catchUpAll(ctx, failed)
	for tenant, m := range s.all() {
		if m == nil {
			if err := s.fill(ctx, tenant, failed); err != nil {
				failed(err)
			}
		}
	}
}

func (s *caches) catchUpAll(ctx context.Context, failed func(error)) {
	for tenant, m := range s.all() {
		if m != nil {
			if err := s.catchUp(ctx, tenant, m); err != nil {
				failed(err)
			}
		}
	}
}

// catchUp brings a cache up to date, so that reports have little to read.
func (s *caches) catchUp(ctx context.Context, tenant string, m *cache) error {
	err := s.DB.Read(ctx, func(ctx context.Context, tx *sqldb.Tx) error {
		since, n, ok, err := m.newer(ctx, tx, tenant, maxBackground)
		if err == nil && !ok {
			err = errLost
		}
		if err == nil {
			m.apply(since, n)
		}
		return err
	})
	if errors.Is(err, errLost) || errors.Is(err, errMany) {
		s.drop(tenant, m)
		return nil
	}
	return err
}

// newer reads what has changed between a version that a cache remembers and the one that a
// transaction sees; ok says that there is such a version.
func (m *cache) newer(ctx context.Context, tx *sqldb.Tx, tenant string, most int) (
	since dataVersion, n changes, ok bool, err error,
) {
	now, err := versionIn(ctx, tx, tenant)
	if err != nil {
		return since, n, false, err
	}
	if since, ok = m.base(now.num); ok {
		n, err = changesSince(ctx, tx, tenant, since, now, most)
	}
	return since, n, ok, err
}

// fill reads the facts of a tenant, some in each transaction, and keeps the other caches up to date
// meanwhile.
func (s *caches) fill(ctx context.Context, tenant string, failed func(error)) error {
	f, kept := &filling{tenant: tenant}, time.Now()
	for !f.over {
		err := s.fillSome(ctx, f)
		switch {
		case errors.Is(err, errMany):
			s.pause(tenant, spareCache)
			return nil
		case err != nil:
			s.pause(tenant, retryFill)
			if errors.Is(err, errLost) {
				return nil
			}
			return err
		}
		if time.Since(kept) > catchUpEvery {
			s.catchUpAll(ctx, failed)
			kept = time.Now()
		}
	}
	s.put(tenant, f.cache)
	return nil
}

// filling is a cache that is being read.
type filling struct {
	tenant string
	cache  *cache // nil: nothing is read yet
	place  string // the last that was read
	over   bool
}

// fillSome reads some more facts, after bringing those that it has up to date; so in the end all are of
// the version that the last transaction sees.
func (s *caches) fillSome(ctx context.Context, f *filling) error {
	err := s.DB.Read(ctx, func(ctx context.Context, tx *sqldb.Tx) error {
		now, err := versionIn(ctx, tx, f.tenant)
		if err != nil {
			return err
		}
		if f.cache == nil {
			n, err := s.cfg.Records.Count(ctx, tx, f.tenant, objOpportunity)
			if err != nil {
				return err
			}
			if !s.room(n) {
				return errMany
			}
			f.cache = newCache(now, maxPast)
		}
		c, err := changesSince(ctx, tx, f.tenant, f.cache.now, now, maxBackground)
		if err != nil {
			return err
		}
		f.cache.apply(f.cache.now, c)
		f.cache.past, f.cache.olds = nil, 0 // what it did not have yet is no former fact
		f.place, err = f.cache.read(ctx, tx, f.tenant, f.place, s.chunk)
		f.over = f.place == ""
		return err
	})
	if err == nil && f.cache.size() > s.most {
		err = errMany
	}
	return err
}

// read reads some facts behind an id and gives the last one, "" when there are no more.
func (m *cache) read(ctx context.Context, tx *sqldb.Tx, tenant, after string, limit int) (last string, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	defer m.count()
	rows := 0
	for row, err := range tx.Query(ctx, "SELECT "+opportunityColumns+
		", id FROM reporting_opportunity WHERE tenant_id = $1 AND id > $2 ORDER BY id LIMIT $3", tenant, after, limit) {
		if err != nil {
			return "", err
		}
		o, err := scanOpportunity(row, &last)
		if err != nil {
			return "", err
		}
		m.set(keyOf(last), o)
		rows++
	}
	if rows < limit {
		return "", nil
	}
	return last, nil
}

// fromCache sums up the records that the caller sees individually, and reports whether it could: their
// facts have to be cached, in the version that the transaction sees.
func (w *session) fromCache(ctx context.Context, a *asking, each func(*cell)) (bool, error) {
	cube, cached := cubeNumbers[a.cube]
	if !cached || w.cfg.limits.cacheFrom < 0 || a.few != nil && !a.few.individual {
		return false, nil
	}
	m, known := w.caches.find(w.Caller.Tenant)
	if m == nil {
		if known {
			return false, nil
		}
		many, err := w.seesManyIndividually(ctx, a)
		if many {
			w.caches.request(w.Caller.Tenant)
		}
		return false, err
	}
	ids, owners, all, err := w.individual(ctx, a)
	switch {
	case err != nil || all:
		return false, err
	case len(ids) == 0:
		return true, nil // there is nothing to look up
	case (len(ids)+1)/len(uuidText) >= maxIndividual:
		return false, nil
	}
	of := &wanted{cube: cube, byOwner: a.byOwner, key: a.counts, owner: func(id string) bool {
		return a.ofOwner(id, owners)
	}}
	ok, err := w.sum(ctx, m, ids, of, each)
	if ok {
		w.caches.hits.Add(1)
	} else {
		w.caches.misses.Add(1)
	}
	return ok, err
}

// uuidText is as long as the id of a record and what separates it from the next one.
const uuidText = "00000000-0000-7000-8000-000000000000,"

// sum adds up what a cache has of some records, in the version that the transaction sees.
func (w *session) sum(ctx context.Context, m *cache, ids string, of *wanted, each func(*cell)) (bool, error) {
	since, n, ok, err := m.newer(ctx, w.Tx, w.Caller.Tenant, maxCatchUp)
	switch {
	case errors.Is(err, errLost):
		w.caches.drop(w.Caller.Tenant, m)
		return false, nil
	case errors.Is(err, errMany):
		return false, nil
	case err != nil || !ok:
		return false, err
	}
	return m.sum(ids, since, n, of, each), nil
}

// seesManyIndividually reports whether the caller sees enough records individually for the tenant to be cached.
func (w *session) seesManyIndividually(ctx context.Context, a *asking) (bool, error) {
	var b sqldb.Binds
	seen, err := w.seen(ctx, a, &b)
	if err != nil || seen.All || seen.Records == "" {
		return false, err
	}
	most, n := w.cfg.limits.cacheFrom, 0
	err = w.Tx.Row(ctx, "SELECT count(*) FROM (SELECT x.id FROM ("+seen.Records+") AS x LIMIT "+b.Add(max(most, 1))+
		") AS y", b.Args()...).Scan(&n)
	return n >= max(most, 1), err
}

// individual are the ids of the records that the caller sees individually, and the owners of whom it sees
// all. They travel as two texts: as rows they cost several times as much.
func (w *session) individual(ctx context.Context, a *asking) (ids string, owners map[string]bool, all bool, err error) {
	var b sqldb.Binds
	seen, err := w.seen(ctx, a, &b)
	if err != nil || seen.All || seen.Records == "" {
		return "", nil, seen.All, err
	}
	// string_agg is a function of both databases.
	together := func(column, query string) string {
		return "(SELECT string_agg(x." + column + ", ',') FROM (" + query + ") AS x)"
	}
	reached, text := "''", ""
	if a.few == nil {
		reached = together("owner_id", seen.Owners)
	}
	if err := w.Tx.Row(ctx, "SELECT coalesce("+reached+", ''), coalesce("+together("id", "SELECT y.id FROM ("+
		seen.Records+") AS y LIMIT "+b.Add(maxIndividual))+", '')", b.Args()...).Scan(&text, &ids); err != nil {
		return "", nil, false, err
	}
	return ids, setOf(text), false, nil
}
