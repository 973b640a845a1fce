package sqldb

import (
	"context"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
)

// maxVacuum bounds a Vacuum; autovacuum does the rest.
const maxVacuum = 20 * time.Second

// Vacuum does after a large change what autovacuum does minutes later: it analyzes some or all tables and removes
// dead rows, which statements would skip one by one. It skips locked tables. On SQLite it does nothing.
func (db *DB) Vacuum(ctx context.Context, tables ...string) error {
	pg, is := db.base.(*postgres)
	if !is {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, maxVacuum)
	defer cancel()
	return postgresDialect.wrap("sqldb.vacuum", pg.vacuum(ctx, tables))
}

// vacuum uses a connection of its own, since it runs outside of transactions and pool.
func (db *postgres) vacuum(ctx context.Context, tables []string) error {
	conn, err := pgx.ConnectConfig(ctx, db.pool.Config().ConnConfig)
	if err != nil {
		return err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	_, err = conn.Exec(ctx, "VACUUM (ANALYZE, SKIP_LOCKED) "+strings.Join(tables, ", "))
	return err
}
