package sqldb

import (
	"context"

	"github.com/jackc/pgx/v5"
)

// Vacuum does what PostgreSQL does by itself some minutes after many rows were stored: it
// counts them, and notes which pages everybody sees.
func Vacuum(ctx context.Context, url string) error {
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return postgresDialect.wrap("sqldb.vacuum", err)
	}
	defer conn.Close(context.WithoutCancel(ctx))
	_, err = conn.Exec(ctx, "VACUUM (ANALYZE)")
	return postgresDialect.wrap("sqldb.vacuum", err)
}
