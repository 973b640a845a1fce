package kit

import (
	"context"
	"time"

	"renga.dev/renga/internal/platform/canonical"
	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/platform/sqldb"
)

// Service is what a service stands on. Services embed it.
type Service struct {
	ServiceName string // begins the operation of every error: search.find
	DB          *sqldb.DB
	Clock       func() time.Time // nil: the clock of the database, on SQLite that of the machine
}

// Read runs fn in a transaction that cannot write. op is the operation that errors name.
func (s *Service) Read(ctx context.Context, op string, fn func(context.Context, *sqldb.Tx) error) error {
	return s.Wrap(op, s.DB.Read(ctx, fn))
}

// Write runs fn in a transaction; it may run more than once.
func (s *Service) Write(ctx context.Context, op string, fn func(context.Context, *sqldb.Tx) error) error {
	return s.Wrap(op, s.DB.Write(ctx, sqldb.Other, fn))
}

// Wrap adds the service and the operation to an error; nil stays nil.
func (s *Service) Wrap(op string, err error) error { return fault.Wrap(s.ServiceName+"."+op, err) }

// Now is the time by the clock that all processes share.
func (s *Service) Now(ctx context.Context, tx *sqldb.Tx) (canonical.Stamp, error) {
	if s.Clock != nil {
		return canonical.Stamp(s.Clock().UnixMilli()), nil
	}
	ms, err := tx.Now(ctx)
	return canonical.Stamp(ms), err
}
