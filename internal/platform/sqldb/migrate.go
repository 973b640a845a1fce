package sqldb

import (
	"context"
	"database/sql"
	"embed"
	"fmt"
	"io/fs"
	"log/slog"

	"github.com/pressly/goose/v3"
)

// Migration is the tables of a package: a folder of numbered SQL files per dialect ("sqlite/00001_log.sql"), with
// numbers of its own in the table goose_<Name>.
type Migration struct {
	Name string // of the package; prefix of its tables
	FS   fs.FS
}

// Tables are the migrations in the folder "migrations" that a package embeds.
func Tables(name string, files embed.FS) Migration {
	sub, err := fs.Sub(files, "migrations")
	if err != nil {
		panic(err) // the folder is compiled in
	}
	return Migration{Name: name, FS: sub}
}

// migrate migrates every package and closes db. It refuses newer tables before it touches anything.
func migrate(ctx context.Context, d *dialect, db *sql.DB, cfg Config) (err error) {
	defer func() {
		if e := db.Close(); err == nil {
			err = e
		}
	}()
	db.SetMaxOpenConns(1)
	mine, err := schemaOf(d, cfg.Program, cfg.Migrations)
	if err != nil {
		return err
	}
	if cfg.Program != "" {
		has, err := readSchema(ctx, d, db)
		if err != nil {
			return err
		}
		if err := has.refuse(mine); err != nil {
			return err
		}
	}
	if cfg.AsIs {
		return nil
	}
	for _, m := range cfg.Migrations {
		if err := migrateOne(ctx, d, db, m); err != nil {
			return fmt.Errorf("tables of %s: %w", m.Name, err)
		}
	}
	if cfg.Program != "" {
		return storeSchema(ctx, db, mine)
	}
	return nil
}

func migrateOne(ctx context.Context, d *dialect, db *sql.DB, m Migration) error {
	files, err := fs.Sub(m.FS, string(d.name))
	if err != nil {
		return err
	}
	p, err := goose.NewProvider(d.goose, db, files,
		goose.WithTableName("goose_"+m.Name),
		goose.WithDisableGlobalRegistry(true),
		goose.WithSlog(slog.New(slog.DiscardHandler)))
	if err != nil {
		return err
	}
	if err := tooNew(ctx, p); err != nil {
		return err
	}
	_, err = p.Up(ctx)
	return err
}

func tooNew(ctx context.Context, p *goose.Provider) error {
	has, err := p.GetDBVersion(ctx)
	if err != nil {
		return err
	}
	sources := p.ListSources()
	if newest := sources[len(sources)-1].Version; has > newest {
		return fmt.Errorf("they have version %d, and this program knows %d: "+
			"use the newer program that has changed them", has, newest)
	}
	return nil
}
