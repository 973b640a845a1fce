package bulk

import (
	"context"
	"errors"
	"fmt"
	"time"

	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/platform/sqldb"
)

const (
	idleFor   = time.Second      // for bulks of other processes
	failPause = 10 * time.Second // after a chunk that failed permanently
	maxRest   = time.Second      // between two chunks

	retainEvery = 10 * time.Minute
)

// Run works on bulks until ctx ends and finishes the chunk in progress. After a chunk it rests as long as that took,
// to leave room for other work.
func (s *Bulks) Run(ctx context.Context) {
	if s.cfg.Exclusive {
		s.attempt(ctx, "leases of a process that ended could not be freed", s.free)
	}
	var retained time.Time
	for ctx.Err() == nil {
		began := time.Now()
		if began.Sub(retained) >= retainEvery {
			retained = began
			s.attempt(ctx, "bulks that are past their time could not be deleted", s.retain)
		}
		worked := false
		s.attempt(ctx, "bulks could not be worked on", func(ctx context.Context) (err error) {
			worked, err = s.step(ctx)
			return err
		})
		rest := min(time.Since(began), maxRest)
		if !worked {
			rest = idleFor
		}
		s.rest(ctx, rest, !worked)
	}
}

// attempt runs what is repeated anyway. It does not log an unavailable database, which logs itself.
func (s *Bulks) attempt(ctx context.Context, failed string, do func(context.Context) error) {
	err := do(context.WithoutCancel(ctx))
	if err != nil && !fault.Passes(err) {
		s.cfg.Log.ErrorContext(ctx, failed, "error", err)
	}
}

// rest waits; when idle it also returns on a wakeup.
func (s *Bulks) rest(ctx context.Context, d time.Duration, idle bool) {
	wakeup := s.wakeup
	if !idle {
		wakeup = nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-wakeup:
	case <-timer.C:
	case <-ctx.Done():
	}
}

// free releases the leases of ended processes.
func (s *Bulks) free(ctx context.Context) error {
	return s.write(ctx, "bulk.free", func(ctx context.Context, tx *sqldb.Tx, _ int64) error {
		_, err := tx.Exec(ctx, `UPDATE bulk SET epoch = epoch + 1, lease_until = 0
			WHERE status < 2 AND lease_until > 0`)
		return err
	})
}

// step does a chunk of the bulk that has waited longest, and reports whether there was one.
func (s *Bulks) step(ctx context.Context) (bool, error) {
	b, err := s.claim(ctx)
	if b == nil || err != nil {
		return false, err
	}
	kind := s.cfg.Kinds[b.Kind]
	if kind == nil {
		return true, nil // another process may know it, and the lease keeps it from spinning
	}
	// A process that slept through its lease stops.
	work, cancel := context.WithTimeout(sqldb.For(ctx, b.Tenant), s.cfg.Lease/2)
	defer cancel()
	if b.Status == Freezing {
		err = s.freeze(work, kind, b)
	} else {
		err = s.work(work, kind, b)
	}
	if err == nil || errors.Is(err, errLost) {
		return true, nil
	}
	pause := failPause
	if fault.Passes(err) {
		pause = idleFor
	}
	return true, fmt.Errorf("bulk %s: %w", b.ID, errors.Join(err, s.leave(ctx, b, pause)))
}

// errLost: a chunk outlived its lease, and another process has the bulk.
var errLost = errors.New("bulk: the lease is lost")

// Bulks queue by the end of their leases, which is that of their last chunk: round robin.
const selectWaiting = `SELECT num, epoch FROM bulk WHERE status < 2 AND lease_until <= $1
	ORDER BY lease_until, num LIMIT 1`

// claim leases the bulk that has waited longest; nil: none waits.
func (s *Bulks) claim(ctx context.Context) (*Bulk, error) {
	var num, epoch int64
	err := s.read(ctx, "bulk.claim", func(ctx context.Context, tx *sqldb.Tx) error {
		now, err := s.now(ctx, tx)
		if err != nil {
			return err
		}
		return tx.Row(ctx, selectWaiting, now).Scan(&num, &epoch)
	})
	if errors.Is(err, sqldb.ErrNoRow) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var b Bulk
	err = s.write(ctx, "bulk.claim", func(ctx context.Context, tx *sqldb.Tx, now int64) error {
		b, err = scan(tx.Row(ctx, `UPDATE bulk SET epoch = epoch + 1, lease_until = $3
			WHERE num = $1 AND epoch = $2 AND status < 2 RETURNING `+columns, num, epoch,
			now+s.cfg.Lease.Milliseconds()))
		return err
	})
	if errors.Is(err, sqldb.ErrNoRow) {
		s.wake() // another process won; there may be more
		return nil, nil
	}
	return &b, err
}

// leave delays a bulk whose chunk failed.
func (s *Bulks) leave(ctx context.Context, b *Bulk, pause time.Duration) error {
	return s.write(ctx, "bulk.leave", func(ctx context.Context, tx *sqldb.Tx, now int64) error {
		_, err := tx.Exec(ctx, "UPDATE bulk SET lease_until = $3 WHERE num = $1 AND epoch = $2", b.num, b.epoch,
			now+pause.Milliseconds())
		return err
	})
}
