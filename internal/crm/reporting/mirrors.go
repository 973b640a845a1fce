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

// MaxMirrored is how many facts a process has in memory, of all tenants together: about
// 100 MB.
const MaxMirrored = 1_000_000

// How mirrors are kept.
const (
	manyBeside  = 500     // a report of somebody who sees more records one by one has them remembered
	maxBeside   = 200_000 // ids that are read for a report; with more it is made from the tables
	maxFormer   = 10_000  // former facts of a tenant
	maxCatchUp  = 2000    // changed facts that a report reads; with more it is made from the tables
	maxKeepUp   = 100_000 // changed facts that are read behind reports; with more all are read anew
	mirrorChunk = 5000
	keepUpEvery = time.Second      // so that reports find few changes
	idleMirror  = 10 * time.Minute // after which what nobody asked for is forgotten
	spareMirror = time.Minute      // before which nobody's is forgotten to make room for others
	retryMirror = 10 * time.Second // after which it is tried again to read what could not be read
)

// mirrors are those of the tenants that were asked for lately.
type mirrors struct {
	mu     sync.Mutex
	of     map[string]*kept // by tenant
	kick   chan struct{}    // holds a token when a mirror is wanted
	most   int              // facts of all
	chunk  int              // facts that are read in one transaction
	now    func() time.Time
	hits   atomic.Int64 // reports that were made from a mirror
	misses atomic.Int64 // reports that could have been, and were made from the tables
}

// kept is a mirror; nil: it is wanted, and yet to be read.
type kept struct {
	mirror *mirror
	asked  time.Time
	after  time.Time // before then it is not tried again to read it
}

func newMirrors() *mirrors {
	return &mirrors{
		of: map[string]*kept{}, kick: make(chan struct{}, 1), most: MaxMirrored, chunk: mirrorChunk,
		now: time.Now,
	}
}

// find is the mirror of a tenant, nil when there is none; known says that there is one, or
// is to be.
func (s *mirrors) find(tenant string) (m *mirror, known bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	k := s.of[tenant]
	if k == nil {
		return nil, false
	}
	k.asked = s.now()
	return k.mirror, true
}

// want has the facts of a tenant read, unless they are.
func (s *mirrors) want(tenant string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.of[tenant] != nil {
		return
	}
	s.of[tenant] = &kept{asked: s.now()}
	select {
	case s.kick <- struct{}{}:
	default:
	}
}

// keep puts a mirror in the place of none.
func (s *mirrors) keep(tenant string, m *mirror) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if k := s.of[tenant]; k != nil {
		k.mirror = m
	}
}

// forget forgets a mirror that is of no use. When it is asked for, it is read anew.
func (s *mirrors) forget(tenant string, m *mirror) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if k := s.of[tenant]; k != nil && k.mirror == m {
		delete(s.of, tenant)
	}
}

// refuse lets the facts of a tenant, which could not be read, be for a while.
func (s *mirrors) refuse(tenant string, pause time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if k := s.of[tenant]; k != nil {
		k.after = s.now().Add(pause)
	}
}

// told notes whether a report was made from a mirror.
func (s *mirrors) told(hit bool) {
	if hit {
		s.hits.Add(1)
	} else {
		s.misses.Add(1)
	}
}

// all are the mirrors, by tenant, and nil for those that are to be read.
func (s *mirrors) all() map[string]*mirror {
	s.mu.Lock()
	defer s.mu.Unlock()
	all, now := make(map[string]*mirror, len(s.of)), s.now()
	for tenant, k := range s.of {
		if k.mirror != nil || !now.Before(k.after) {
			all[tenant] = k.mirror
		}
	}
	return all
}

// room makes room for so many more facts and says whether there is. Those that nobody
// asked for for a while are forgotten in any case, and then, as long as there are too many,
// those that were not asked for longest; but when it is for more facts, none that somebody
// has just asked for: two tenants that do not fit in together would be read in turn. When
// there would be no room all the same, nobody has to go.
func (s *mirrors) room(facts int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	now, total, spare := s.now(), facts, 0
	maps.DeleteFunc(s.of, func(_ string, k *kept) bool { return now.Sub(k.asked) > idleMirror })
	var may []string
	for tenant, k := range s.of {
		total += k.mirror.size()
		if k.mirror != nil && (facts == 0 || now.Sub(k.asked) > spareMirror) {
			may, spare = append(may, tenant), spare+k.mirror.size()
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
		total -= s.of[tenant].mirror.size()
		delete(s.of, tenant)
	}
	return true
}

// mirror keeps mirrors until ctx ends.
func (s *Reporting) mirror(ctx context.Context) {
	tick := time.NewTicker(keepUpEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-s.mirrors.kick:
		case <-tick.C:
		}
		s.refreshMirrors(ctx, func(err error) {
			if ctx.Err() == nil && fault.KindOf(err) != fault.Unavailable && s.cfg.Log != nil {
				s.cfg.Log.ErrorContext(ctx, "facts could not be remembered", "service", consumerName, "error", err)
			}
		})
	}
}

// refreshMirrors brings what there is up to date, reads what is wanted, and tells of each
// that failed.
func (s *Reporting) refreshMirrors(ctx context.Context, tell func(error)) {
	s.mirrors.room(0)
	s.keepAllUp(ctx, tell)
	for tenant, m := range s.mirrors.all() {
		if m == nil {
			if err := s.fill(ctx, tenant, tell); err != nil {
				tell(err)
			}
		}
	}
}

// keepAllUp brings the mirrors that there are up to date.
func (s *Reporting) keepAllUp(ctx context.Context, tell func(error)) {
	for tenant, m := range s.mirrors.all() {
		if m != nil {
			if err := s.keepUp(ctx, tenant, m); err != nil {
				tell(err)
			}
		}
	}
}

// keepUp lets a mirror hear what is new, so that reports have little to read.
func (s *Reporting) keepUp(ctx context.Context, tenant string, m *mirror) error {
	err := s.db.Read(ctx, func(ctx context.Context, tx *sqldb.Tx) error {
		now, err := editionIn(ctx, tx, tenant)
		if err != nil {
			return err
		}
		since, ok := m.base(now.num)
		if !ok {
			return errLost
		}
		n, err := changesSince(ctx, tx, tenant, since, now, maxKeepUp)
		if err == nil {
			m.learn(since, n)
		}
		return err
	})
	if errors.Is(err, errLost) || errors.Is(err, errMany) {
		s.mirrors.forget(tenant, m)
		return nil
	}
	return err
}

// fill reads the facts of a tenant, some in each transaction. The other mirrors hear what is
// new meanwhile.
func (s *Reporting) fill(ctx context.Context, tenant string, tell func(error)) error {
	f, heard := &filling{tenant: tenant}, time.Now()
	for !f.over {
		err := s.fillSome(ctx, f)
		switch {
		case errors.Is(err, errMany):
			s.mirrors.refuse(tenant, spareMirror)
			return nil
		case err != nil:
			s.mirrors.refuse(tenant, retryMirror)
			if errors.Is(err, errLost) {
				return nil
			}
			return err
		}
		if time.Since(heard) > keepUpEvery {
			s.keepAllUp(ctx, tell)
			heard = time.Now()
		}
	}
	s.mirrors.keep(tenant, f.mirror)
	return nil
}

// filling is a mirror that is being read.
type filling struct {
	tenant string
	mirror *mirror // nil: nothing is read yet
	place  string  // the last that was read
	over   bool
}

// fillSome reads some more facts. Before it does, the mirror hears what has changed of those
// that it has; so in the end all are of the edition that the last transaction sees.
func (s *Reporting) fillSome(ctx context.Context, f *filling) error {
	err := s.db.Read(ctx, func(ctx context.Context, tx *sqldb.Tx) error {
		now, err := editionIn(ctx, tx, f.tenant)
		if err != nil {
			return err
		}
		if f.mirror == nil {
			n, err := s.cfg.Records.Count(ctx, tx, f.tenant, objOpportunity)
			if err != nil {
				return err
			}
			if !s.mirrors.room(n) {
				return errMany
			}
			f.mirror = newMirror(now, maxFormer)
		}
		c, err := changesSince(ctx, tx, f.tenant, f.mirror.now, now, maxKeepUp)
		if err != nil {
			return err
		}
		f.mirror.learn(f.mirror.now, c)
		f.mirror.past, f.mirror.olds = nil, 0 // what it did not have yet is no former fact
		f.place, err = f.mirror.read(ctx, tx, f.tenant, f.place, s.mirrors.chunk)
		f.over = f.place == ""
		return err
	})
	if err == nil && f.mirror.size() > s.mirrors.most {
		err = errMany
	}
	return err
}

// read reads some facts behind an id and gives the last one, "" when there are no more.
func (m *mirror) read(ctx context.Context, tx *sqldb.Tx, tenant, after string, limit int) (last string, err error) {
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

// fromMirror gives what the caller sees beside the records of owners, and says whether it
// could: the facts have to be remembered, in the edition that the transaction sees.
func (w *session) fromMirror(ctx context.Context, a *asking, each func(*cell)) (bool, error) {
	cube, remembered := cubeNumbers[a.cube]
	if !remembered || w.cfg.limits.beside < 0 || a.few != nil && !a.few.beside {
		return false, nil
	}
	m, known := w.mirrors.find(w.tenant)
	if m == nil {
		if known {
			return false, nil
		}
		many, err := w.seesMany(ctx, a)
		if many {
			w.mirrors.want(w.tenant)
		}
		return false, err
	}
	ids, owners, all, err := w.besides(ctx, a)
	switch {
	case err != nil || all:
		return false, err
	case len(ids) == 0:
		return true, nil // there is nothing to look up
	case (len(ids)+1)/len(uuidText) >= maxBeside:
		return false, nil
	}
	of := &wanted{cube: cube, byOwner: a.byOwner, key: a.counts, owner: func(id string) bool {
		return a.ofOwner(id, owners)
	}}
	ok, err := w.sum(ctx, m, ids, of, each)
	w.mirrors.told(ok)
	return ok, err
}

// uuidText is as long as the id of a record and what separates it from the next one.
const uuidText = "00000000-0000-7000-8000-000000000000,"

// sum adds up what a mirror has of some records, in the edition that the transaction sees.
func (w *session) sum(ctx context.Context, m *mirror, ids string, of *wanted, each func(*cell)) (bool, error) {
	now, err := editionIn(ctx, w.tx, w.tenant)
	if err != nil {
		return false, err
	}
	since, ok := m.base(now.num)
	if !ok {
		return false, nil
	}
	n, err := changesSince(ctx, w.tx, w.tenant, since, now, maxCatchUp)
	switch {
	case errors.Is(err, errLost):
		w.mirrors.forget(w.tenant, m)
		return false, nil
	case errors.Is(err, errMany):
		return false, nil
	case err != nil:
		return false, err
	}
	return m.sum(ids, since, n, of, each), nil
}

// seesMany says whether the caller sees so many records beside those of owners that they are
// worth to be remembered.
func (w *session) seesMany(ctx context.Context, a *asking) (bool, error) {
	var b sqldb.Binds
	seen, err := w.seen(ctx, a, &b)
	if err != nil || seen.All || seen.Records == "" {
		return false, err
	}
	most, n := w.cfg.limits.beside, 0
	err = w.tx.Row(ctx, "SELECT count(*) FROM (SELECT x.id FROM ("+seen.Records+") AS x LIMIT "+b.Add(max(most, 1))+
		") AS y", b.Args()...).Scan(&n)
	return n >= max(most, 1), err
}

// besides are the ids of the records that the caller sees beside those of owners, and these
// owners. They travel as two texts: as rows they cost several times as much.
func (w *session) besides(ctx context.Context, a *asking) (ids string, owners map[string]bool, all bool, err error) {
	var b sqldb.Binds
	seen, err := w.seen(ctx, a, &b)
	if err != nil || seen.All || seen.Records == "" {
		return "", nil, seen.All, err
	}
	together := func(column, query string) string {
		if w.tx.Dialect() == sqldb.SQLite {
			return "(SELECT group_concat(x." + column + ", ',') FROM (" + query + ") AS x)"
		}
		return "(SELECT string_agg(x." + column + ", ',') FROM (" + query + ") AS x)"
	}
	reached, text := "''", ""
	if a.few == nil {
		reached = together("owner_id", seen.Owners)
	}
	if err := w.tx.Row(ctx, "SELECT coalesce("+reached+", ''), coalesce("+together("id", "SELECT y.id FROM ("+
		seen.Records+") AS y LIMIT "+b.Add(maxBeside))+", '')", b.Args()...).Scan(&text, &ids); err != nil {
		return "", nil, false, err
	}
	return ids, setOf(text), false, nil
}
