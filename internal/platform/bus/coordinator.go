package bus

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"renga.dev/renga/internal/platform/canonical"
	"renga.dev/renga/internal/platform/sqldb"
)

// processLease prefixes the rows by which processes show that they are alive. They are no assignments.
const processLease = "process:"

const restartAfter = 500 * time.Millisecond

// coordinator acquires this process's share of the assignments, renews their leases, and releases surplus ones.
type coordinator struct {
	bus      *Bus
	work     map[assignment]func(context.Context, lease) error
	wake     chan struct{}            // holds a token to rebalance at once
	assigned map[assignment]*assigned // used by run only
}

type assigned struct {
	lease lease
	stop  context.CancelFunc
	done  chan struct{} // closed when the worker returned
}

// run holds assignments until ctx ends, then stops the workers and releases everything.
func (k *coordinator) run(ctx context.Context) {
	tick := time.NewTicker(k.bus.cfg.Lease / 4)
	defer tick.Stop()
	for ctx.Err() == nil {
		if err := k.rebalance(ctx); err != nil && ctx.Err() == nil {
			k.bus.log.Warn("assignments of the bus could not be rebalanced", "error", err)
		}
		select {
		case <-tick.C:
		case <-k.wake:
		case <-ctx.Done():
		}
	}
	k.release(context.WithoutCancel(ctx), slices.Collect(maps.Keys(k.assigned)))
	k.deregister(context.WithoutCancel(ctx))
}

// deregister deletes the process's row, so that others take over its share.
func (k *coordinator) deregister(ctx context.Context) {
	err := k.bus.write(ctx, "bus.depart", func(ctx context.Context, tx *sqldb.Tx) error {
		_, err := tx.Exec(ctx, "DELETE FROM bus_lease WHERE name = $1 AND part = 0", processLease+k.bus.cfg.Instance)
		return err
	})
	if err != nil {
		k.bus.log.Warn("a process of the bus could not sign off", "error", err)
	}
}

func (k *coordinator) rebalance(ctx context.Context) error {
	for p, h := range k.assigned {
		select {
		case <-h.done: // lease lost, or to be restarted
			delete(k.assigned, p)
		default:
		}
	}
	var plan plan
	err := k.bus.write(ctx, "bus.posts", func(ctx context.Context, tx *sqldb.Tx) (err error) {
		plan, err = k.claim(ctx, tx)
		return err
	})
	if err != nil {
		return err
	}
	for _, l := range plan.lost {
		k.stop(l)
	}
	k.release(ctx, plan.surplus)
	for _, l := range plan.acquired {
		k.start(ctx, l)
	}
	return nil
}

type plan struct {
	acquired []lease
	lost     []assignment
	surplus  []assignment
}

// claim renews what is held, detects what was lost, and acquires what is free, up to this process's share.
func (k *coordinator) claim(ctx context.Context, tx *sqldb.Tx) (plan, error) {
	now, err := k.bus.now(ctx, tx)
	if err != nil {
		return plan{}, err
	}
	me, until := k.bus.cfg.Instance, now+canonical.Stamp(k.bus.cfg.Lease.Milliseconds())
	if _, err := tx.Exec(ctx, `INSERT INTO bus_lease (name, part, epoch, holder, until) VALUES ($1, 0, 0, $2, $3)
		ON CONFLICT (name, part) DO UPDATE SET until = excluded.until`, processLease+me, me, until); err != nil {
		return plan{}, err
	}
	rows, err := sqldb.Collect(ctx, tx, scanLease,
		"SELECT name, part, epoch, holder, until FROM bus_lease ORDER BY name, part")
	if err != nil {
		return plan{}, err
	}
	out := k.decide(rows, now)
	for i, l := range out.acquired {
		n, err := tx.Exec(ctx, `INSERT INTO bus_lease (name, part, epoch, holder, until) VALUES ($1, $2, 1, $3, $4)
			ON CONFLICT (name, part) DO UPDATE SET epoch = bus_lease.epoch + 1, holder = excluded.holder,
			until = excluded.until
			WHERE bus_lease.epoch = $5`, l.name, l.part, me, until, l.epoch-1)
		if err != nil {
			return plan{}, err
		}
		if n == 0 {
			out.acquired[i].epoch = 0 // another process won
		}
	}
	out.acquired = slices.DeleteFunc(out.acquired, func(l lease) bool { return l.epoch == 0 })
	return out, k.renew(ctx, tx, until, out.lost)
}

func (k *coordinator) renew(ctx context.Context, tx *sqldb.Tx, until canonical.Stamp, lost []assignment) error {
	if k.bus.cfg.Exclusive {
		return nil // no other process
	}
	query := queriesOf(tx).renewLease
	var stmts []sqldb.Stmt
	for _, p := range slices.SortedFunc(maps.Keys(k.assigned), compareAssignments) {
		if !slices.Contains(lost, p) {
			stmts = append(stmts, sqldb.Stmt{Query: query, Args: []any{
				p.name, p.part, k.assigned[p].lease.epoch,
				until,
			}})
		}
	}
	return tx.Batch(ctx, stmts...)
}

func compareAssignments(a, b assignment) int {
	return cmp.Or(cmp.Compare(a.name, b.name), cmp.Compare(a.part, b.part))
}

type leaseRow struct {
	lease
	holder string
	until  canonical.Stamp
}

func scanLease(row *sqldb.Row) (r leaseRow, err error) {
	err = row.Scan(&r.name, &r.part, &r.epoch, &r.holder, &r.until)
	return r, err
}

// decide is the rebalance for the rows of bus_lease.
func (k *coordinator) decide(rows []leaseRow, now canonical.Stamp) (out plan) {
	me := k.bus.cfg.Instance
	known := map[assignment]leaseRow{}
	live := 0
	for _, r := range rows {
		known[r.assignment] = r
		if r.name == processLease+r.holder && (r.until > now || r.holder == me) {
			live++
		}
	}
	share := (len(k.work) + live - 1) / max(live, 1)
	if k.bus.cfg.Exclusive {
		share = len(k.work)
	}
	if k.bus.cfg.Apart {
		share = k.shareApart(known[assignment{homeAssignment, 0}], now)
	}
	mine := 0
	for _, p := range slices.SortedFunc(maps.Keys(k.work), compareAssignments) {
		r, held := known[p], k.assigned[p]
		free := r.until <= now || r.holder == "" || r.holder == me || k.bus.cfg.Exclusive
		switch {
		case held != nil && r.epoch != held.lease.epoch:
			out.lost = append(out.lost, p)
		case held != nil && mine >= share:
			out.surplus = append(out.surplus, p)
		case held != nil:
			mine++
		case free && mine < share:
			mine++
			out.acquired = append(out.acquired, lease{p, r.epoch + 1})
		}
	}
	return out
}

// shareApart gives everything to the process with the home assignment, nothing to the others.
func (k *coordinator) shareApart(home leaseRow, now canonical.Stamp) int {
	if k.assigned[assignment{homeAssignment, 0}] != nil || home.holder == "" || home.until <= now ||
		home.holder == k.bus.cfg.Instance {
		return len(k.work)
	}
	return 0
}

func (k *coordinator) start(ctx context.Context, l lease) {
	ctx, stop := context.WithCancel(ctx)
	h := &assigned{lease: l, stop: stop, done: make(chan struct{})}
	k.assigned[l.assignment] = h
	go func() {
		defer close(h.done)
		defer stop()
		err := k.work[l.assignment](ctx, l)
		switch {
		case errors.Is(err, errLeaseLost):
			k.bus.log.Info("assignment of the bus was taken over or restarts", "post", l.String())
		case err != nil && ctx.Err() == nil:
			k.bus.log.Warn("work of the bus was interrupted", "post", l.String(), "error", err)
			select { // do not restart in a tight loop
			case <-ctx.Done():
			case <-time.After(restartAfter):
			}
		}
		wake(k.wake)
	}()
}

func (k *coordinator) stop(p assignment) {
	h := k.assigned[p]
	h.stop()
	<-h.done
	delete(k.assigned, p)
	wake(k.wake)
}

// release stops workers and frees their leases at once.
func (k *coordinator) release(ctx context.Context, posts []assignment) {
	if len(posts) == 0 {
		return
	}
	var all sync.WaitGroup
	for _, p := range posts {
		k.assigned[p].stop()
		all.Go(func() { <-k.assigned[p].done })
	}
	all.Wait()
	slices.SortFunc(posts, compareAssignments)
	err := k.bus.write(ctx, "bus.leave", func(ctx context.Context, tx *sqldb.Tx) error {
		for _, p := range posts {
			if _, err := tx.Exec(ctx,
				"UPDATE bus_lease SET until = 0, holder = '' WHERE name = $1 AND part = $2 AND epoch = $3",
				p.name, p.part, k.assigned[p].lease.epoch); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		k.bus.log.Warn("assignments of the bus could not be released", "error", err)
	}
	for _, p := range posts {
		delete(k.assigned, p)
	}
}
