package sqldb

import (
	"context"

	"github.com/jackc/pgx/v5"
)

// lifeKey is the key of a connection's custom data.
const lifeKey = "life"

// theLife identifies a life of the server, from its start or its recovery from a crash, which resets the statistics.
//
// A crashed server reuses transaction ids of which nothing reached the disk, so the status of an id is meaningful
// only within its life.
const theLife = "SELECT concat(pg_postmaster_start_time(), ' ', pg_stat_get_bgwriter_stat_reset_time())"

// askLife stores the life of the server with a connection; no connection outlives it.
func askLife(ctx context.Context, c *pgx.Conn) error {
	var life string
	if err := c.QueryRow(ctx, theLife).Scan(&life); err != nil {
		return err
	}
	c.PgConn().CustomData()[lifeKey] = life
	return nil
}
