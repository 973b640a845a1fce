package store

import (
	"context"
	"errors"

	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/platform/sqldb"
	"renga.dev/renga/internal/workflow/engine"
)

const (
	graphColumns      = "id, version, digest, body, created_at"
	selectNewestGraph = "SELECT " + graphColumns + ` FROM engine_graph
		WHERE tenant = $1 AND id = $2 ORDER BY version DESC LIMIT 1`
)

func scanGraph(tenant string, row *sqldb.Row) (engine.GraphRow, error) {
	g := engine.GraphRow{Tenant: tenant}
	err := row.Scan(&g.ID, &g.Version, &g.Digest, &g.Body, &g.CreatedAt)
	return g, err
}

func newestGraph(ctx context.Context, sql *sqldb.Tx, tenant, id string) (engine.GraphRow, error) {
	return scanGraph(tenant, sql.Row(ctx, selectNewestGraph, tenant, id))
}

func (s *Store) Graph(ctx context.Context, tenant, id string, version int) (g engine.GraphRow, err error) {
	err = s.read(ctx, "store.graph", func(ctx context.Context, sql *sqldb.Tx) error {
		g, err = graph(ctx, sql, tenant, id, version)
		return err
	})
	return g, err
}

func (t *shared) Graph(ctx context.Context, tenant, id string, version int) (engine.GraphRow, error) {
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

// inList are the graphs that users named; those of the system have a colon in their names.
const inList = "tenant = $1 AND version = 1 AND id NOT LIKE '%:%'"

const selectGraphs = `SELECT g.id, g.version, g.digest, g.created_at
	FROM (SELECT id AS first FROM engine_graph WHERE ` + inList + ` ORDER BY id LIMIT $2 OFFSET $3) AS page
	JOIN engine_graph AS g ON g.tenant = $1 AND g.id = page.first
		AND g.version = (SELECT max(version) FROM engine_graph AS v WHERE v.tenant = $1 AND v.id = page.first)
	ORDER BY g.id`

// Graphs is a page of the newest versions of the graphs that users named, without their bodies. None goes away, so the
// first versions tell which graphs there are.
func (s *Store) Graphs(
	ctx context.Context, tenant string, offset, limit int,
) (page []engine.GraphRow, total int, err error) {
	err = s.read(ctx, "store.graphs", func(ctx context.Context, sql *sqldb.Tx) error {
		return sql.Batch(ctx,
			sqldb.Stmt{
				Query: "SELECT count(*) FROM engine_graph WHERE " + inList, Args: []any{tenant},
				Row: func(r *sqldb.Row) error { return r.Scan(&total) },
			},
			sqldb.Stmt{Query: selectGraphs, Args: []any{tenant, limit, offset}, Row: func(r *sqldb.Row) error {
				g := engine.GraphRow{Tenant: tenant}
				err := r.Scan(&g.ID, &g.Version, &g.Digest, &g.CreatedAt)
				page = append(page, g)
				return err
			}})
	})
	return page, total, err
}

const selectVersions = `SELECT id, version, digest, created_at FROM engine_graph
	WHERE tenant = $1 AND id = $2 ORDER BY version DESC LIMIT $3 OFFSET $4`

// Versions is a page of the versions of a graph, newest first. None goes away, so the newest tells how many there are.
func (s *Store) Versions(
	ctx context.Context, tenant, id string, offset, limit int,
) (page []engine.GraphRow, total int, err error) {
	err = s.read(ctx, "store.versions", func(ctx context.Context, sql *sqldb.Tx) error {
		return sql.Batch(ctx,
			sqldb.Stmt{
				Query: "SELECT coalesce(max(version), 0) FROM engine_graph WHERE tenant = $1 AND id = $2",
				Args:  []any{tenant, id}, Row: func(r *sqldb.Row) error { return r.Scan(&total) },
			},
			sqldb.Stmt{Query: selectVersions, Args: []any{tenant, id, limit, offset}, Row: func(r *sqldb.Row) error {
				g := engine.GraphRow{Tenant: tenant}
				err := r.Scan(&g.ID, &g.Version, &g.Digest, &g.CreatedAt)
				page = append(page, g)
				return err
			}})
	})
	return page, total, err
}

// maxRaces is how often storing a graph is tried against others.
const maxRaces = 10

func (s *Store) PutGraph(ctx context.Context, g engine.GraphRow) (stored engine.GraphRow, created bool, err error) {
	for range maxRaces {
		if stored, created, err = s.putGraph(ctx, g); fault.KindOf(err) != fault.Conflict {
			break
		}
	}
	return stored, created, fault.Wrap("store.graph", err)
}

// putGraph is one try; another process that stores the same version makes it a conflict.
func (s *Store) putGraph(ctx context.Context, g engine.GraphRow) (stored engine.GraphRow, created bool, err error) {
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
		if err != nil {
			return err
		}
		return subscribe(ctx, sql, &g)
	})
	if err != nil {
		return engine.GraphRow{}, false, err
	}
	return stored, created, nil
}
