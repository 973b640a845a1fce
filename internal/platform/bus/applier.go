package bus

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"runtime/debug"
	"slices"
	"time"

	"renga.dev/renga/internal/platform/sqldb"
	"renga.dev/renga/internal/platform/wire"
)

// How long the handlers of a batch may take, and one that is called alone; and a
// transaction of such ones.
const (
	batchTimeout  = 2 * time.Second
	handleTimeout = 4 * time.Second       // less than PostgreSQL lets a transaction idle
	oneByOneTime  = 20 * time.Millisecond // after which events that are taken one by one are committed
	batchTime     = 50 * time.Millisecond // after which the next batches have fewer events
)

// counts says what became of events.
type counts struct{ applied, duplicate, stale, failed int }

// turn is what one transaction makes of events. It becomes the reader's memory when
// the transaction is committed, and not before.
type changes struct {
	now      wire.Stamp
	versions map[string]keyVersion  // newest place of each key that was looked at
	keys     map[string]*blockedKey // those that changed; nil: gone
	deadKeys []string               // keys of new dead letters
	counts   counts
}

// errCareful says that a batch holds something that must be taken event by event.
var errOneByOne = errors.New("the batch must be taken event by event")

// take takes events and moves the reader to the position behind them, as many in a transaction
// as hold up nobody for long.
func (r *reader) consume(ctx context.Context, items []item, behind func([]item) position) error {
	for len(items) > 0 {
		n := min(len(items), r.most)
		if err := r.consumeBatch(ctx, items[:n], behind); err != nil {
			return err
		}
		items = items[n:]
	}
	return nil
}

// takeBatch takes a batch. All of it is one transaction, with no savepoint between the
// events; a batch in which something fails is taken again with one around each.
func (r *reader) consumeBatch(ctx context.Context, items []item, behind func([]item) position) error {
	to := behind(items)
	err := r.commit(ctx, &to, func(ctx context.Context, tx *sqldb.Tx, t *changes) error {
		began := time.Now()
		defer func() { r.fit(len(items), time.Since(began)) }()
		return r.applyBatch(ctx, tx, t, items)
	})
	if !errors.Is(err, errOneByOne) && !r.suspectsPoison(ctx, err) {
		return err
	}
	for len(items) > 0 {
		n := 0
		err := r.commit(ctx, &to, func(ctx context.Context, tx *sqldb.Tx, t *changes) (err error) {
			if n, err = r.applySome(ctx, tx, t, items); err == nil {
				to = behind(items[:n])
			}
			return err
		})
		if r.suspectsPoison(ctx, err) {
			continue
		}
		if err != nil {
			return err
		}
		items = items[n:]
	}
	r.poison.isolate = false
	return nil
}

// fit lets the next batches be smaller after one that took long, and larger after one that
// did not.
func (r *reader) fit(n int, took time.Duration) {
	switch {
	case took > batchTime:
		r.most = max(batchLeast, n/2)
	case took < batchTime/4 && n == r.most:
		r.most = min(batchMost, 2*n)
	}
}

// takeSome takes the first of some events one by one, as many as there is time for: what
// takes long must not hold up who else writes, and one is taken always.
func (r *reader) applySome(ctx context.Context, tx *sqldb.Tx, t *changes, items []item) (n int, err error) {
	for began := time.Now(); n < len(items); {
		if err := r.applyOne(ctx, tx, t, &items[n]); err != nil {
			return n, err
		}
		if n++; r.poison.isolate || time.Since(began) > oneByOneTime {
			break
		}
	}
	return n, nil
}

// commit runs fn under the reader's lease and remembers what it did once that is on
// disk. to is where the reader is then; nil: where it was.
func (r *reader) commit(ctx context.Context, to *position, fn func(context.Context, *sqldb.Tx, *changes) error) error {
	var t *changes
	err := r.bus.write(ctx, "bus.take", func(ctx context.Context, tx *sqldb.Tx) error {
		t = &changes{versions: map[string]keyVersion{}, keys: map[string]*blockedKey{}}
		r.poison.begin()
		var err error
		if t.now, err = r.bus.fence(ctx, tx, r.lease); err != nil {
			return err
		}
		if err := fn(ctx, tx, t); err != nil {
			return err
		}
		if err := r.saveKeys(ctx, tx, t); err != nil {
			return err
		}
		if err := r.savePosition(ctx, tx, t, to); err != nil {
			return err
		}
		r.bus.cfg.Passed("reader.before-commit")
		return nil
	})
	if err != nil {
		return err
	}
	r.bus.cfg.Passed("reader.committed")
	r.waited = r.pending > 0
	r.remember(t)
	if to != nil {
		r.pos = *to
	}
	return nil
}

// remember takes over what a committed turn did.
func (r *reader) remember(t *changes) {
	if len(r.newest)+len(t.versions) > maxVersions {
		clear(r.newest)
	}
	maps.Copy(r.newest, t.versions)
	for key, l := range t.keys {
		if l == nil {
			delete(r.keys, key)
			continue
		}
		r.keys[key] = l
		r.schedule(l)
	}
	for _, key := range t.deadKeys {
		r.deadKeys[key] = r.consumer.Continue
	}
}

// savePosition notes where the reader is and counts what it did.
func (r *reader) savePosition(ctx context.Context, tx *sqldb.Tx, t *changes, to *position) error {
	at := r.pos
	if to != nil {
		at = *to
	}
	_, err := tx.Exec(ctx, `UPDATE bus_reader SET stream_at = $3, seq = $4, relayed_at = $5, source_id = $6, pending = $7, at = $8,
		applied = applied + $9, duplicate = duplicate + $10, stale = stale + $11, failed = failed + $12, last_seq = $13, last_event = $14 WHERE consumer = $1 AND part = $2`,
		r.consumer.Name, r.lease.part, at.streamAt, at.seq, at.relayed, at.source, r.pending, t.now,
		t.counts.applied, t.counts.duplicate, t.counts.stale, t.counts.failed, at.last, at.lastID)
	return err
}

// takeAll takes a batch in which nothing fails.
func (r *reader) applyBatch(ctx context.Context, tx *sqldb.Tx, t *changes, items []item) error {
	if err := r.loadVersions(ctx, tx, t, items); err != nil {
		return err
	}
	var todo []*item
	for i := range items {
		it := &items[i]
		switch {
		case it.Relay.Epoch < r.pos.minRelay:
		case r.keys[it.event.Key] != nil:
			if err := r.park(ctx, tx, t, it, 0); err != nil {
				return err
			}
		case it.bad != nil:
			return errOneByOne
		default:
			if again, err := r.isKnownDead(ctx, tx, t, &it.event); err != nil || again {
				if err != nil {
					return err
				}
				continue
			}
			switch t.judge(&it.event) {
			case apply:
				todo = append(todo, it)
			case conflict:
				return errOneByOne
			}
		}
	}
	if err := r.markAll(ctx, tx, todo); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, batchTimeout)
	defer cancel()
	touched := make(map[string]bool, len(todo))
	if err := r.handleAll(ctx, tx, todo); err != nil {
		return errOneByOne
	}
	for _, it := range todo {
		touched[it.event.Key] = true
	}
	t.counts.applied += len(todo)
	return r.saveVersions(ctx, tx, t, slices.Sorted(maps.Keys(touched)))
}

// judge is the version guard. It notes the place of an event that is to be applied.
func (t *changes) judge(e *wire.Event) verdict {
	v := admit(t.versions[e.Key], versionOf(e))
	switch v {
	case apply:
		t.versions[e.Key] = versionOf(e)
	case duplicate:
		t.counts.duplicate++
	case stale:
		t.counts.stale++
	}
	return v
}

// places finds the newest place of every key in a batch.
func (r *reader) loadVersions(ctx context.Context, tx *sqldb.Tx, t *changes, items []item) error {
	var missing []string
	for i := range items {
		key := items[i].event.Key
		if _, ok := t.versions[key]; ok || r.keys[key] != nil {
			continue
		}
		p, ok := r.newest[key]
		t.versions[key] = p
		if !ok {
			missing = append(missing, key)
		}
	}
	return r.readVersions(ctx, tx, t, missing)
}

// readPlaces reads places that nobody remembers.
func (r *reader) readVersions(ctx context.Context, tx *sqldb.Tx, t *changes, keys []string) error {
	if len(keys) == 0 {
		return nil
	}
	var b sqldb.Binds
	query := "SELECT partition_key, version, idx, event_id FROM bus_applied WHERE consumer = " + b.Add(r.consumer.Name) + " AND " + b.OneOf(tx.Dialect(), "partition_key", keys)
	for row, err := range tx.Query(ctx, query, b.Args()...) {
		var key string
		var p keyVersion
		if err == nil {
			err = row.Scan(&key, &p.version, &p.index, &p.eventID)
		}
		if err != nil {
			return err
		}
		t.versions[key] = p
	}
	return nil
}

// markAll is mark for a batch in which nothing fails. That one of its events was noted
// before, which the guard did not see, is rare.
func (r *reader) markAll(ctx context.Context, tx *sqldb.Tx, todo []*item) error {
	stmts, err := r.marks(tx.Dialect(), todo)
	if err != nil {
		return err
	}
	changed := make([]int64, len(stmts))
	for i := range stmts {
		stmts[i].Changed = &changed[i]
	}
	if err := tx.Batch(ctx, stmts...); err != nil {
		return err
	}
	noted := 0
	for _, n := range changed {
		noted += int(n)
	}
	if noted != len(todo) {
		return errOneByOne
	}
	return nil
}

const noMarkTwice = "ON CONFLICT (day, consumer, tenant_id, event_id) DO NOTHING"

var insertMarks = sqldb.NewInsert("processed_events (day, consumer, tenant_id, event_id)", noMarkTwice, "bigint", "text", "text", "text")

// marks are the statements that note events as taken. On SQLite, where they are in one
// order anyway, the ids of a tenant and a day are one argument.
func (r *reader) marks(d sqldb.Dialect, todo []*item) (stmts []sqldb.Stmt, err error) {
	if d == sqldb.Postgres {
		values := make([]any, 0, 4*len(todo))
		for _, it := range todo {
			values = append(values, int64(it.event.OccurredAt)/dayLength, r.consumer.Name, it.event.Tenant, it.event.ID)
		}
		return insertMarks.Stmts(d, values), nil
	}
	type group struct {
		day    int64
		tenant string
	}
	groups := map[group][]string{}
	for _, it := range todo {
		g := group{int64(it.event.OccurredAt) / dayLength, it.event.Tenant}
		groups[g] = append(groups[g], it.event.ID)
	}
	for g, ids := range groups {
		list, err := json.Marshal(ids)
		if err != nil {
			return nil, err
		}
		stmts = append(stmts, sqldb.Stmt{
			Query: `INSERT INTO processed_events (day, consumer, tenant_id, event_id)
				SELECT $1, $2, $3, value FROM json_each($4) WHERE true ` + noMarkTwice,
			Args: []any{g.day, r.consumer.Name, g.tenant, string(list)},
		})
	}
	return stmts, nil
}

// mark notes that events are taken and drops those that were noted before.
func (r *reader) mark(ctx context.Context, tx *sqldb.Tx, t *changes, todo []*item) ([]*item, error) {
	stmts, changed := make([]sqldb.Stmt, len(todo)), make([]int64, len(todo))
	for i, it := range todo {
		stmts[i] = r.processed(&it.event)
		stmts[i].Changed = &changed[i]
	}
	if err := tx.Batch(ctx, stmts...); err != nil {
		return nil, err
	}
	kept := todo[:0]
	for i, it := range todo {
		if changed[i] == 0 {
			t.counts.duplicate++
			continue
		}
		kept = append(kept, it)
	}
	return kept, nil
}

// dayLength is a day in milliseconds.
const dayLength = 24 * 60 * 60 * 1000

// processed is the statement that notes an event as taken. It changes no row when the
// event was noted before.
func (r *reader) processed(e *wire.Event) sqldb.Stmt {
	return sqldb.Stmt{
		Query: `INSERT INTO processed_events (day, consumer, tenant_id, event_id) VALUES ($1, $2, $3, $4) ` + noMarkTwice,
		Args:  []any{int64(e.OccurredAt) / dayLength, r.consumer.Name, e.Tenant, e.ID},
	}
}

// Each key is among the rows of a statement once.
var insertVersions = sqldb.NewInsert("bus_applied (consumer, partition_key, version, idx, event_id)",
	"ON CONFLICT (consumer, partition_key) DO UPDATE SET version = excluded.version, idx = excluded.idx, event_id = excluded.event_id",
	"text", "text", "bigint", "bigint", "text")

// savePlaces notes the newest place of keys.
func (r *reader) saveVersions(ctx context.Context, tx *sqldb.Tx, t *changes, keys []string) error {
	values := make([]any, 0, 5*len(keys))
	for _, key := range keys {
		p := t.versions[key]
		values = append(values, r.consumer.Name, key, p.version, p.index, p.eventID)
	}
	return tx.Batch(ctx, insertVersions.Stmts(tx.Dialect(), values)...)
}

// takeOne takes one event of a batch in which something fails.
func (r *reader) applyOne(ctx context.Context, tx *sqldb.Tx, t *changes, it *item) error {
	key := it.event.Key
	switch {
	case it.Relay.Epoch < r.pos.minRelay:
		return nil
	case r.blockedKey(t, key) != nil:
		return r.park(ctx, tx, t, it, 0)
	}
	if again, err := r.isKnownDead(ctx, tx, t, &it.event); err != nil || again {
		return err
	}
	if err := r.loadVersions(ctx, tx, t, []item{*it}); err != nil {
		return err
	}
	_, failed, err := r.try(ctx, tx, t, it)
	if err != nil || failed == nil {
		return err
	}
	return r.fail(ctx, tx, t, it, failed)
}

// try applies one event, unless the guard says otherwise, and undoes what it did when
// its handler fails. failed is why the event cannot be taken, err why the transaction
// cannot go on.
func (r *reader) try(ctx context.Context, tx *sqldb.Tx, t *changes, it *item) (v verdict, failed, err error) {
	if it.bad != nil {
		return apply, it.bad, nil
	}
	e, before, counted := &it.event, t.versions[it.event.Key], t.counts
	if v = t.judge(e); v == conflict {
		return v, Permanent(conflictOf(e, before)), nil
	}
	if v != apply {
		return v, nil, nil
	}
	ctx, cancel := context.WithTimeout(ctx, handleTimeout)
	defer cancel()
	tx.Disown() // what a transaction may do, an event may that is taken alone
	err = tx.Savepoint(ctx, func(ctx context.Context) error {
		left, err := r.mark(ctx, tx, t, []*item{it})
		if err != nil || len(left) == 0 {
			v = duplicate
			return err
		}
		if failed = r.handle(ctx, tx, e); failed != nil {
			return failed
		}
		t.counts.applied++
		return r.saveVersions(ctx, tx, t, []string{e.Key})
	})
	if failed != nil {
		t.versions[e.Key], t.counts = before, counted
		return v, failed, nil
	}
	return v, nil, err
}

// handleAll calls the consumer's handler for some events: once for all of them, if it has
// one for that. Then nobody knows which of them took long or panicked; should it matter,
// they come again one by one.
func (r *reader) handleAll(ctx context.Context, tx *sqldb.Tx, todo []*item) (err error) {
	if r.consumer.HandleAll == nil || len(todo) < 2 {
		for _, it := range todo {
			if err := r.handle(ctx, tx, &it.event); err != nil {
				return err
			}
		}
		return nil
	}
	events := make([]*wire.Event, len(todo))
	for i, it := range todo {
		events[i] = &it.event
		if guilty := r.poison.failureOf(it.event.ID); guilty != nil {
			return guilty
		}
	}
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("the handler panicked: %v", p) // the event that makes it panic does so again
		}
	}()
	for _, e := range events {
		r.poison.noteCall(e.ID, 0)
	}
	err = r.consumer.HandleAll(ctx, tx, events)
	r.bus.cfg.Passed("reader.handled")
	return err
}

// handle calls the consumer's handler.
func (r *reader) handle(ctx context.Context, tx *sqldb.Tx, e *wire.Event) (err error) {
	defer func() {
		if p := recover(); p != nil {
			r.bus.log.Error("a handler of events panicked", "consumer", r.consumer.Name, "eventType", e.Type, "stack", string(debug.Stack()))
			err = fmt.Errorf("the handler panicked: %v", p)
		}
	}()
	if guilty := r.poison.failureOf(e.ID); guilty != nil {
		return guilty
	}
	began := time.Now()
	err = r.consumer.Handle(ctx, tx, e)
	r.poison.noteCall(e.ID, time.Since(began))
	r.bus.cfg.Passed("reader.handled")
	return err
}
