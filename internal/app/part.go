package app

import (
	"context"
	"slices"

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

// tables are the tables of all parts.
func (a *App) tables() []sqldb.Migration {
	all := []sqldb.Migration{sqldb.SchemaTables()}
	for _, p := range a.parts {
		all = append(all, p.Tables...)
	}
	return all
}

// consumers are what all parts follow, unless something else is to follow in their place.
func (a *App) consumers() (all []bus.Consumer) {
	if a.cfg.Override.Consumers != nil {
		return a.cfg.Override.Consumers
	}
	for _, p := range a.parts {
		all = append(all, p.Consumers...)
	}
	return all
}

// routes are the routes of all parts.
func (a *App) routes() (all []gate.Route) {
	for _, p := range a.parts {
		if p.Routes != nil {
			all = append(all, p.Routes()...)
		}
	}
	return all
}

// idle reports whether a part does not work by itself.
func (a *App) idle(name string) bool { return slices.Contains(a.cfg.Override.Idle, name) }

// committed lets the parts that wait for commits look.
func (a *App) committed(sqldb.Commit) {
	for _, p := range a.parts {
		if p.Committed != nil {
			p.Committed()
		}
	}
}

// executionEnded notes the end of an execution for the part that has started it.
func (a *App) executionEnded(h *engine.Head) (sqldb.Stmt, bool) {
	for _, p := range a.parts {
		if p.Ended == nil {
			continue
		}
		if stmt, ok := p.Ended(h); ok {
			return stmt, true
		}
	}
	return sqldb.Stmt{}, false
}
