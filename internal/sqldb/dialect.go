package sqldb

import (
	"database/sql/driver"
	"net/url"
	"strconv"
	"time"

	"github.com/pressly/goose/v3"
	"modernc.org/sqlite"
)

// Dialect is what differs between databases and is of interest outside: the name
// of the folder that holds a package's migrations.
type Dialect string

// SQLite is the built-in database: one file, one process.
const SQLite Dialect = "sqlite"

// dialect is what differs between databases and stays inside.
type dialect struct {
	name  Dialect
	goose goose.Dialect
	begin string // begins a transaction that writes
	judge func(err error) (verdict, bool)
}

var sqliteDialect = dialect{
	name:  SQLite,
	goose: goose.DialectSQLite3,
	begin: "BEGIN IMMEDIATE",
	judge: judgeSQLite,
}

// The sizes of the database file and of the memory that its connections take.
// The whole server has 150 MiB; the caches below are at most 24 MiB of it.
const (
	pageSize      = 4096
	writeCacheKiB = 16 << 10
	readCacheKiB  = 2 << 10
	busyTimeout   = 5 * time.Second // a foreign tool holds the write lock
)

// sqliteDSN is the name of a connection with the settings of its role.
func sqliteDSN(path string, cacheKiB int, queryOnly bool) string {
	pragmas := []string{
		"busy_timeout(" + strconv.FormatInt(busyTimeout.Milliseconds(), 10) + ")",
		"page_size(" + strconv.Itoa(pageSize) + ")", // counts only for a file that is new
		"journal_mode(wal)",
		"synchronous(full)", // every commit is a real sync
		"wal_autocheckpoint(0)",
		"journal_size_limit(" + strconv.Itoa(walReset) + ")",
		"foreign_keys(1)",
		"temp_store(memory)",
		"cache_size(" + strconv.Itoa(-cacheKiB) + ")",
	}
	if queryOnly {
		pragmas = append(pragmas, "query_only(1)")
	}
	q := url.Values{"_pragma": pragmas, "_error_rc": {"1"}, "_dqs": {"0"}}
	return (&url.URL{Scheme: "file", OmitHost: true, Path: path, RawQuery: q.Encode()}).String()
}

// openSQLite opens one connection, without the pool of database/sql: the write
// loop and the reader pool are pools enough, and a statement costs a fifth less.
func openSQLite(dsn string) (driver.Conn, error) {
	return (&sqlite.Driver{}).Open(dsn)
}
