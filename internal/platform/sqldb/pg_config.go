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

// oldest is the first supported version of PostgreSQL.
const oldest = 14

// settings are those of pooled connections. Migrations run without them, since they may take long.
var settings = map[string]string{
	"synchronous_commit": "on", // an answer means: on disk

	// Nothing hangs for ever or holds up others.
	"idle_in_transaction_session_timeout": "5s",
	"lock_timeout":                        "2s",
	"statement_timeout":                   "30s",
	"tcp_keepalives_idle":                 "10",
	"tcp_keepalives_interval":             "3",
	"tcp_keepalives_count":                "3",
	"tcp_user_timeout":                    "10s",

	// Statements are few and look up the rows that they name: their plans are cached (for planLife) and use indexes,
	// also for order, whatever the statistics say.
	"plan_cache_mode":  "force_generic_plan",
	"enable_seqscan":   "off",
	"enable_hashjoin":  "off",
	"enable_mergejoin": "off",
	"enable_material":  "off",
	"enable_sort":      "off",
	"jit":              "off",
	// Starting workers costs more than a list of a few thousand rows.
	"max_parallel_workers_per_gather": "0",
}

const (
	dialTimeout  = 3 * time.Second
	cancelWithin = time.Second // for the server to answer a cancel request
	connLife     = time.Hour
	planLife     = 10 * time.Second // a plan made for an empty table may scan all of it
	connIdle     = 5 * time.Minute
)

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

// pgPrepare checks the server and migrates. Processes that start together take turns.
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
	// Until the connection is closed.
	if _, err := conn.Exec(ctx, "SELECT pg_advisory_lock($1)", tablesLock); err != nil {
		return err
	}
	return migrate(ctx, &postgresDialect, sql.OpenDB(stdlib.GetConnector(*how)), cfg)
}

// tablesLock is the advisory lock of migrations: "renga" in ASCII.
const tablesLock int64 = 0x72656e6761

// pgInspect refuses an old server and warns of an unsafe one.
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

func old(version int, name string) error {
	if version < oldest*10_000 {
		return fmt.Errorf("PostgreSQL %s is too old; version %d or newer is needed", name, oldest)
	}
	return nil
}

func risky(setting string, log *slog.Logger) {
	if setting != "on" {
		log.Warn("PostgreSQL runs without fsync or full_page_writes: when its machine stops it can lose what was " +
			"acknowledged, or everything")
	}
}
