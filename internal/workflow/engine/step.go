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
	for _, c := range w.calls {
		c.done()
	}
	for _, u := range w.units {
		u.done()
	}
	return true
}

// commit does one commit. When it fails nothing has changed, and the claims in w
// are as they were.
func (e *Engine) commit(ctx context.Context, w *work) error {
	var b *batch
	err := e.store.Commit(ctx, func(ctx context.Context, tx Tx) error {
		if b != nil {
			e.undo(b) // the store tries the transaction again
		}
		b = &batch{
			e: e, ctx: ctx, tx: tx, began: e.clock.Now(),
			used: map[flow.ID]*entry{}, nums: map[int64]*entry{}, gone: map[lookup]error{},
			seen: map[KeyRef]*KeyRow{}, newest: map[planKey]*flow.Plan{},
			readyAt: map[readyKey]int{}, bill: map[string]time.Duration{},
		}
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

// do decides everything in w and writes it.
func (b *batch) do(w *work) error {
	var wants []Want
	for _, u := range w.units {
		for i := range u.unit.Commands {
			wants = b.want(wants, u.unit.Commands[i].Tenant, u.unit.Commands[i].Execution)
		}
	}
	if err := b.fetch(wants); err != nil {
		return err
	}
	sl := sliced{b}
	sl.newSlice(w)
	if err := sl.fetchFrom(w, 0, 0); err != nil {
		return err
	}
	here := flow.At(b.e.clock.Now())
	var err error
	if b.now, err = b.tx.Now(b.ctx, here); err != nil {
		return fault.Wrap("engine.now", err)
	}
	b.e.skew = b.now.Sub(here)
	if err := (keyTable{b}).lookAll(w); err != nil {
		return err
	}
	for _, part := range []func(*work) error{sl.calls, sl.units, sl.deadlines} {
		if err := part(w); err != nil {
			return err
		}
	}
	if err := (claimServer{b}).serve(w); err != nil {
		return err
	}
	return b.flush()
}

// abortsCommit reports whether an error of one command undoes the whole commit: it is
// not an answer to the command, so nothing of it may stay.
func abortsCommit(err error) bool {
	if err == nil {
		return false
	}
	if unusable(err) {
		return false
	}
	kind := fault.KindOf(err)
	return kind == fault.Internal || kind == fault.Unavailable
}

// unusable reports whether an error says that one execution cannot be used: nothing
// of it was changed, and everybody else can go on.
func unusable(err error) bool {
	_, ok := errors.AsType[damage](err)
	return ok || errors.Is(err, errLocked) || errors.Is(err, errCold)
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
	e.postponed = b.postponed
	e.deadlines.note(w.due, b.ill)
	e.tasks.drop(b.ended)
	e.tasks.noteReady(b.ready)
	e.tasks.publish(b.ready)
	if b.due > 0 && e.deadlines.lookAt(b.due) {
		e.q.wake() // Run may be sleeping for longer
	}
	e.watch.wake(b.changed)
	e.counters.commits.Add(1)
	for _, u := range w.units {
		e.counters.commands.Add(int64(len(u.results)))
	}
	if len(b.left) > 0 {
		e.q.putBack(b.left)
	}
	if w.alone || b.full() {
		e.tasks.requeueWaiters(b.ready)
	}
	for _, c := range b.waiting {
		e.tasks.wait(c)
	}
	for _, c := range b.served {
		e.noteLate(b.ctx, b, c)
		c.finish(c.err)
	}
}

// undo drops everything that a commit which failed has touched.
func (e *Engine) undo(b *batch) {
	for id := range b.used {
		e.cache.drop(id)
	}
	for _, ent := range b.all {
		ent.void = true
	}
	for _, c := range b.served {
		c.release()
	}
	e.tasks.reset()
	e.plans.clear() // one may be of a graph that the same commit was to store
}

// recover answers after a commit that failed. A store that is unavailable fails
// all. A conflict with what another process has written meanwhile mostly is none the
// second time, when that is seen. Any other fault is somebody's own, so everything is
// tried once more, alone.
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

// parts splits work into pieces of one, to be tried alone. The results of the
// pieces are those of w.
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
func (sl sliced) unit(u *unitCall) error {
	if err := sl.flush(); err != nil {
		return err
	}
	mark := *sl.batch
	mark.ready = slices.Clone(sl.ready)
	u.results, u.err = nil, nil
	clear(sl.newest) // the unit may register a graph
	defer clear(sl.newest)
	var outside error
	if sql := sl.tx.SQL(); sql != nil { // a store in memory has none
		sql.Disown()
	}
	err := sl.tx.Savepoint(sl.ctx, func(ctx context.Context) error {
		if u.unit.Before != nil {
			if err := u.unit.Before(ctx, sl.tx.SQL()); err != nil {
				return err
			}
		}
		for i := range u.unit.Commands {
			ans, err := sl.run(&u.unit.Commands[i])
			if err != nil {
				return err
			}
			u.results = append(u.results, Result{Answer: ans})
		}
		if outside = sl.flush(); outside != nil {
			return outside
		}
		if u.unit.After != nil {
			return u.unit.After(ctx, sl.tx.SQL(), u.results)
		}
		return nil
	})
	if err == nil {
		return nil
	}
	sl.rollback(&mark)
	u.results, u.err = nil, err
	if outside != nil && errors.Is(err, outside) && fault.KindOf(err) != fault.Internal {
		return err // the store's, not the unit's
	}
	return nil
}

// rollback takes the batch back to a mark: entries that the unit may have changed
// are read again when they are next needed.
func (sl sliced) rollback(mark *batch) {
	for _, ent := range sl.all {
		ent.void = true
	}
	for id := range sl.used {
		sl.e.cache.drop(id)
	}
	clear(sl.used)
	clear(sl.nums)
	clear(sl.gone)
	sl.open, sl.keys, sl.keyAt, sl.deleted = nil, nil, nil, nil
	sl.ready, sl.ended, sl.changed, sl.due = mark.ready, mark.ended, mark.changed, mark.due
	sl.started, sl.weight = mark.started, mark.weight
}
