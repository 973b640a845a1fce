package store

import (
	"context"

	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/platform/sqldb"
	"renga.dev/renga/internal/workflow/engine"
)

const selectPolicies = "SELECT tenant, publicity FROM engine_news"

// publishPolicies reads the publish policies of tenants, where they are not the default.
func publishPolicies(all map[string]engine.PublishPolicy) sqldb.Stmt {
	return sqldb.Stmt{Query: selectPolicies, Row: func(r *sqldb.Row) error {
		var tenant string
		var p int64
		err := r.Scan(&tenant, &p)
		all[tenant] = engine.PublishPolicy(p)
		return err
	}}
}

// PublishPolicy says which events of a tenant's executions are published.
func (s *Store) PublishPolicy(ctx context.Context, tenant string) (engine.PublishPolicy, error) {
	all := map[string]engine.PublishPolicy{}
	err := s.read(ctx, "store.publicity", func(ctx context.Context, sql *sqldb.Tx) error {
		return sql.Batch(ctx, publishPolicies(all))
	})
	return all[tenant], err
}

// SetPublishPolicy sets which events of a tenant's executions are published from now on. within, when not nil, runs in
// the same transaction.
func (s *Store) SetPublishPolicy(
	ctx context.Context, tenant string, p engine.PublishPolicy, within func(context.Context, *sqldb.Tx) error,
) error {
	err := s.db.Write(ctx, sqldb.Other, func(ctx context.Context, sql *sqldb.Tx) error {
		query, args := "DELETE FROM engine_news WHERE tenant = $1", []any{tenant}
		if p != engine.PublishMain {
			query, args = `INSERT INTO engine_news (tenant, publicity) VALUES ($1, $2)
				ON CONFLICT (tenant) DO UPDATE SET publicity = excluded.publicity`, []any{tenant, p}
		}
		if _, err := sql.Exec(ctx, query, args...); err != nil || within == nil {
			return err
		}
		return within(ctx, sql)
	})
	s.publishing.policies.Store(nil) // whether it was committed or not
	return fault.Wrap("store.publicity", err)
}

// MaxUnpublished is how many rows that wait to be published are counted.
const MaxUnpublished = 10_000

const selectUnpublished = `SELECT count(*) FROM (SELECT news FROM engine_log
	WHERE news > $1 ORDER BY news LIMIT $2) AS waiting`

// Unpublished is how many rows after a number are to be published, up to MaxUnpublished.
func (s *Store) Unpublished(ctx context.Context, number int64) (n int, err error) {
	err = s.read(ctx, "store.unpublished", func(ctx context.Context, sql *sqldb.Tx) error {
		return sql.Row(ctx, selectUnpublished, number, MaxUnpublished).Scan(&n)
	})
	return n, err
}

// publicationNumbers numbers the rows of a commit that are published, on SQLite.
type publicationNumbers struct {
	tx   *tx
	rest []engine.Publication // of rows that have not come yet
	all  map[string]engine.PublishPolicy
}

func (t *tx) numberPublications(ctx context.Context, publications []engine.Publication) (*publicationNumbers, error) {
	s := t.store
	if len(publications) == 0 || s.silent {
		return &publicationNumbers{}, nil
	}
	if s.number < 0 {
		if err := t.sql.Row(ctx, selectLastNumber).Scan(&s.number); err != nil {
			return nil, err
		}
	}
	all := s.publishing.policies.Load()
	if all == nil {
		all = &map[string]engine.PublishPolicy{}
		if err := t.sql.Batch(ctx, publishPolicies(*all)); err != nil {
			return nil, err
		}
		s.publishing.policies.Store(all)
	}
	n := &publicationNumbers{tx: t, rest: publications, all: *all}
	if t.inFlight == nil {
		t.inFlight, t.read = s.tail.begin(s.number)
	}
	return n, nil
}

// of is the number of a row, nil when it is not published.
func (n *publicationNumbers) of(i int, row *engine.LogRow) any {
	if len(n.rest) == 0 || n.rest[0].Row != i {
		return nil
	}
	next := &n.rest[0]
	n.rest = n.rest[1:]
	p := n.all[next.Tenant]
	if p == engine.PublishNone || p == engine.PublishMain && !next.Main {
		return nil
	}
	s := n.tx.store
	s.number++
	entry := &publication{number: s.number}
	if n.tx.read {
		entry = newPublication(s.number, row, next, p)
	}
	n.tx.inFlight.publications = append(n.tx.inFlight.publications, entry)
	return s.number
}
