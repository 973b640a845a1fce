package store

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strconv"

	"github.com/go-json-experiment/json"

	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/workflow/engine"
	"renga.dev/renga/internal/workflow/flow"
)

// passing gathers how many more executions pass filters, so that a commit writes each of them once.
type passing map[filterOf]int64

type filterOf struct{ tenant, filter string }

// The names of filters that are no labels.
const (
	byOutcome = ":outcome="
	byError   = ":error="
	byNode    = ":node="
	byWaiting = ":waiting"
	byArchive = ":archived="
)

// passed counts what the executions of a batch pass from now on.
func passed(b *engine.Batch) (passing, error) {
	p := passing{}
	for i := range b.Create {
		h := &b.Create[i]
		p.ended(h)
		p.waiting(h, 0)
		if h.ArchivedAt > 0 {
			p[filterOf{h.Tenant, archivedAs(h.Status, h.GraphID)}]++
		}
		if h.Labels == "" {
			continue
		}
		var labels flow.Labels
		if err := json.Unmarshal([]byte(h.Labels), &labels); err != nil {
			return nil, fault.Wrap("store.labels", err)
		}
		for _, l := range labels {
			p[filterOf{h.Tenant, l.String()}]++
		}
	}
	for i := range b.Update {
		u := &b.Update[i]
		if u.Was != u.Status { // how it ended does not change
			p.ended(&u.Head)
		}
		p.waiting(&u.Head, u.WasWaiting)
		if u.ArchivedAt > 0 && !u.Archived {
			p[filterOf{u.Tenant, archivedAs(u.Status, u.GraphID)}]++
		}
	}
	for i := range b.Waited {
		p[filterOf{b.Waited[i].Tenant, byNode + b.Waited[i].Node}]--
	}
	for i := range b.Waits {
		p[filterOf{b.Waits[i].Tenant, byNode + b.Waits[i].Node}]++
	}
	maps.DeleteFunc(p, func(_ filterOf, n int64) bool { return n == 0 })
	return p, nil
}

// archivedAs is the filter by which archived executions of a status and a graph are counted.
func archivedAs(status flow.Status, graph string) string {
	return byArchive + strconv.Itoa(int(status)) + "/" + graph
}

func (p passing) waiting(h *engine.Head, was int) {
	switch {
	case h.Waiting > 0 && was <= 0:
		p[filterOf{h.Tenant, byWaiting}]++
	case h.Waiting <= 0 && was > 0:
		p[filterOf{h.Tenant, byWaiting}]--
	}
}

func (p passing) ended(h *engine.Head) {
	if h.Outcome != "" {
		p[filterOf{h.Tenant, byOutcome + h.Outcome}]++
	}
	if h.ErrorCode != "" {
		p[filterOf{h.Tenant, byError + h.ErrorCode}]++
	}
}

// filters are those that more executions pass, in one order for everybody.
func (p passing) filters() []filterOf {
	return slices.SortedFunc(maps.Keys(p), func(a, b filterOf) int {
		return cmp.Or(cmp.Compare(a.tenant, b.tenant), cmp.Compare(a.filter, b.filter))
	})
}

const (
	insertPassing = `INSERT INTO engine_passing (tenant, filter, n) VALUES ($1, $2, $3)
		ON CONFLICT (tenant, filter) DO UPDATE SET n = engine_passing.n + excluded.n`
	pgPassing = `INSERT INTO engine_passing_delta (tenant, filter, n)
		SELECT * FROM unnest($1::text[], $2::text[], $3::bigint[])`
	compactPassing = `WITH gone AS (DELETE FROM engine_passing_delta
			WHERE id = ANY(ARRAY(SELECT id FROM engine_passing_delta ORDER BY id LIMIT $1))
			RETURNING tenant, filter, n),
		compacted AS (INSERT INTO engine_passing AS p (tenant, filter, n)
			SELECT tenant, filter, sum(n) FROM gone GROUP BY tenant, filter
			ON CONFLICT (tenant, filter) DO UPDATE SET n = p.n + excluded.n)
		SELECT count(*) FROM gone`
)

func (t *tx) pass(ctx context.Context, b *engine.Batch) error {
	p, err := passed(b)
	for _, f := range p.filters() {
		if _, err := t.sql.Exec(ctx, insertPassing, f.tenant, f.filter, p[f]); err != nil {
			return err
		}
	}
	return err
}

// passingDeltas are the arguments of pgPassing.
func passingDeltas(filters []filterOf, p passing) []any {
	return []any{
		column(filters, func(f *filterOf) string { return f.tenant }),
		column(filters, func(f *filterOf) string { return f.filter }),
		column(filters, func(f *filterOf) int64 { return p[*f] }),
	}
}
