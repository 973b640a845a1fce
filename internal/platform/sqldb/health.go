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

// How the database is probed for writes. That nothing can be written must show within 10 s: the last commit, the
// interval and the answer together take less.
const (
	healthEvery  = time.Second
	healthIdle   = 4 * time.Second // without a commit, before a probe
	healthWithin = 4 * time.Second // for the probe

	damageFor  = 2 * time.Second  // of nothing but damage, before everything counts as damaged
	damagePast = 30 * time.Second // without new damage, after which it may concern few
)

// ballast is the size of a probe after a failure: a full disk may have room for a row but not for a command.
const ballast = 64 << 10

// pulse is the health of a database as commits show it.
type pulse struct {
	good    atomic.Int64 // last successful commit, in Unix nanoseconds
	bad     atomic.Int64 // last commit that failed because of the database
	mu      sync.Mutex
	damaged damage
}

// damage is what commits of the engine met since the last that succeeded.
type damage struct {
	first, last time.Time
	err         error
}

// wrote records a commit; engine: with an engine job.
func (p *pulse) wrote(engine bool) {
	p.good.Store(time.Now().UnixNano())
	if !engine {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.damaged = damage{}
}

// failed records a commit that failed because of the database.
func (p *pulse) failed(priority Priority, err error) {
	now := time.Now()
	p.bad.Store(now.UnixNano())
	if priority != Engine || !IsDamage(err) {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.damaged.err == nil {
		p.damaged.first = now
	}
	p.damaged.last, p.damaged.err = now, err
}

// everywhere is the damage that the engine meets whatever it does; nil: at most some executions are concerned.
func (d damage) everywhere(now time.Time) error {
	if d.last.Sub(d.first) < damageFor || now.Sub(d.last) > damagePast {
		return nil
	}
	return d.err
}

// Health finds out whether anything can be written: from commits, or when there are none by a probe.
type Health struct {
	db      *DB
	process string
	log     *slog.Logger
	every   time.Duration // healthEvery
	within  time.Duration // healthWithin

	mu    sync.Mutex
	err   error     // of the last probe
	asked time.Time // when that began
}

// NewHealth probes a database that has SchemaTables. process names this process. log may be nil.
func NewHealth(db *DB, process string, log *slog.Logger) *Health {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	return &Health{db: db, process: process, log: log, every: healthEvery, within: healthWithin}
}

// Check is why nothing can be written now; nil: something can, as far as known.
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

// Run probes until ctx ends.
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

func (p *pulse) seen() (s seen) {
	if at := p.good.Load(); at > 0 {
		s.good = time.Unix(0, at)
	}
	if at := p.bad.Load(); at > 0 {
		s.bad = time.Unix(0, at)
	}
	return s
}

// seen is when a commit last succeeded and last failed.
type seen struct{ good, bad time.Time }

type probe uint8

const (
	noProbe    probe = iota
	smallProbe       // a row
	largeProbe       // as much as a command writes
)

// due decides on a probe: none while commits succeed, a small one when there are none, a large one after a failure.
func due(now time.Time, s seen, asked time.Time, failed error) probe {
	switch {
	case failed != nil, s.bad.After(asked):
		return largeProbe
	case now.Sub(s.good) >= healthIdle && now.Sub(asked) >= healthIdle:
		return smallProbe
	}
	return noProbe
}

// probe writes a row and records the outcome. One without an answer in time has failed; the next begins when it is
// over.
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
		random := make([]byte, ballast) // zeros would be compressed
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

func (h *Health) note(ctx context.Context, err error) {
	h.mu.Lock()
	defer h.mu.Unlock() // whoever sees the change finds it in the log
	before := h.err
	h.err = err
	switch {
	case before == nil && err != nil:
		h.log.ErrorContext(ctx, "nothing can be written", "error", err)
	case before != nil && err == nil:
		h.log.InfoContext(ctx, "writing again")
	}
}

// tidy deletes the rows of crashed processes.
func (h *Health) tidy(ctx context.Context) {
	_ = h.db.Write(ctx, Other, func(ctx context.Context, tx *Tx) error {
		_, err := tx.Exec(ctx, "DELETE FROM sqldb_probe WHERE at < $1", time.Now().Add(-24*time.Hour).UnixMilli())
		return err
	})
}

func (h *Health) leave() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	_ = h.db.Write(ctx, Other, func(ctx context.Context, tx *Tx) error {
		_, err := tx.Exec(ctx, "DELETE FROM sqldb_probe WHERE process = $1", h.process)
		return err
	})
}

// IsDamage reports whether the database is damaged, so that only a restore helps.
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
