package store

import (
	"bytes"
	"cmp"
	"context"
	"maps"
	"slices"

	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/platform/sqldb"
	"renga.dev/renga/internal/workflow/engine"
)

const (
	pgCreate = `INSERT INTO engine_execution (` + headColumns + `, commit_no)
		SELECT * FROM unnest($1::bigint[], $2::uuid[], $3::text[], $4::text[], $5::bigint[], $6::bigint[], $7::bigint[],
			$8::bigint[], $9::bigint[], $10::bigint[], $11::text[], $12::text[], $13::text[],
			$14::text[], $15::text[], $16::bigint[], $17::text[], $18::bigint[])`

	// What changes is an array for each column, in the order of the numbers; place is
	// where an execution stands in them.
	place    = `[width_bucket(num, $1::bigint[])]`
	pgUpdate = `UPDATE engine_execution SET status = ($4::bigint[])` + place + `, ended_at = ($5::bigint[])` + place +
		`,
			archived_at = ($6::bigint[])` + place + `, due_at = ($7::bigint[])` + place + `,
			commit_no = greatest(commit_no, ($8::bigint[])` + place + `),
			outcome = ($9::text[])` + place + `, error_code = ($10::text[])` + place + `,
			waiting = ($11::bigint[])` + place + `, failed_node = ($12::text[])` + place + `
		WHERE num = ANY($1::bigint[]) AND tenant = ($2::text[])` + place + ` AND status = ($3::bigint[])` + place

	// An execution that a commit only appends to changes in nothing but its number:
	// such an update touches no index.
	pgBump = `UPDATE engine_execution SET commit_no = ($2::bigint[])` + place + ` WHERE num = ANY($1::bigint[])`

	// A row that is published gets a number, while its execution is locked. level: 1 if
	// the row has events, 2 if one of them IsMain.
	pgAppend = `INSERT INTO engine_log (execution, commit_no, first_seq, last_seq, reducer, body, snapshot, news)
		SELECT execution, commit_no, first_seq, last_seq, nullif(reducer, 0), body, snapshot,
			CASE WHEN level = 2 AND tenant <> ALL(ARRAY(SELECT tenant FROM engine_news WHERE publicity = 2))
				OR level = 1 AND tenant = ANY(ARRAY(SELECT tenant FROM engine_news WHERE publicity = 1))
				THEN nextval('engine_log_number') END
		FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[], $6::bytea[], $7::bytea[],
			$8::bigint[], $9::text[])
			AS w (execution, commit_no, first_seq, last_seq, reducer, body, snapshot, level, tenant)`

	// A key that has expired makes room, and is the newest from then on.
	pgRemember = `INSERT INTO engine_key AS k (digest, tenant, endpoint, key, hash, at, body)
		SELECT * FROM unnest($1::bytea[], $2::text[], $3::text[], $4::text[], $5::bytea[], $6::bigint[], $7::bytea[])
		ON CONFLICT (digest) DO UPDATE
		SET id = excluded.id, hash = excluded.hash, at = excluded.at, body = excluded.body
		WHERE k.tenant = excluded.tenant AND k.at <= excluded.at - $8`

	pgTake = `DELETE FROM engine_ready WHERE ctid = ANY(ARRAY(SELECT r.ctid
		FROM unnest($1::text[], $2::text[], $3::bigint[], $4::bigint[], $5::text[]) AS w (tenant, queue, ready_at,
			execution, node)
		LEFT JOIN engine_ready AS r ON r.tenant = w.tenant AND r.queue = w.queue AND r.ready_at = w.ready_at
			AND r.execution = w.execution AND r.node = w.node))`

	pgAdd = `INSERT INTO engine_ready (tenant, queue, ready_at, execution, node)
		SELECT * FROM unnest($1::text[], $2::text[], $3::bigint[], $4::bigint[], $5::text[])`

	pgCount = `INSERT INTO engine_count_delta (tenant, graph_id, status, n)
		SELECT * FROM unnest($1::text[], $2::text[], $3::bigint[], $4::bigint[])`
)

// Write writes a batch: a few statements, whatever it holds, in one trip.
func (t *pgTx) Write(ctx context.Context, b *engine.Batch) error {
	counts, newest := counter{}, newestOf(b.Log)
	var updated, remembered int64
	var stmts []sqldb.Stmt
	add := func(n int, query string, args []any, changed *int64) {
		if n > 0 {
			stmts = append(stmts, sqldb.Stmt{Query: query, Args: args, Changed: changed})
		}
	}
	add(len(b.Update), pgUpdate, updates(b.Update, newest, counts), &updated)
	add(len(b.Create), pgCreate, creations(b.Create, newest, counts), nil)
	labelled := labelled(b.Create)
	add(len(labelled), pgLabels, labels(labelled), nil)
	add(len(newest), pgBump, bumps(newest), nil)
	add(len(b.Log), pgAppend, append(appends(b.Log), t.numbering(b)...), nil)
	add(len(b.Keys), pgRemember, append(memories(b.Keys), int64(t.store.retention)), &remembered)
	add(len(b.Taken), pgTake, tasks(b.Taken), nil)
	add(len(b.Ready), pgAdd, tasks(b.Ready), nil)
	groups := counts.groups()
	add(len(groups), pgCount, deltas(groups, counts), nil)
	p, err := passed(b)
	if err != nil {
		return err
	}
	filters := p.filters()
	add(len(filters), pgPassing, passingDeltas(filters, p), nil)
	notes, err := t.store.notes(t.sql, b)
	if err != nil {
		return err
	}
	if err := t.sql.Batch(ctx, append(stmts, notes...)...); err != nil {
		return fault.Wrap("store.write", err)
	}
	if updated != int64(len(b.Update)) {
		return fault.Wrap("store.update", fault.New(fault.Conflict, "EXECUTION_CHANGED",
			"an execution is not as it was read"))
	}
	if remembered != int64(len(b.Keys)) {
		return fault.Wrap("store.keys", errKeyInUse)
	}
	return nil
}

func newestOf(log []engine.LogRow) map[int64]int64 {
	newest := make(map[int64]int64, len(log))
	for i := range log {
		r := &log[i]
		newest[r.Execution] = max(newest[r.Execution], r.CommitNo)
	}
	return newest
}

func column[R, V any](rows []R, of func(*R) V) []V {
	out := make([]V, len(rows))
	for i := range rows {
		out[i] = of(&rows[i])
	}
	return out
}

// creations are the arguments of pgCreate, which sets commit numbers too.
func creations(heads []engine.Head, newest map[int64]int64, counts counter) []any {
	heads = inKeyOrder(heads)
	return []any{
		column(heads, func(h *engine.Head) int64 { return h.Num }),
		column(heads, func(h *engine.Head) []byte { return h.ID[:] }),
		column(heads, func(h *engine.Head) string { return h.Tenant }),
		column(heads, func(h *engine.Head) string { return h.GraphID }),
		column(heads, func(h *engine.Head) int64 { return int64(h.GraphVersion) }),
		column(heads, func(h *engine.Head) int64 { return int64(h.Status) }),
		column(heads, func(h *engine.Head) int64 { return int64(h.CreatedAt) }),
		column(heads, func(h *engine.Head) int64 { return int64(h.EndedAt) }),
		column(heads, func(h *engine.Head) int64 { return int64(h.ArchivedAt) }),
		column(heads, func(h *engine.Head) int64 { return int64(h.DueAt) }),
		column(heads, func(h *engine.Head) string { return h.CorrelationID }),
		column(heads, func(h *engine.Head) string { return h.BusinessKey }),
		column(heads, func(h *engine.Head) string { return h.Labels }),
		column(heads, func(h *engine.Head) string { return h.Outcome }),
		column(heads, func(h *engine.Head) string { return h.ErrorCode }),
		column(heads, func(h *engine.Head) int64 { return int64(h.Waiting) }),
		column(heads, func(h *engine.Head) string { return h.FailedNode }),
		column(heads, func(h *engine.Head) int64 {
			counts.created(h)
			return taken(newest, h.Num)
		}),
	}
}

// updates are the arguments of pgUpdate, which sets commit numbers too.
func updates(heads []engine.Update, newest map[int64]int64, counts counter) []any {
	heads = slices.SortedFunc(slices.Values(heads), func(a, b engine.Update) int { return cmp.Compare(a.Num, b.Num) })
	return []any{
		column(heads, func(h *engine.Update) int64 { return h.Num }),
		column(heads, func(h *engine.Update) string { return h.Tenant }),
		column(heads, func(h *engine.Update) int64 { return int64(h.Was) }),
		column(heads, func(h *engine.Update) int64 { return int64(h.Status) }),
		column(heads, func(h *engine.Update) int64 { return int64(h.EndedAt) }),
		column(heads, func(h *engine.Update) int64 { return int64(h.ArchivedAt) }),
		column(heads, func(h *engine.Update) int64 { return int64(h.DueAt) }),
		column(heads, func(h *engine.Update) int64 {
			counts.changed(h)
			return taken(newest, h.Num)
		}),
		column(heads, func(h *engine.Update) string { return h.Outcome }),
		column(heads, func(h *engine.Update) string { return h.ErrorCode }),
		column(heads, func(h *engine.Update) int64 { return int64(h.Waiting) }),
		column(heads, func(h *engine.Update) string { return h.FailedNode }),
	}
}

func taken(newest map[int64]int64, num int64) int64 {
	no := newest[num]
	delete(newest, num)
	return no
}

func bumps(newest map[int64]int64) []any {
	nums := slices.Sorted(maps.Keys(newest))
	return []any{nums, column(nums, func(num *int64) int64 { return newest[*num] })}
}

func appends(rows []engine.LogRow) []any {
	return []any{
		column(rows, func(r *engine.LogRow) int64 { return r.Execution }),
		column(rows, func(r *engine.LogRow) int64 { return r.CommitNo }),
		column(rows, func(r *engine.LogRow) int64 { return int64(r.FirstSeq) }),
		column(rows, func(r *engine.LogRow) int64 { return int64(r.LastSeq) }),
		column(rows, func(r *engine.LogRow) int64 {
			if r.Snapshot == nil {
				return 0
			}
			return int64(r.Reducer)
		}),
		column(rows, func(r *engine.LogRow) []byte { return r.Body }),
		column(rows, func(r *engine.LogRow) []byte { return r.Snapshot }),
	}
}

// numbering are the arguments of pgAppend that say which rows may be published, and whose
// they are.
func (t *pgTx) numbering(b *engine.Batch) []any {
	levels, tenants := make([]int64, len(b.Log)), make([]string, len(b.Log))
	if t.store.silent {
		return []any{levels, tenants}
	}
	for i := range b.Publications {
		n := &b.Publications[i]
		levels[n.Row], tenants[n.Row] = 1, n.Tenant
		if n.Main {
			levels[n.Row] = 2
		}
	}
	t.note(b)
	return []any{levels, tenants}
}

// note keeps the publications of a batch for a source of this process. Should the publish policy have changed by then,
// the source finds out.
func (t *pgTx) note(b *engine.Batch) {
	wanted := t.store.publishing.policies.Load()
	if wanted == nil {
		return
	}
	read := t.store.recent.reading()
	for i := range b.Publications {
		n, row := &b.Publications[i], &b.Log[b.Publications[i].Row]
		p := (*wanted)[n.Tenant]
		if p == engine.PublishNone || p == engine.PublishMain && !n.Main {
			continue
		}
		t.publishes = true
		if !read {
			continue
		}
		if notice := newPublication(0, row, n, p); notice.events != nil {
			t.publications = append(t.publications, placedPublication{rowPlace{row.Execution, row.CommitNo}, notice})
		}
	}
}

// memories are arguments of pgRemember, in one order for everybody, so that two commits with the
// same keys do not wait for each other in a circle.
func memories(keys []engine.KeyRow) []any {
	type digested struct {
		digest []byte
		*engine.KeyRow
	}
	rows := column(keys, func(k *engine.KeyRow) digested { return digested{digestOf(&k.KeyRef), k} })
	slices.SortFunc(rows, func(a, b digested) int { return bytes.Compare(a.digest, b.digest) })
	return []any{
		column(rows, func(k *digested) []byte { return k.digest }),
		column(rows, func(k *digested) string { return k.Tenant }),
		column(rows, func(k *digested) string { return k.Endpoint }),
		column(rows, func(k *digested) string { return k.Key }),
		column(rows, func(k *digested) []byte { return k.Hash[:] }),
		column(rows, func(k *digested) int64 { return int64(k.At) }),
		column(rows, func(k *digested) []byte { return k.Body }),
	}
}

func tasks(rows []engine.ReadyRow) []any {
	return []any{
		column(rows, func(r *engine.ReadyRow) string { return r.Tenant }),
		column(rows, func(r *engine.ReadyRow) string { return r.Queue }),
		column(rows, func(r *engine.ReadyRow) int64 { return int64(r.At) }),
		column(rows, func(r *engine.ReadyRow) int64 { return r.Execution }),
		column(rows, func(r *engine.ReadyRow) string { return r.Node }),
	}
}

func deltas(groups []group, counts counter) []any {
	return []any{
		column(groups, func(g *group) string { return g.tenant }),
		column(groups, func(g *group) string { return g.graph }),
		column(groups, func(g *group) int64 { return int64(g.status) }),
		column(groups, func(g *group) int64 { return counts[*g] }),
	}
}
