package sqldb

import (
	"context"
	"database/sql"
	"embed"
	"fmt"
	"io/fs"
)

//go:embed migrations
var files embed.FS

// SchemaTables hold the schema of the whole database, and the rows of Health.
func SchemaTables() Migration { return Tables("sqldb", files) }

// schema is the version of the whole schema: the number of migrations, and the program that ran the last one.
type schema struct {
	number  int64
	program string
}

// refuse says why a program may not use a newer schema. Migrations are only added, so the higher number is newer,
// whichever package it is from.
func (s schema) refuse(mine schema) error {
	if s.number <= mine.number {
		return nil
	}
	return fmt.Errorf("this database has schema %d of version %s, and this program, version %s, knows schema %d: "+
		"start version %s or newer, or restore the backup from before it",
		s.number, s.program, mine.program, mine.number, s.program)
}

func schemaOf(d *dialect, program string, all []Migration) (schema, error) {
	s := schema{program: program}
	for _, m := range all {
		names, err := fs.Glob(m.FS, string(d.name)+"/*.sql")
		if err != nil {
			return s, err
		}
		s.number += int64(len(names))
	}
	return s, nil
}

// readSchema reads the schema of a database; zero: unknown.
func readSchema(ctx context.Context, d *dialect, db *sql.DB) (s schema, err error) {
	exists := "SELECT count(*) > 0 FROM sqlite_schema WHERE name = 'sqldb_schema'"
	if d.name == Postgres {
		exists = "SELECT to_regclass('sqldb_schema') IS NOT NULL"
	}
	var there bool
	if err := db.QueryRowContext(ctx, exists).Scan(&there); err != nil || !there {
		return s, err
	}
	err = db.QueryRowContext(ctx, "SELECT number, program FROM sqldb_schema WHERE id = 1").Scan(&s.number, &s.program)
	if err == sql.ErrNoRows { // the process crashed before it stored the row
		err = nil
	}
	return s, err
}

func storeSchema(ctx context.Context, db *sql.DB, s schema) error {
	_, err := db.ExecContext(ctx, `INSERT INTO sqldb_schema (id, number, program) VALUES (1, $1, $2)
		ON CONFLICT (id) DO UPDATE SET number = excluded.number, program = excluded.program
		WHERE excluded.number > sqldb_schema.number`, s.number, s.program)
	return err
}
