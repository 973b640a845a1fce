package sqldb

import "github.com/pressly/goose/v3"

// Dialect names a database, and the folder of its migrations.
type Dialect string

const (
	SQLite   Dialect = "sqlite"   // one file, one process
	Postgres Dialect = "postgres" // a server, for any number of processes
)

type dialect struct {
	name  Dialect
	goose goose.Dialect
	judge func(err error) (verdict, bool)
}

var (
	sqliteDialect   = dialect{name: SQLite, goose: goose.DialectSQLite3, judge: judgeSQLite}
	postgresDialect = dialect{name: Postgres, goose: goose.DialectPostgres, judge: judgePostgres}
)
