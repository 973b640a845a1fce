package app

import (
	"cmp"
	"context"
	"errors"

	"renga.dev/renga/internal/platform/gate"
	"renga.dev/renga/internal/workflow/engine"
	"renga.dev/renga/internal/workflow/store"
)

// Verify reduces every execution again from its log and compares it with what is stored. It
// calls progress, unless that is nil, with how many are done.
func Verify(ctx context.Context, p Place, progress func(done int)) (report engine.Report, err error) {
	err = inspect(ctx, p, func(a *App) (err error) {
		report, err = engine.New(a.Store, systemClock{}, engine.Config{Exclusive: true}).Verify(ctx, progress)
		return err
	})
	return report, err
}

// inspect opens a database that is there, as it is, while look reads it through the parts of the program.
func inspect(ctx context.Context, p Place, look func(*App) error) error {
	if err := p.exists(); err != nil {
		return err
	}
	p.AsIs = true
	a, err := assemble(Config{Place: p}, &gate.Telemetry{})
	if err != nil {
		return err
	}
	if err := a.DB.Open(ctx, a.parts.tables()...); err != nil {
		return err
	}
	return whileOpen(ctx, a.DB, func() error {
		if found, err := store.Exists(ctx, a.DB); err != nil || !found {
			return cmp.Or(err, errors.New("that database has no tables of Renga: check the name"))
		}
		return look(a)
	})
}
