package sqldb

import (
	"context"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
)

// maxVacuum is how long PostgreSQL may take; what it did not come to, it does by itself.
const maxVacuum = 20 * time.Second

// Vacuum does, after a great change, what PostgreSQL does by itself some minutes later: it
// counts the rows of tables, or of all, and forgets those that are gone, which statements
// pass over one by one till then. A table that somebody else has in hand is left alone. On
// SQLite there is nothing to do.
func (db *DB) Vacuum(ctx context.Context, tables ...string) error {
	pg, is := db.base.(*postgres)
	if !is {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, maxVacuum)
	defer cancel()
	return postgresDialect.wrap("sqldb.vacuum", pg.vacuum(ctx, tables))
}

// vacuum has a connection of its own: it is not done in a transaction, and takes no place
// from those who read and write.
func (db *postgres) vacuum(ctx context.Context, tables []string) error {
	conn, err := pgx.ConnectConfig(ctx, db.pool.Config().ConnConfig)
	if err != nil {
		return err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	_, err = conn.Exec(ctx, "VACUUM (ANALYZE, SKIP_LOCKED) "+strings.Join(tables, ", "))
	return err
}
