package sqldb

import "github.com/pressly/goose/v3"

// Dialect is what differs between databases and is of interest outside: the name
// of the folder that holds a package's migrations.
type Dialect string

// The databases.
const (
	SQLite   Dialect = "sqlite"   // built in: one file, one process
	Postgres Dialect = "postgres" // a PostgreSQL server, for any number of processes
)

// dialect is what differs between databases and stays inside.
type dialect struct {
	name  Dialect
	goose goose.Dialect
	judge func(err error) (verdict, bool)
}

var (
	sqliteDialect   = dialect{name: SQLite, goose: goose.DialectSQLite3, judge: judgeSQLite}
	postgresDialect = dialect{name: Postgres, goose: goose.DialectPostgres, judge: judgePostgres}
)
