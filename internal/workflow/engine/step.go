package engine

import (
	"context"
	"errors"
	"slices"
	"time"

	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/workflow/flow"
)

// Step dequeues what waits, decides it, commits it and answers. It reports whether there was anything to do.
func (e *Engine) Step(ctx context.Context) bool {
	w := e.q.next()
	e.tasks.pollWaiters(&w)
	e.handOver(&w)
	w.due = e.deadlines.heads(ctx)
	e.postpone(&w)
	if w.empty() {
		return false
	}
	if w.refuseLate(); w.empty() {
		return true
	}
	if err := e.commit(ctx, &w); err != nil {
		e.recover(ctx, &w, err)
	}
	w.done()
	return true
}

func (w *work) done() {
	for _, c := range w.calls {
		c.done()
	}
	for _, u := range w.units {
		u.done()
	}
}

// commit does one commit. When it fails nothing has changed.
func (e *Engine) commit(ctx context.Context, w *work) error {
	var b *batch
	err := e.store.Commit(ctx, func(ctx context.Context, tx Tx) error {
		if b != nil {
			e.undo(b) // the store tries the transaction again
		}
		b = &batch{
			e: e, ctx: ctx, tx: tx, began: e.clock.Now(),
			used: map[flow.ID]*entry{}, nums: map[int64]*entry{}, gone: map[lookup]error{},
			newest: map[planKey]*flow.Plan{}, readyAt: map[readyKey]int{}, bill: map[string]time.Duration{},
			keys: keyTable{e: e, ctx: ctx, tx: tx, seen: map[KeyRef]*KeyRow{}},
		}
		b.claims.b, b.business.b = b, b
		return b.do(w)
	})
	if b == nil {
		return err
	}
	e.q.settle(w, b.bill)
	if e.billed != nil {
		e.billed(b.bill)
	}
	if err != nil {
		e.undo(b)
		return err
	}
	e.finish(b, w)
	return nil
}

func (b *batch) do(w *work) error {
	var wants []Want
	for _, u := range w.units {
		for i := range u.unit.Commands {
			wants = b.want(wants, u.unit.Commands[i].Tenant, u.unit.Commands[i].Execution)
		}
	}
	if err := b.fetch(wants, rebuild); err != nil {
		return err
	}
	b.slice = newSlice(b, w)
	if err := b.slice.fetchFrom(0, 0); err != nil {
		return err
	}
	here := flow.At(b.e.clock.Now())
	var err error
	if b.now, err = b.tx.Now(b.ctx, here); err != nil {
		return fault.Wrap("engine.now", err)
	}
	b.e.skew = b.now.Sub(here)
	if b.ahead() > 1 { // that saves trips to the database
		if err := b.keys.lookAll(w); err != nil {
			return err
		}
		if err := b.business.lookAll(w); err != nil {
			return err
		}
	}
	for _, part := range []func() error{b.slice.calls, b.slice.units, b.slice.deadlines} {
		if err := part(); err != nil {
			return err
		}
	}
	if err := b.claims.serve(w); err != nil {
		return err
	}
	return b.flush()
}

// abortsCommit reports whether an error of one command undoes the whole commit.
func abortsCommit(err error) bool {
	if err == nil || unusable(err) {
		return false
	}
	kind := fault.KindOf(err)
	return kind == fault.Internal || kind == fault.Unavailable
}

// unusable reports whether one execution cannot be used; everybody else can go on.
func unusable(err error) bool {
	_, ok := errors.AsType[damage](err)
	return ok || errors.Is(err, errLocked) || isCold(err)
}

// finish makes a durable commit visible to this process.
func (e *Engine) finish(b *batch, w *work) {
	for _, ent := range b.all {
		switch {
		case ent.void:
		case ent.state.Status.Terminal() && !ent.over:
			e.cache.drop(ent.state.Execution) // few will ask for it again
		default:
			e.cache.keep(ent)
		}
	}
	e.requeueLeft(b, w)
	e.postponed = b.claims.postponed
	e.deadlines.note(w.due, b.ill)
	e.tasks.drop(b.ended)
	e.tasks.noteReady(b.ready)
	e.tasks.publish(b.ready)
	if b.due > 0 && e.deadlines.lookAt(b.due) {
		e.q.wake() // Run may be sleeping for longer
	}
	e.watch.wake(b.changed)
	e.watch.wake(b.noted)
	e.changes.commit(b)
	e.counters.commits.Add(1)
	for _, u := range w.units {
		e.counters.commands.Add(int64(len(u.results)))
	}
	if len(b.claims.left) > 0 {
		e.q.putBack(itemsOf(b.claims.left))
	}
	if w.alone || b.claims.full() {
		e.tasks.requeueWaiters(b.ready)
	}
	for _, c := range b.claims.waiting {
		e.tasks.wait(c)
	}
	for _, c := range b.claims.served {
		e.noteLate(b.ctx, b, c)
		c.finish(c.err)
	}
}

func (e *Engine) undo(b *batch) {
	for id := range b.used {
		e.cache.drop(id)
	}
	for _, ent := range b.all {
		ent.void = true
	}
	for _, c := range b.claims.served {
		c.release()
	}
	e.tasks.reset()
	e.deadlines.left = nil // they are read again
	e.plans.clear()        // one may be of a graph that the same commit was to store
}

// recover answers after a commit that failed. A store that is unavailable fails all. A conflict with
// another process mostly is none the second time. Any other fault is somebody's own, so everything
// is tried once more, alone.
func (e *Engine) recover(ctx context.Context, w *work, err error) {
	if fault.KindOf(err) == fault.Conflict && !w.alone {
		if err = e.commit(ctx, w); err == nil {
			return
		}
	}
	down := fault.KindOf(err) == fault.Unavailable
	if w.alone || down {
		e.fail(ctx, w, err, down)
		return
	}
	e.cfg.Log.WarnContext(ctx, "commit failed, its parts are tried alone", "error", err)
	for _, part := range w.parts() {
		if err := e.commit(ctx, &part); err != nil {
			e.recover(ctx, &part, err)
		}
	}
}

// fail gives up on work that could not be committed. Deadlines are tried again:
// soon when the store is down, else when they have been left alone for a while.
func (e *Engine) fail(ctx context.Context, w *work, err error, down bool) {
	if fault.KindOf(err) == fault.Conflict {
		err = fault.Wrap("engine.commit", errRaced)
	}
	w.fail(err)
	if len(w.due) == 0 {
		return
	}
	e.cfg.Log.ErrorContext(ctx, "deadlines could not be handled", "error", err)
	if down {
		e.deadlines.next = e.now().Add(maxIdle)
		return
	}
	for _, h := range w.due {
		e.deadlines.backOff(h.ID)
	}
}

func (w *work) count() int {
	n := len(w.units) + len(w.claims) + len(w.due)
	for _, c := range w.calls {
		n += len(c.reqs) - c.decided
	}
	return n
}

func (w *work) parts() []work {
	parts := make([]work, 0, w.count())
	for _, c := range w.calls {
		for i := c.decided; i < len(c.reqs); i++ {
			parts = append(parts, work{
				alone: true,
				calls: []*call{{reqs: c.reqs[i : i+1], results: c.results[i : i+1]}},
			})
		}
	}
	for i := range w.units {
		parts = append(parts, work{alone: true, units: w.units[i : i+1]})
	}
	for i := range w.due {
		parts = append(parts, work{alone: true, due: w.due[i : i+1]})
	}
	for i := range w.claims {
		parts = append(parts, work{alone: true, claims: w.claims[i : i+1]})
	}
	return parts
}

// fail answers everything in w with an error.
func (w *work) fail(err error) {
	for _, c := range w.calls {
		for i := c.decided; i < len(c.results); i++ {
			c.results[i] = Result{Err: err}
		}
	}
	for _, u := range w.units {
		u.results, u.err = nil, err
	}
	for _, c := range w.claims {
		c.finish(err)
	}
}

// unit runs a caller's SQL and commands. Its failure is its own.
func (b *batch) unit(u *unitCall) error {
	if err := b.flush(); err != nil {
		return err
	}
	mark := *b
	mark.ready = slices.Clone(b.ready)
	u.results, u.err = nil, nil
	clear(b.newest) // the unit may register a graph
	defer clear(b.newest)
	var outside error
	if sql := b.tx.SQL(); sql != nil { // a store in memory has none
		sql.Disown()
	}
	err := b.tx.Savepoint(b.ctx, func(ctx context.Context) error {
		if u.unit.Before != nil {
			if err := u.unit.Before(ctx, b.tx.SQL()); err != nil {
				return err
			}
		}
		for i := range u.unit.Commands {
			ans, err := b.run(&u.unit.Commands[i])
			if err != nil {
				return err
			}
			u.results = append(u.results, Result{Answer: ans})
		}
		if outside = b.flush(); outside != nil {
			return outside
		}
		if u.unit.After != nil {
			return u.unit.After(ctx, b.tx.SQL(), u.results)
		}
		return nil
	})
	if err == nil {
		return nil
	}
	b.rollback(&mark)
	u.results, u.err = nil, err
	if outside != nil && errors.Is(err, outside) && fault.KindOf(err) != fault.Internal {
		return err // the store's, not the unit's
	}
	return nil
}

// rollback takes the batch back to a mark; entries that the unit may have changed are read again.
func (b *batch) rollback(mark *batch) {
	for _, ent := range b.all {
		ent.void = true
	}
	for id := range b.used {
		b.e.cache.drop(id)
	}
	clear(b.used)
	clear(b.nums)
	clear(b.gone)
	b.open, b.keys.rows, b.keys.at, b.deleted = nil, nil, nil, nil
	b.ready, b.ended, b.changed, b.due = mark.ready, mark.ended, mark.changed, mark.due
	b.claims.started, b.claims.weight = mark.claims.started, mark.claims.weight
}
