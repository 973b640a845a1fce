package store

import (
	"context"
	"errors"

	"renga.dev/renga/internal/engine"
	"renga.dev/renga/internal/fault"
	"renga.dev/renga/internal/sqldb"
)

const (
	graphColumns      = "id, version, digest, body, created_at"
	selectNewestGraph = "SELECT " + graphColumns + " FROM engine_graph WHERE tenant = $1 AND id = $2 ORDER BY version DESC LIMIT 1"
)

func scanGraph(tenant string, row *sqldb.Row) (engine.GraphRow, error) {
	g := engine.GraphRow{Tenant: tenant}
	err := row.Scan(&g.ID, &g.Version, &g.Digest, &g.Body, &g.CreatedAt)
	return g, err
}

func newestGraph(ctx context.Context, sql *sqldb.Tx, tenant, id string) (engine.GraphRow, error) {
	return scanGraph(tenant, sql.Row(ctx, selectNewestGraph, tenant, id))
}

// Graph is one version of a graph, the newest with version 0.
func (s *Store) Graph(ctx context.Context, tenant, id string, version int) (g engine.GraphRow, err error) {
	err = s.read(ctx, "store.graph", func(ctx context.Context, sql *sqldb.Tx) error {
		g, err = graph(ctx, sql, tenant, id, version)
		return err
	})
	return g, err
}

// Graph is one version of a graph, as this commit sees it.
func (t *tx) Graph(ctx context.Context, tenant, id string, version int) (engine.GraphRow, error) {
	g, err := graph(ctx, t.sql, tenant, id, version)
	return g, fault.Wrap("store.graph", err)
}

func graph(ctx context.Context, sql *sqldb.Tx, tenant, id string, version int) (engine.GraphRow, error) {
	if version == 0 {
		return newestGraph(ctx, sql, tenant, id)
	}
	return scanGraph(tenant, sql.Row(ctx, "SELECT "+graphColumns+` FROM engine_graph
		WHERE tenant = $1 AND id = $2 AND version = $3`, tenant, id, version))
}

// Graphs is a page of the newest versions. Versions begin with 1 and none goes
// away, so the first versions tell which graphs there are.
func (s *Store) Graphs(ctx context.Context, tenant string, offset, limit int) (page []engine.GraphRow, total int, err error) {
	err = s.read(ctx, "store.graphs", func(ctx context.Context, sql *sqldb.Tx) error {
		err := sql.Row(ctx, "SELECT count(*) FROM engine_graph WHERE tenant = $1 AND version = 1", tenant).Scan(&total)
		if err != nil {
			return err
		}
		for row, err := range sql.Query(ctx, `SELECT id FROM engine_graph
			WHERE tenant = $1 AND version = 1 ORDER BY id LIMIT $2 OFFSET $3`, tenant, limit, offset) {
			if err != nil {
				return err
			}
			var id string
			if err := row.Scan(&id); err != nil {
				return err
			}
			g, err := newestGraph(ctx, sql, tenant, id)
			if err != nil {
				return err
			}
			page = append(page, g)
		}
		return nil
	})
	return page, total, err
}

// PutGraph stores a version unless the newest one has the same digest.
func (s *Store) PutGraph(ctx context.Context, g engine.GraphRow) (stored engine.GraphRow, created bool, err error) {
	err = s.db.Write(ctx, sqldb.Other, func(ctx context.Context, sql *sqldb.Tx) error {
		newest, err := newestGraph(ctx, sql, g.Tenant, g.ID)
		if err != nil && !errors.Is(err, sqldb.ErrNoRow) {
			return err
		}
		if err == nil && newest.Digest == g.Digest {
			stored, created = newest, false
			return nil
		}
		stored, created = g, true
		stored.Version = newest.Version + 1
		_, err = sql.Exec(ctx, "INSERT INTO engine_graph (tenant, "+graphColumns+") VALUES ($1, $2, $3, $4, $5, $6)",
			g.Tenant, g.ID, stored.Version, g.Digest, g.Body, int64(g.CreatedAt))
		return err
	})
	if err != nil {
		return engine.GraphRow{}, false, fault.Wrap("store.graph", err)
	}
	return stored, created, nil
}
