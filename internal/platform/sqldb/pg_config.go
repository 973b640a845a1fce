package sqldb

import (
	"context"
	"database/sql"
	"fmt"
	"log/slog"
	"net"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgconn/ctxwatch"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"
)

// oldest is the first version of PostgreSQL that is supported.
const oldest = 14

// settings are those of every connection of the pool. Tables are changed without
// them: that may take its time.
var settings = map[string]string{
	"synchronous_commit": "on", // an answer means: on disk

	// What hangs does not hang for ever, nor hold up others.
	"idle_in_transaction_session_timeout": "5s",
	"lock_timeout":                        "2s",
	"statement_timeout":                   "30s",
	"tcp_keepalives_idle":                 "10",
	"tcp_keepalives_interval":             "3",
	"tcp_keepalives_count":                "3",
	"tcp_user_timeout":                    "10s",

	// Statements are few, and each looks up the rows that it names: their plans are kept
	// (for planLife), and find rows by an index and in its order, whatever the
	// statistics say.
	"plan_cache_mode":  "force_generic_plan",
	"enable_seqscan":   "off",
	"enable_hashjoin":  "off",
	"enable_mergejoin": "off",
	"enable_material":  "off",
	"enable_sort":      "off",
	"jit":              "off",
	// To start workers costs more than the few thousand rows of a list.
	"max_parallel_workers_per_gather": "0",
}

// The bounds of a connection.
const (
	dialTimeout  = 3 * time.Second
	cancelWithin = time.Second // that the server answers a request to give up on a statement
	connLife     = time.Hour
	planLife     = 10 * time.Second // a plan that was made while a table was empty may read all of it
	connIdle     = 5 * time.Minute
)

// pgConfig is how the pool makes its connections.
func pgConfig(cfg Config) (*pgxpool.Config, error) {
	pool, err := pgxpool.ParseConfig(cfg.URL)
	if err != nil {
		return nil, err
	}
	pool.MaxConns = int32(cfg.Conns)
	if cfg.Conns == 0 {
		pool.MaxConns = someConns
	}
	if pool.MaxConns < minConns {
		return nil, fmt.Errorf("%d connections are too few; give it at least %d", cfg.Conns, minConns)
	}
	pool.MinConns, pool.MaxConnLifetime, pool.MaxConnLifetimeJitter, pool.MaxConnIdleTime = 0, connLife, connLife/10,
		connIdle
	pool.ShouldPing = func(context.Context, pgxpool.ShouldPingParams) bool { return false } // the first trip tells
	c := pool.ConnConfig
	c.ConnectTimeout = dialTimeout
	c.DialFunc = (&net.Dialer{
		KeepAliveConfig: net.KeepAliveConfig{Enable: true, Idle: 10 * time.Second, Interval: 3 * time.Second, Count: 3},
		Control:         userTimeout,
	}).DialContext
	if c.ValidateConnect == nil { // a standby cannot write
		c.ValidateConnect = pgconn.ValidateConnectTargetSessionAttrsReadWrite
	}
	c.BuildContextWatcherHandler = func(conn *pgconn.PgConn) ctxwatch.Handler {
		return &pgconn.CancelRequestContextWatcherHandler{Conn: conn, DeadlineDelay: cancelWithin}
	}
	pool.AfterConnect = askLife
	if c.RuntimeParams["application_name"] == "" {
		c.RuntimeParams["application_name"] = "renga"
	}
	return pool, nil
}

// pgPrepare looks at the server and brings the tables up to date. Processes that
// start at once take turns.
func pgPrepare(ctx context.Context, how *pgx.ConnConfig, cfg Config) error {
	conn, err := pgx.ConnectConfig(ctx, how)
	if err != nil {
		return err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	if err := pgInspect(ctx, conn, cfg.Log); err != nil {
		return err
	}
	if len(cfg.Migrations) == 0 {
		return nil
	}
	// Held until the connection is closed, also by the end of this process.
	if _, err := conn.Exec(ctx, "SELECT pg_advisory_lock($1)", tablesLock); err != nil {
		return err
	}
	return migrate(ctx, &postgresDialect, sql.OpenDB(stdlib.GetConnector(*how)), cfg)
}

// tablesLock is the advisory lock of whoever changes tables: "renga" in ASCII.
const tablesLock int64 = 0x72656e6761

// pgInspect refuses a server that is too old, and warns of one that may lose data.
func pgInspect(ctx context.Context, conn *pgx.Conn, log *slog.Logger) error {
	var version int
	var name, fsync, pages string
	err := conn.QueryRow(ctx, `SELECT current_setting('server_version_num')::int, current_setting('server_version'),
		current_setting('fsync'), current_setting('full_page_writes')`).Scan(&version, &name, &fsync, &pages)
	if err != nil {
		return err
	}
	risky(fsync, log)
	risky(pages, log)
	return old(version, name)
}

// old refuses a version of the server.
func old(version int, name string) error {
	if version < oldest*10_000 {
		return fmt.Errorf("PostgreSQL %s is too old; version %d or newer is needed", name, oldest)
	}
	return nil
}

// risky warns of a server without one of the two settings that it needs to lose nothing.
func risky(setting string, log *slog.Logger) {
	if setting != "on" {
		log.Warn("PostgreSQL runs without fsync or full_page_writes: when its machine stops it can lose what was " +
			"acknowledged, or everything")
	}
}
