package sqldb

import (
	"context"

	"github.com/jackc/pgx/v5"
)

// lifeKey is where a connection keeps the life of its server.
const lifeKey = "life"

// theLife names a life of the server. It begins when the server starts, and when it has
// recovered from a crash of one of its processes, which resets its statistics.
//
// A server that crashed gives the ids of transactions of which nothing had reached
// its disk to others, so the status of an id says something about a transaction
// only in the life that it belongs to.
const theLife = "SELECT concat(pg_postmaster_start_time(), ' ', pg_stat_get_bgwriter_stat_reset_time())"

// askLife notes the life of the server that a connection belongs to. No connection
// outlives it.
func askLife(ctx context.Context, c *pgx.Conn) error {
	var life string
	if err := c.QueryRow(ctx, theLife).Scan(&life); err != nil {
		return err
	}
	c.PgConn().CustomData()[lifeKey] = life
	return nil
}
