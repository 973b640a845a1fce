package app

import (
	"context"
	"crypto/tls"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"renga.dev/renga/internal/httpapi"
	"renga.dev/renga/internal/inbound"
	"renga.dev/renga/internal/platform/bus"
	"renga.dev/renga/internal/platform/bus/jet"
	"renga.dev/renga/internal/platform/gate"
	"renga.dev/renga/internal/platform/seal"
	"renga.dev/renga/internal/platform/session"
	"renga.dev/renga/internal/platform/sqldb"
	"renga.dev/renga/internal/recheck"
	"renga.dev/renga/internal/recheck/airflow"
	"renga.dev/renga/internal/webhooks"
	"renga.dev/renga/internal/workflow/engine"
)

// The database, and the folders of reports and of the NATS server inside, in the data folder.
const (
	DatabaseFile  = "renga.db"
	ReportsFolder = "reports"
	NATSFolder    = "nats"
)

// Config is what an operator chooses. Zero values mean what their comments say.
type Config struct {
	Place

	Addr   string       // to listen on; "": none, and the gate is for the caller to serve
	TLS    *tls.Config  // how callers are let in over TLS; nil: over plain HTTP
	Shards int          // engines over PostgreSQL; 0: one per core, 2 to 4
	Silent bool         // nothing is published, to measure what publishing costs
	Log    *slog.Logger // nil: nowhere

	KeyRetention time.Duration         // of idempotency keys; 0: the default of each part
	Consumers    []string              // choices for consumers; see bus.Configure
	Recheck      recheck.RecheckConfig // its times; the rest is set here
	Inbound      inbound.Config        // its actions and retention; the rest is set here
	EventPass    *gate.EventToken      // lets senders of workflow events in; nil: whoever may, by mode and scope
	Airflow      *airflow.Config       // nil: workers do the checks of strategies
	Webhooks     webhooks.Allowed      // endpoints beside those on the public internet over https

	NATSURL        string      // "": the server inside, in the data folder
	NATSListen     *jet.Listen // lets followers reach the server inside; nil: nobody does
	ReadyNeedsNATS bool        // /readyz answers 503 while NATS is lost

	Auth      gate.AuthConfig
	OIDC      *session.OIDC        // where people sign in; nil: they show tokens
	Rates     map[string]gate.Rate // by rate class
	Open      map[string]gate.Open // by open class; one that is not there has its default
	Heavy     int                  // heavy requests at a time; 0: the default of the gate
	PublicURL string               // where callers reach this process; "": URLs that they are given have no host

	Override Override
}

// Override is what tests and measurements put in place of something. The zero value is the program
// as it is.
type Override struct {
	Name      string         // of this process, which tells it from others; "": a random one
	Carrier   bus.Carrier    // nil: NATS
	Clock     bus.Clock      // nil: the machine's, with PostgreSQL that of the database
	Consumers []bus.Consumer // nil: those of the parts
	Idle      []string       // names of parts that do not work by themselves
	Exclusive bool           // the bus has its database to itself, also on PostgreSQL
	Unaudited bool           // cancels are not in the audit log

	Store     func(engine.Store) engine.Store     // nil: the store as it is; likewise what follows
	Checks    func(recheck.Engine) recheck.Engine // the engine as re-checks see it
	Reads     func(httpapi.Reads) httpapi.Reads   // the engine as readers see it
	Seals     *seal.Seals                         // nil: those with the secret in the database
	Heartbeat time.Duration                       // of a silent stream; 0: the default
	Watched   [2]int                              // see httpapi.Config
	Stalled   func()                              // called for a frame of a stream that was held up
}

// Place says where the database is, and how it is opened.
type Place struct {
	DataDir     string        // folder of the data
	DatabaseURL string        // of PostgreSQL; "": SQLite in DataDir
	AsIs        bool          // the tables are there already, and none is made
	Reading     time.Duration // how long a read may last; 0: as long as in a server
}

// String names the database, without a password.
func (p Place) String() string {
	if u, err := url.Parse(p.DatabaseURL); err == nil && p.DatabaseURL != "" {
		u.RawQuery = "" // it may hold a password too
		return u.Redacted()
	}
	return p.file()
}

func (p Place) file() string { return filepath.Join(p.DataDir, DatabaseFile) }

// exists reports a database that is not there and would be made anew.
func (p Place) exists() error {
	if p.DatabaseURL != "" {
		return nil
	}
	if _, err := os.Stat(p.file()); err != nil {
		return fmt.Errorf("there is no database in %s: name the data folder of the server with --data-dir", p.DataDir)
	}
	return nil
}

// OpenDB opens the database with the tables of all parts.
func OpenDB(ctx context.Context, p Place) (*sqldb.DB, error) {
	return sqldb.Open(ctx, p.database(sqldb.Config{Migrations: Migrations()}))
}

// database is how the database of a place is opened. cfg says the rest.
func (p Place) database(cfg sqldb.Config) sqldb.Config {
	cfg.Program, cfg.AsIs, cfg.Reading = Version, p.AsIs, p.Reading
	if p.DatabaseURL != "" {
		cfg.URL = p.DatabaseURL
	} else {
		cfg.Path = p.file()
	}
	return cfg
}

// WithDB opens a database with the tables of all parts and runs its write loop while f runs.
func WithDB(ctx context.Context, p Place, f func(*sqldb.DB) error) error {
	db, err := OpenDB(ctx, p)
	if err != nil {
		return err
	}
	return whileOpen(ctx, db, func() error { return f(db) })
}

// whileOpen runs the write loop of a database while f runs, then closes it.
func whileOpen(ctx context.Context, db *sqldb.DB, f func() error) error {
	defer db.Close()
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	ended := make(chan error, 1)
	go func() { ended <- db.Run(ctx) }()
	err := f()
	stop()
	if late := <-ended; err == nil {
		err = late
	}
	return err
}
