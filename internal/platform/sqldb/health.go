package sqldb

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"renga.dev/renga/internal/platform/fault"
)

// When a database is asked whether anything can be written. That nothing can must show within
// 10 s: what was committed before, until the next look, and the answer together take less.
const (
	healthEvery  = time.Second
	healthIdle   = 4 * time.Second // without a commit before a row is written to find out
	healthWithin = 4 * time.Second // that the row may take

	damageFor  = 2 * time.Second  // that nothing but damage is met, before all is taken for damaged
	damagePast = 30 * time.Second // after which damage that nobody met again may concern few
)

// ballast is the size of a probe after a failure. A full disk may have room for a row and for
// nothing that commands write.
const ballast = 64 << 10

// pulse is what commits tell of the health of a database.
type pulse struct {
	good    atomic.Int64 // when something was committed last, in nanoseconds since 1970
	bad     atomic.Int64 // when a commit failed last for a reason of the database
	mu      sync.Mutex
	damaged damage
}

// damage is that commits of the engine met damage and none succeeded since.
type damage struct {
	first, last time.Time
	err         error
}

// wrote notes a commit that wrote something; engine says that one of its jobs was the engine's.
func (p *pulse) wrote(engine bool) {
	p.good.Store(time.Now().UnixNano())
	if !engine {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.damaged = damage{}
}

// failed notes a commit that failed for a reason of the database.
func (p *pulse) failed(lane Lane, err error) {
	now := time.Now()
	p.bad.Store(now.UnixNano())
	if lane != Engine || !IsDamage(err) {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.damaged.err == nil {
		p.damaged.first = now
	}
	p.damaged.last, p.damaged.err = now, err
}

// everywhere is the damage that the engine meets whatever it does; nil: it concerns some
// executions, or none.
func (d damage) everywhere(now time.Time) error {
	if d.last.Sub(d.first) < damageFor || now.Sub(d.last) > damagePast {
		return nil
	}
	return d.err
}

// Health finds out whether anything can be written. Commits tell; when there are none it
// writes a row itself.
type Health struct {
	db      *DB
	process string
	log     *slog.Logger
	every   time.Duration // healthEvery
	within  time.Duration // healthWithin

	mu    sync.Mutex
	err   error     // why the last probe failed; nil: it did not
	asked time.Time // when it began
}

// NewHealth looks after a database that has SchemaTables. process tells this process from others.
// Without a log nobody is told when it changes.
func NewHealth(db *DB, process string, log *slog.Logger) *Health {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	return &Health{db: db, process: process, log: log, every: healthEvery, within: healthWithin}
}

// Check is why nothing can be written at present; nil: something can, as far as is known.
func (h *Health) Check() error {
	h.mu.Lock()
	err := h.err
	h.mu.Unlock()
	if err != nil {
		return err
	}
	p := &h.db.stats.pulse
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.damaged.everywhere(time.Now())
}

// Run looks after the database until ctx ends.
func (h *Health) Run(ctx context.Context) {
	tick := time.NewTicker(h.every)
	defer tick.Stop()
	var first sync.Once
	for {
		select {
		case <-ctx.Done():
			h.leave()
			return
		case <-tick.C:
		}
		first.Do(func() { h.tidy(ctx) })
		h.mu.Lock()
		what := due(time.Now(), h.db.stats.pulse.seen(), h.asked, h.err)
		h.mu.Unlock()
		if what != noProbe {
			h.probe(ctx, what)
		}
	}
}

// seen is when a commit last succeeded and failed.
func (p *pulse) seen() (s seen) {
	if at := p.good.Load(); at > 0 {
		s.good = time.Unix(0, at)
	}
	if at := p.bad.Load(); at > 0 {
		s.bad = time.Unix(0, at)
	}
	return s
}

// seen is what commits told last.
type seen struct{ good, bad time.Time }

// What a look at a database is to do.
type probe uint8

const (
	noProbe    probe = iota
	smallProbe       // write a row
	largeProbe       // write as much as a command does
)

// due decides what a look does: nothing while commits succeed, something small when there are
// none, and something large when one has failed since the last probe, or that probe has.
func due(now time.Time, s seen, asked time.Time, failed error) probe {
	switch {
	case failed != nil, s.bad.After(asked):
		return largeProbe
	case now.Sub(s.good) >= healthIdle && now.Sub(asked) >= healthIdle:
		return smallProbe
	}
	return noProbe
}

// probe writes a row and notes what became of it. One that is not answered in time has failed;
// the next begins when it is over.
func (h *Health) probe(ctx context.Context, what probe) {
	h.mu.Lock()
	h.asked = time.Now()
	h.mu.Unlock()
	ended := make(chan error, 1)
	go func() { ended <- h.write(ctx, what) }()
	late := time.NewTimer(h.within)
	defer late.Stop()
	for {
		select {
		case err := <-ended:
			if ctx.Err() == nil {
				h.note(ctx, err)
			}
			return
		case <-late.C:
			why := fmt.Sprintf("nothing could be written for %v", h.within)
			h.note(ctx, unavailable("sqldb.health", codeUnknown, why, nil))
		}
	}
}

func (h *Health) write(ctx context.Context, what probe) error {
	var body any
	if what == largeProbe {
		random := make([]byte, ballast) // PostgreSQL would write little of zeros
		_, _ = rand.Read(random)
		body = random
	}
	return h.db.Write(ctx, Other, func(ctx context.Context, tx *Tx) error {
		_, err := tx.Exec(ctx, `INSERT INTO sqldb_probe (process, at, body) VALUES ($1, $2, $3)
			ON CONFLICT (process) DO UPDATE SET at = excluded.at, body = excluded.body`,
			h.process, time.Now().UnixMilli(), body)
		return err
	})
}

// note keeps the outcome of a probe, and says when it changes.
func (h *Health) note(ctx context.Context, err error) {
	h.mu.Lock()
	defer h.mu.Unlock() // who sees the change finds it in the log
	before := h.err
	h.err = err
	switch {
	case before == nil && err != nil:
		h.log.ErrorContext(ctx, "nothing can be written", "error", err)
	case before != nil && err == nil:
		h.log.InfoContext(ctx, "writing again")
	}
}

// tidy deletes the rows of processes that ended without a word.
func (h *Health) tidy(ctx context.Context) {
	_ = h.db.Write(ctx, Other, func(ctx context.Context, tx *Tx) error {
		_, err := tx.Exec(ctx, "DELETE FROM sqldb_probe WHERE at < $1", time.Now().Add(-24*time.Hour).UnixMilli())
		return err
	})
}

// leave deletes the row of this process.
func (h *Health) leave() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	_ = h.db.Write(ctx, Other, func(ctx context.Context, tx *Tx) error {
		_, err := tx.Exec(ctx, "DELETE FROM sqldb_probe WHERE process = $1", h.process)
		return err
	})
}

// IsDamage reports whether an error says that what the database holds is damaged: no attempt
// will fare better until somebody has restored it.
func IsDamage(err error) bool {
	var e *fault.Error
	for errors.As(err, &e) {
		if e.Code == codeDamaged {
			return true
		}
		err = e.Err
	}
	return false
}
