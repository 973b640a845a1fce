package sqltest

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"renga.dev/renga/internal/platform/sqldb"
)

// prepared are files of SQLite with tables, made once for all tests of a binary.
var prepared struct {
	sync.Mutex
	files map[string][]byte // by the names of the packages that have the tables
}

// Prepare lays a file of SQLite with these tables where there is none: to copy one is much less
// work than to make its tables. A database of PostgreSQL it leaves alone.
func Prepare(where sqldb.Config, tables []sqldb.Migration) error {
	if where.Path == "" {
		return nil
	}
	if _, err := os.Stat(where.Path); err == nil {
		return nil
	}
	var names strings.Builder
	for _, table := range tables {
		names.WriteString(table.Name + " ")
	}
	prepared.Lock()
	defer prepared.Unlock()
	file, ok := prepared.files[names.String()]
	if !ok {
		var err error
		if file, err = newFile(tables); err != nil {
			return err
		}
		if prepared.files == nil {
			prepared.files = map[string][]byte{}
		}
		prepared.files[names.String()] = file
	}
	return os.WriteFile(where.Path, file, 0o600)
}

// newFile is a file of SQLite with tables.
func newFile(tables []sqldb.Migration) ([]byte, error) {
	dir, err := os.MkdirTemp("", "renga")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "renga.db")
	db, err := sqldb.Open(context.Background(), sqldb.Config{Path: path, Migrations: tables})
	if err != nil {
		return nil, err
	}
	if err := db.Close(); err != nil {
		return nil, err
	}
	return os.ReadFile(path)
}
