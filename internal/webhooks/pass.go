package webhooks

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"renga.dev/renga/internal/platform/bus"
	"renga.dev/renga/internal/platform/canonical"
	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/platform/sqldb"
)

// The bounds of a pass: one process works on one webhook.
const (
	// MaxBatch is how many deliveries are loaded at a time.
	MaxBatch = 256
	// MaxAtOnce is how many requests an endpoint gets at a time.
	MaxAtOnce = 16

	batchBytes = 1 << 20         // of bodies, and one event more
	passFor    = 2 * time.Second // after which the webhook waits for its turn again
	roundFor   = 5 * time.Second // after which no further request is begun before the results are written
	drainFor   = 3 * time.Second // how long requests under way may take when the process ends
	// holdFor is how long a claimed webhook is left alone by other processes: longer than a round may take.
	holdFor = 30 * time.Second
)

// errLost says that a webhook is not this process's any more: it was deleted, or the claim ran out.
var errLost = errors.New("webhooks: the claim is lost")

// claim is a webhook that this process works on.
type claim struct {
	tenant, id string
	token      string    // that the row says who has it by
	tail       *bus.Tail // of a recovery; nil: none yet
}

// pass works on a claimed webhook until nothing is due, or for a while. It gives up the claim at the end.
func (w *works) pass(ctx context.Context, c *claim) error {
	began := time.Now()
	for more := true; more; {
		if ctx.Err() != nil || time.Since(began) >= passFor {
			return found(w.release(context.WithoutCancel(ctx), c))
		}
		var err error
		if more, err = w.round(ctx, c); err != nil {
			return found(err)
		}
	}
	return nil
}

// found is nil when a claim was lost: somebody else goes on.
func found(err error) error {
	if errors.Is(err, errLost) {
		return nil
	}
	return err
}

// round recovers and sends some deliveries and writes down the results. more says that something else is due; else the
// claim was given up.
func (w *works) round(ctx context.Context, c *claim) (more bool, err error) {
	rest, err := w.recoverSome(ctx, c)
	if err != nil {
		return false, err
	}
	b, err := w.load(ctx, c)
	if err != nil {
		return false, err
	}
	w.send(ctx, b)
	return w.settle(context.WithoutCancel(ctx), c, b, rest)
}

// batch is deliveries of a webhook that are due, and what came of them.
type batch struct {
	row
	now    canonical.Stamp
	lines  [][]*sending // one request of a line at a time, in its order
	single bool         // the endpoint failed: it gets one
}

// sending is a delivery on its way.
type sending struct {
	Delivery
	body []byte
	try  *try // nil: nothing was sent
}

const (
	retryingDue = "SELECT seq, " + shownColumns + ` FROM webhooks_delivery
		WHERE tenant_id = $1 AND hook = $2 AND state = 2 AND due_at <= $3 ORDER BY due_at, seq LIMIT $4`
	waitingAny = "SELECT seq, " + shownColumns + ` FROM webhooks_delivery
		WHERE tenant_id = $1 AND hook = $2 AND state = 1 ORDER BY seq LIMIT $3`
	waitingOrdered = "SELECT seq, " + shownColumns + ` FROM webhooks_delivery AS d
		WHERE tenant_id = $1 AND hook = $2 AND state = 1 AND NOT EXISTS (SELECT 1 FROM webhooks_delivery AS b
			WHERE b.tenant_id = $1 AND b.hook = $2 AND b.key = d.key AND b.state = 2)
		AND NOT EXISTS (SELECT 1 FROM webhooks_delivery AS b
			WHERE b.tenant_id = $1 AND b.hook = $2 AND b.key = d.key AND b.state = 4)
		ORDER BY seq LIMIT $3`
)

// load reads what is due of a claimed webhook.
func (w *works) load(ctx context.Context, c *claim) (b *batch, err error) {
	err = w.read(ctx, "load", func(ctx context.Context, tx *sqldb.Tx) (err error) {
		b = &batch{}
		if b.now, err = w.now(ctx, tx); err != nil {
			return err
		}
		if b.row, err = scanRow(tx.Row(ctx, selectRow, c.tenant, c.id)); err != nil {
			return cmp.Or(lostIfNone(err), err)
		}
		if !b.sends() || b.look > b.now {
			return nil
		}
		due, err := sqldb.Collect(ctx, tx, scanDelivery, retryingDue, c.tenant, b.hook, b.now, MaxBatch)
		if err != nil {
			return err
		}
		query := waitingAny
		if b.def.ordered() {
			query = waitingOrdered
		}
		waiting, err := sqldb.Collect(ctx, tx, scanDelivery, query, c.tenant, b.hook, MaxBatch)
		if err != nil {
			return err
		}
		b.arrange(append(due, waiting...))
		return b.bodies(ctx, tx)
	})
	return b, err
}

func lostIfNone(err error) error {
	if errors.Is(err, sqldb.ErrNoRow) {
		return errLost
	}
	return nil
}

// arrange puts deliveries into lines: those of a key into one when they are ordered, else each into its own. An
// endpoint that failed gets one, the one that was tried least.
func (b *batch) arrange(due []Delivery) {
	b.lines = nil
	if b.strikes > 0 && len(due) > 0 {
		b.single = true
		least := slices.MinFunc(due, func(x, y Delivery) int {
			return cmp.Or(cmp.Compare(x.Attempts, y.Attempts), cmp.Compare(x.Seq, y.Seq))
		})
		b.lines = [][]*sending{{{Delivery: least}}}
		return
	}
	at, size := map[string]int{}, int64(0)
	for i, d := range due {
		if i == MaxBatch || size >= batchBytes {
			return
		}
		size += d.Size
		line, known := at[d.Key]
		if !b.def.ordered() || !known {
			line = len(b.lines)
			at[d.Key] = line
			b.lines = append(b.lines, nil)
		}
		b.lines[line] = append(b.lines[line], &sending{Delivery: d})
	}
}

// bodies reads the bodies of what is sent.
func (b *batch) bodies(ctx context.Context, tx *sqldb.Tx) error {
	of := map[string][]byte{}
	var ids []string
	for _, line := range b.lines {
		for _, s := range line {
			ids = append(ids, s.EventID)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	binds := sqldb.Bind(b.tenant)
	query := "SELECT event_id, body FROM webhooks_event WHERE tenant_id = $1 AND " + binds.OneOf(tx, "event_id", ids)
	for row, err := range tx.Query(ctx, query, binds.Args()...) {
		var id string
		var body []byte
		if err == nil {
			err = row.Scan(&id, &body)
		}
		if err != nil {
			return err
		}
		of[id] = body
	}
	for _, line := range b.lines {
		for _, s := range line {
			s.body = of[s.EventID]
		}
	}
	return nil
}

// send posts the lines, some at a time. A line ends at its first failure. An endpoint that fails ParkAfter times
// without a success is left alone at once.
func (w *works) send(ctx context.Context, b *batch) {
	if len(b.lines) == 0 {
		return
	}
	to := b.endpoint(b.now)
	ends := time.Now().Add(roundFor)
	calls, cut := context.WithCancel(context.WithoutCancel(ctx))
	defer cut()
	stop := context.AfterFunc(ctx, func() {
		timer := time.AfterFunc(drainFor, cut)
		context.AfterFunc(calls, func() { timer.Stop() })
	})
	defer stop()
	var next, failures atomic.Int64
	var hands sync.WaitGroup
	for range min(MaxAtOnce, len(b.lines)) {
		hands.Go(func() {
			for i := int(next.Add(1)) - 1; i < len(b.lines); i = int(next.Add(1)) - 1 {
				for _, s := range b.lines[i] {
					if ctx.Err() != nil || time.Now().After(ends) || failures.Load() >= ParkAfter {
						return
					}
					t := w.sender.post(calls, to, s.EventID, s.body)
					if calls.Err() != nil && t.status == 0 {
						return // nobody knows what came of it: it is sent again
					}
					s.try = &t
					if verdictOf(t.status) == delivered {
						failures.Store(-int64(len(b.lines)))
						continue
					}
					failures.Add(1)
					break
				}
			}
		})
	}
	hands.Wait()
}

var insertAttempts = sqldb.NewInsert("webhooks_attempt (tenant_id, hook, seq, "+attemptColumns+")",
	"ON CONFLICT (tenant_id, hook, seq, attempt) DO NOTHING", "text", "text", "bigint", "bigint", "bigint", "bigint",
	"bigint", "text", "text")

const tried = `UPDATE webhooks_delivery SET state = $4, attempts = $5, tries = $6, due_at = $7, tried_at = $8,
	took = $9, status = $10, error = $11, answer = $12
	WHERE tenant_id = $1 AND hook = $2 AND seq = $3 AND state IN (1, 2)`

// settle writes down what came of a batch, and gives up the claim unless more is due.
func (w *works) settle(
	ctx context.Context, c *claim, b *batch, rest time.Duration,
) (more bool, err error) {
	var told func()
	err = w.write(ctx, "settle", func(ctx context.Context, tx *sqldb.Tx, now canonical.Stamp) error {
		r, err := w.claimed(ctx, tx, c)
		if err != nil {
			return err
		}
		if r.hook != b.hook {
			return errLost
		}
		before := r.state
		results, err := b.write(ctx, tx, &r, now)
		if err != nil {
			return err
		}
		var pause time.Duration
		r.health, pause = r.settle(results, now)
		told = w.told(&r, before, results)
		if r.state == Disabled && before != Disabled {
			err := w.note(ctx, tx, entry{
				by: Caller{Tenant: r.tenant, Subject: "renga"}, action: "webhook.disable", id: r.id, reason: r.reason,
				at: now,
			})
			if err != nil {
				return err
			}
		}
		more, err = w.next(ctx, tx, &r, now, pause, rest)
		return err
	})
	if err == nil && told != nil {
		told()
	}
	return more && err == nil, err
}

// write stores the results of a batch.
func (b *batch) write(ctx context.Context, tx *sqldb.Tx, r *row, now canonical.Stamp) (results []result, err error) {
	var stmts []sqldb.Stmt
	var attempts []any
	var settled []*int64
	for _, line := range b.lines {
		for _, s := range line {
			if s.try == nil {
				continue
			}
			d, t, v := s.Delivery, s.try, verdictOf(s.try.status)
			results = append(results, result{verdict: v, first: d.Tries == 0, what: t.what()})
			d.Attempts++
			if v != delivered {
				a := t.attempt(d.Attempts, now)
				attempts = append(attempts, b.tenant, b.hook, d.Seq, a.Number, a.TriedAt, a.Took, a.Status, a.Error,
					a.Answer)
			}
			d.decide(v, r.state, now)
			st := sqldb.Stmt{Query: tried, Args: []any{
				b.tenant, b.hook, d.Seq, d.State, d.Attempts, d.Tries, d.DueAt, now, t.took.Milliseconds(), t.status,
				t.err, t.answer,
			}}
			if d.State == Delivered {
				n := new(int64)
				st.Changed, settled = n, append(settled, n)
				r.success = now
			}
			stmts = append(stmts, st)
		}
	}
	err = tx.Batch(ctx, append(stmts, insertAttempts.Stmts(tx, attempts)...)...)
	for _, n := range settled {
		r.open -= *n
	}
	return results, err
}

// decide is what becomes of a delivery after an attempt. While the endpoint is parked, nothing counts against the
// delivery.
func (d *Delivery) decide(v verdict, endpoint State, now canonical.Stamp) {
	switch {
	case v == delivered:
		d.State, d.DueAt = Delivered, 0
	case v == refused && endpoint != Parked:
		d.Tries++
		wait, again := after(d.Tries)
		if d.State, d.DueAt = Failed, 0; again {
			d.State, d.DueAt = Retrying, now+stamps(jitter(wait))
		}
	case d.State == Retrying:
		d.DueAt = now
	}
}

// told logs and counts what came of a batch, once that is committed.
func (w *works) told(r *row, before State, results []result) func() {
	after, id, tenant, reason := r.state, r.id, r.tenant, r.reason
	return func() {
		w.counts.add(results)
		switch {
		case after == before:
		case after == Parked:
			w.cfg.Log.Warn("an endpoint of a webhook is dead", "tenant", tenant, "webhook", id, "error", reason)
		case after == Disabled:
			w.cfg.Log.Error("a webhook was disabled", "tenant", tenant, "webhook", id, "error", reason)
		case after == Active && before == Parked:
			w.cfg.Log.Info("an endpoint of a webhook answers again", "tenant", tenant, "webhook", id)
		}
	}
}

const selectNext = `SELECT COALESCE(min(due_at), 0) FROM (
	SELECT due_at FROM webhooks_delivery WHERE tenant_id = $1 AND hook = $2 AND state = 2
	ORDER BY due_at LIMIT 1) AS first`

// next says when the webhook is looked at again, and stores the row. more: now, by this process. pause is how long the
// endpoint is left alone, rest how long the recovery is.
func (w *works) next(
	ctx context.Context, tx *sqldb.Tx, r *row, now canonical.Stamp, pause, rest time.Duration,
) (more bool, err error) {
	r.look = 0
	switch {
	case !r.sends():
	case pause > 0:
		r.look = now + stamps(jitter(pause))
	default:
		query := waitingAny
		if r.def.ordered() {
			query = waitingOrdered
		}
		waiting, err := sqldb.Collect(ctx, tx, scanDelivery, query, r.tenant, r.hook, 1)
		if err != nil {
			return false, err
		}
		if len(waiting) > 0 {
			r.look = now
		} else if err := tx.Row(ctx, selectNext, r.tenant, r.hook).Scan(&r.look); err != nil {
			return false, err
		}
	}
	if r.recovering() && pause == 0 && (r.look == 0 || r.look > now+stamps(rest)) {
		r.look = now + stamps(rest)
	}
	more = r.look > 0 && r.look <= now
	if r.held = now + stamps(holdFor); !more {
		r.held, r.holder = 0, ""
	}
	return more, r.save(ctx, tx)
}

// save stores a locked row.
func (r *row) save(ctx context.Context, tx *sqldb.Tx) error {
	st, err := r.stmt(updateRow)
	if err != nil {
		return err
	}
	return tx.Batch(ctx, st)
}

// claimed locks a webhook that this process has claimed.
func (w *works) claimed(ctx context.Context, tx *sqldb.Tx, c *claim) (row, error) {
	r, err := lock(ctx, tx, c.tenant, c.id)
	if isUnknown(err) || err == nil && r.holder != c.token {
		return r, errLost
	}
	return r, err
}

// release gives up a claim.
func (w *works) release(ctx context.Context, c *claim) error {
	return w.write(ctx, "release", func(ctx context.Context, tx *sqldb.Tx, _ canonical.Stamp) error {
		r, err := w.claimed(ctx, tx, c)
		if err != nil {
			return err
		}
		r.held, r.holder = 0, ""
		return r.save(ctx, tx)
	})
}

func isUnknown(err error) bool { return err != nil && fault.KindOf(err) == fault.NotFound }
