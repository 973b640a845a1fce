package app

import (
	"context"
	"log/slog"
	"time"

	"renga.dev/renga/internal/platform/bus"
	"renga.dev/renga/internal/platform/gate"
	"renga.dev/renga/internal/platform/sqldb"
	"renga.dev/renga/internal/workflow/engine"
)

// Part is one part of the program. What it does not have is nil.
type Part struct {
	Name      string
	Tables    []sqldb.Migration
	Consumers []bus.Consumer      // what it follows of the bus
	Routes    func() []gate.Route // asked when everything is open
	Run       []func(context.Context)

	// Follow writes down outside of the database what the others have done. It works until their
	// Run has ended.
	Follow []func(context.Context)

	Retain  func(ctx context.Context, limit int) (int64, error) // deletes keys that have expired
	Compact func(ctx context.Context) error                     // adds up counts that PostgreSQL keeps as deltas
	// Recount works out again what it keeps of a tenant's records and gives what differs, a sentence each.
	Recount func(ctx context.Context, tenant string) (differences []string, err error)

	Committed func()                                // called after every commit; it does not block
	Ended     func(*engine.Head) (sqldb.Stmt, bool) // notes the end of an execution that it has started
}

// parts are the program, in their order.
type parts []*Part

// tables are the tables of all parts.
func (all parts) tables() []sqldb.Migration {
	tables := []sqldb.Migration{sqldb.SchemaTables()}
	for _, p := range all {
		tables = append(tables, p.Tables...)
	}
	return tables
}

// consumers are what all parts follow of the bus.
func (all parts) consumers() (consumers []bus.Consumer) {
	for _, p := range all {
		consumers = append(consumers, p.Consumers...)
	}
	return consumers
}

// routes are the routes of all parts.
func (all parts) routes() (routes []gate.Route) {
	for _, p := range all {
		if p.Routes != nil {
			routes = append(routes, p.Routes()...)
		}
	}
	return routes
}

// committed lets the parts that wait for commits look.
func (all parts) committed() {
	for _, p := range all {
		if p.Committed != nil {
			p.Committed()
		}
	}
}

// executionEnded notes the end of an execution for the part that has started it.
func (all parts) executionEnded(h *engine.Head) (sqldb.Stmt, bool) {
	for _, p := range all {
		if p.Ended == nil {
			continue
		}
		if stmt, ok := p.Ended(h); ok {
			return stmt, true
		}
	}
	return sqldb.Stmt{}, false
}

// Now and then keys that have expired are deleted, some at a time, and counts that PostgreSQL keeps
// as deltas are added up.
const (
	retainEvery  = 10 * time.Minute
	retainMost   = 100_000
	compactEvery = 5 * time.Second
)

// retain deletes expired keys until ctx ends.
func (all parts) retain(ctx context.Context, log *slog.Logger) {
	every(ctx, retainEvery, func() {
		deleted, err := int64(0), error(nil)
		for _, p := range all {
			if p.Retain == nil || err != nil {
				continue
			}
			var n int64
			n, err = p.Retain(ctx, retainMost)
			deleted += n
		}
		switch {
		case ctx.Err() != nil:
		case err != nil:
			log.Warn("expired keys could not be deleted", "error", err)
		case deleted > 0:
			log.Info("expired keys deleted", "keys", deleted)
		}
	})
}

// compact adds up counts until ctx ends.
func (all parts) compact(ctx context.Context, log *slog.Logger) {
	every(ctx, compactEvery, func() {
		for _, p := range all {
			if p.Compact == nil {
				continue
			}
			if err := p.Compact(ctx); err != nil {
				if ctx.Err() == nil {
					log.Warn("counts could not be folded", "error", err)
				}
				return
			}
		}
	})
}
