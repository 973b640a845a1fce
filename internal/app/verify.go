package app

import (
	"cmp"
	"context"
	"errors"

	"renga.dev/renga/internal/platform/sqldb"
	"renga.dev/renga/internal/workflow/engine"
	"renga.dev/renga/internal/workflow/store"
)

// Verify reduces every execution again from its log and compares it with what is stored. It tells
// progress how many are done; nil: nobody is told.
func Verify(ctx context.Context, p Place, progress func(done int)) (report engine.Report, err error) {
	err = inspect(ctx, p, func(db *sqldb.DB) (err error) {
		eng := engine.New(store.New(db, store.Config{}), systemClock{}, engine.Config{Exclusive: true})
		report, err = eng.Verify(ctx, progress)
		return err
	})
	return report, err
}

// inspect opens a database that is there, as it is, while look runs.
func inspect(ctx context.Context, p Place, look func(*sqldb.DB) error) error {
	if err := p.exists(); err != nil {
		return err
	}
	p.AsIs = true
	return WithDB(ctx, p, func(db *sqldb.DB) error {
		if found, err := store.Exists(ctx, db); err != nil || !found {
			return cmp.Or(err, errors.New("that database has no tables of Renga: check the name"))
		}
		return look(db)
	})
}
