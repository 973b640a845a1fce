package store

import (
	"context"
	"slices"

	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/platform/sqldb"
	"renga.dev/renga/internal/workflow/engine"
	"renga.dev/renga/internal/workflow/flow"
)

// pgTx is one commit in the making on PostgreSQL. What it looks at is locked first and read after, in
// a statement of its own: one that waits for a lock may see what was there before. Only rows of
// engine_execution are ever locked.
type pgTx struct {
	shared
	store        *Store
	now          flow.Time           // 0: not asked for yet
	hurry        bool                // executions that others hold are left out, not waited for
	spare        block               // numbers that this commit reserved beyond what it needed
	publishes    bool                // it has rows that are published
	publications []placedPublication // which, when a source reads
}

var _ engine.Tx = (*pgTx)(nil)

// The planner may keep a plan that it made while a table was empty: a plain join could then read all
// of it. So a list of wanted rows is an array that an index looks up, or the left side of a LEFT JOIN.
const (
	// theWanted are executions by their numbers and by their ids, of some tenants. No
	// index serves the sum of a tenant and nothing.
	theWanted = `num = ANY($1::bigint[] || ARRAY(SELECT num FROM engine_execution WHERE id = ANY($2::uuid[])))
		AND tenant || '' = ANY($3::text[])`

	pgLock  = "SELECT num FROM engine_execution WHERE " + theWanted + " ORDER BY num FOR UPDATE"
	pgSeize = pgLock + " SKIP LOCKED"
	pgHeads = "SELECT " + headColumns + ", commit_no FROM engine_execution WHERE " + theWanted

	// pgRows are the rows of several executions, each from its newest snapshot on that
	// holds no event after $5, up to the row that holds event $5. Their order is the
	// reader's business: the database would sort all bodies.
	pgRows = `SELECT l.execution, l.commit_no, l.first_seq, l.last_seq, l.body,
		CASE WHEN l.commit_no = s.no THEN l.snapshot END
		FROM (SELECT num FROM engine_execution WHERE ` + theWanted + `) AS w
		LEFT JOIN LATERAL (SELECT commit_no AS no FROM engine_log
			WHERE execution = w.num AND reducer = $4 AND last_seq <= $5 ORDER BY commit_no DESC LIMIT 1) AS s ON true
		JOIN LATERAL (SELECT execution, commit_no, first_seq, last_seq, body, snapshot FROM engine_log
			WHERE execution = w.num AND commit_no >= coalesce(s.no, 1)
				AND (first_seq <= $5 OR commit_no = s.no)) AS l ON true`

	pgClock = "SELECT floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint"
)

// Now is the time by the clock of the database.
func (t *pgTx) Now(ctx context.Context, _ flow.Time) (flow.Time, error) {
	if t.now == 0 {
		if err := t.sql.Batch(ctx, clock(&t.now)); err != nil {
			return 0, fault.Wrap("store.now", err)
		}
	}
	return t.now, nil
}

func clock(now *flow.Time) sqldb.Stmt {
	return sqldb.Stmt{Query: pgClock, Row: func(r *sqldb.Row) error { return r.Scan((*int64)(now)) }}
}

// Fetch locks executions and reads them. One trip does it; those that the caller
// knew and another process has changed take a second.
func (t *pgTx) Fetch(ctx context.Context, want []engine.Want) ([]engine.History, error) {
	f := newFetch(want)
	stmts := []sqldb.Stmt{f.lock(t.hurry), f.heads()}
	if !f.unknown.empty() {
		stmts = append(stmts, f.rows(&f.unknown))
	}
	stmts = append(stmts, clock(&t.now))
	if err := t.sql.Batch(ctx, stmts...); err != nil {
		return nil, fault.Wrap("store.fetch", err)
	}
	if stale := f.stale(); !stale.empty() {
		if err := t.sql.Batch(ctx, f.rows(&stale)); err != nil {
			return nil, fault.Wrap("store.fetch", err)
		}
	}
	return f.histories(), nil
}

type names struct {
	nums    []int64
	ids     [][]byte
	tenants []string
}

func (n *names) empty() bool { return len(n.nums)+len(n.ids) == 0 }

func (n *names) args() []any { return []any{n.nums, n.ids, n.tenants} }

func (n *names) add(w *engine.Want) {
	if w.Num > 0 {
		n.nums = append(n.nums, w.Num)
	} else {
		n.ids = append(n.ids, w.ID[:])
	}
	if !slices.Contains(n.tenants, w.Tenant) {
		n.tenants = append(n.tenants, w.Tenant)
	}
}

type fetch struct {
	want    []engine.Want
	all     names
	unknown names          // those of them that the caller holds nothing of
	seized  map[int64]bool // those that could be locked; nil: all
	byNum   map[int64]*stored
	byID    map[flow.ID]*stored
}

type stored struct {
	head     engine.Head
	commitNo int64
	rows     []engine.LogRow
}

func newFetch(want []engine.Want) *fetch {
	f := &fetch{want: want, byNum: make(map[int64]*stored, len(want)), byID: make(map[flow.ID]*stored, len(want))}
	for i := range want {
		f.all.add(&want[i])
		if want[i].Known == 0 {
			f.unknown.add(&want[i])
		}
	}
	return f
}

// lock locks the executions, or those of them that nobody else has locked.
func (f *fetch) lock(hurry bool) sqldb.Stmt {
	if !hurry {
		return sqldb.Stmt{Query: pgLock, Args: f.all.args()}
	}
	f.seized = make(map[int64]bool, len(f.want))
	return sqldb.Stmt{Query: pgSeize, Args: f.all.args(), Row: func(r *sqldb.Row) error {
		var num int64
		err := r.Scan(&num)
		f.seized[num] = true
		return err
	}}
}

// heads reads the executions' own rows.
func (f *fetch) heads() sqldb.Stmt {
	return sqldb.Stmt{Query: pgHeads, Args: f.all.args(), Row: func(r *sqldb.Row) error {
		e := &stored{}
		var err error
		if e.head, err = scanHead(r, &e.commitNo); err != nil {
			return err
		}
		f.byNum[e.head.Num], f.byID[e.head.ID] = e, e
		return nil
	}}
}

// rows reads logs.
func (f *fetch) rows(of *names) sqldb.Stmt { return f.rowsUpTo(of, maxSeq) }

func (f *fetch) rowsUpTo(of *names, upTo int64) sqldb.Stmt {
	return sqldb.Stmt{
		Query: pgRows, Args: append(of.args(), engine.ReducerVersion, upTo),
		Row: func(r *sqldb.Row) error {
			var row engine.LogRow
			if err := r.Scan(&row.Execution, &row.CommitNo, &row.FirstSeq, &row.LastSeq, &row.Body,
				&row.Snapshot); err != nil {
				return err
			}
			if row.Snapshot != nil {
				row.Reducer = engine.ReducerVersion
			}
			if e := f.byNum[row.Execution]; e != nil {
				e.rows = append(e.rows, row)
			}
			return nil
		},
	}
}

func (f *fetch) find(w *engine.Want) *stored {
	e := f.byNum[w.Num]
	if w.Num == 0 {
		e = f.byID[w.ID]
	}
	if e == nil || e.head.Tenant != w.Tenant {
		return nil
	}
	return e
}

// stale are executions of which the caller holds what is no longer current.
func (f *fetch) stale() (out names) {
	for i := range f.want {
		w := &f.want[i]
		if e := f.find(w); e != nil && w.Known > 0 && w.Known != e.commitNo && e.rows == nil {
			out.add(w)
		}
	}
	return out
}

func (f *fetch) histories() []engine.History {
	out := make([]engine.History, len(f.want))
	for i := range f.want {
		w := &f.want[i]
		e := f.find(w)
		switch {
		case e == nil:
		case f.seized != nil && !f.seized[e.head.Num]:
			out[i] = engine.History{Found: true, Locked: true, Head: e.head}
		case w.Known > 0 && w.Known == e.commitNo:
			out[i] = engine.History{Found: true, Fresh: true, Head: e.head}
		default:
			out[i] = e.history()
		}
	}
	return out
}

// history is one execution with its rows in order.
func (e *stored) history() engine.History {
	byCommit := func(a, b engine.LogRow) int { return int(a.CommitNo - b.CommitNo) }
	if !slices.IsSortedFunc(e.rows, byCommit) {
		slices.SortFunc(e.rows, byCommit)
	}
	return engine.History{Found: true, Head: e.head, Rows: e.rows}
}

// pgHistory reads one execution, in one trip.
func pgHistory(ctx context.Context, sql *sqldb.Tx, want engine.Want, upTo int64) (engine.History, error) {
	f := newFetch([]engine.Want{want})
	if err := sql.Batch(ctx, f.heads(), f.rowsUpTo(&f.all, upTo)); err != nil {
		return engine.History{}, err
	}
	h := f.histories()[0]
	if !h.Found {
		return h, sqldb.ErrNoRow
	}
	return h, nil
}

const pgReady = `SELECT r.ready_at, r.execution, r.node
	FROM engine_ready AS r JOIN engine_execution AS e ON e.num = r.execution
	WHERE r.tenant = $1 AND r.queue = $2 AND (r.ready_at, r.execution, r.node) > ($3, $4, $5)
	ORDER BY r.ready_at, r.execution, r.node LIMIT $6 FOR UPDATE OF e SKIP LOCKED`

// Ready lists ready tasks of a queue after a place in its order and locks their executions, without
// those that another commit has locked. A row may be gone by the time that its execution is locked;
// the execution, read after that, says so.
func (t *pgTx) Ready(
	ctx context.Context, tenant, queue string, after engine.ReadyRow, limit int,
) ([]engine.ReadyRow, error) {
	return t.waiting(ctx, pgReady, tenant, queue, after, limit)
}

const pgKeys = `SELECT w.i, k.hash, k.at, k.body
	FROM unnest($1::bytea[], $2::text[], $3::text[], $4::text[]) WITH ORDINALITY AS w (digest, tenant, endpoint, key, i)
	LEFT JOIN engine_key AS k ON k.digest = w.digest AND k.tenant = w.tenant
		AND k.endpoint = w.endpoint AND k.key = w.key`

func (t *pgTx) Keys(ctx context.Context, refs []engine.KeyRef) ([]*engine.KeyRow, error) {
	digests, tenants := make([][]byte, len(refs)), make([]string, len(refs))
	endpoints, keys := make([]string, len(refs)), make([]string, len(refs))
	for i := range refs {
		ref := &refs[i]
		digests[i], tenants[i], endpoints[i], keys[i] = digestOf(ref), ref.Tenant, ref.Endpoint, ref.Key
	}
	out := make([]*engine.KeyRow, len(refs))
	err := t.sql.Batch(ctx, sqldb.Stmt{
		Query: pgKeys, Args: []any{digests, tenants, endpoints, keys},
		Row: func(r *sqldb.Row) error {
			var i, at int64
			var hash []byte
			k := &engine.KeyRow{}
			if err := r.Scan(&i, &hash, &at, &k.Body); err != nil {
				return err
			}
			if hash == nil {
				return nil // not remembered
			}
			copy(k.Hash[:], hash)
			k.KeyRef, k.At = refs[i-1], flow.Time(at)
			out[i-1] = k
			return nil
		},
	})
	return out, fault.Wrap("store.keys", err)
}
