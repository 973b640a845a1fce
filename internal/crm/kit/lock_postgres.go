package kit

import (
	"context"

	"renga.dev/renga/internal/platform/sqldb"
)

// Class is a class of advisory locks whose names are texts. A lock is held until the end of the
// transaction, so that what is read afterwards is current and stays so. SQLite has one writer:
// there every lock is free.
type Class int64

// The classes of all services. The names begin with the service, so two may share a number.
const (
	SharingLocks   Class = 7001 // sharing:tenant:object[:id]
	SearchLocks    Class = 7002 // search:tenant[:object[:id]]
	ReportingLocks Class = 7002 // reporting:tenant
	ParentLocks    Class = 7003 // records:tenant:object, for changes of parents
)

// Hold takes the lock of a name alone.
func (c Class) Hold(ctx context.Context, tx *sqldb.Tx, name string) error {
	if oneWriter(tx) {
		return nil
	}
	_, err := tx.Exec(ctx, "SELECT pg_advisory_xact_lock(hashtextextended($1, $2))", name, int64(c))
	return err
}

// HoldEach takes the lock of a name shared with others, and those of name:id alone. The ids are in
// order, so that two transactions do not wait for each other.
func (c Class) HoldEach(ctx context.Context, tx *sqldb.Tx, name string, ids []string) error {
	if oneWriter(tx) {
		return nil
	}
	return tx.Batch(ctx,
		sqldb.Stmt{
			Query: "SELECT pg_advisory_xact_lock_shared(hashtextextended($1, $2))", Args: []any{name, int64(c)},
		},
		sqldb.Stmt{
			Query: "SELECT pg_advisory_xact_lock(hashtextextended($1 || ':' || id, $2)) FROM unnest($3::text[]) AS id",
			Args:  []any{name, int64(c), ids},
		})
}

// Key is an advisory lock that has a number of its own.
type Key int64

// CompactRecordCounts is held by the process that compacts the counts of records: "rfld" in ASCII.
const CompactRecordCounts Key = 0x72666c64

// Hold takes the lock.
func (k Key) Hold(ctx context.Context, tx *sqldb.Tx) error {
	if oneWriter(tx) {
		return nil
	}
	_, err := tx.Exec(ctx, "SELECT pg_advisory_xact_lock($1)", int64(k))
	return err
}

// Try takes the lock unless another transaction holds it.
func (k Key) Try(ctx context.Context, tx *sqldb.Tx) (held bool, err error) {
	if oneWriter(tx) {
		return true, nil
	}
	return held, tx.Row(ctx, "SELECT pg_try_advisory_xact_lock($1)", int64(k)).Scan(&held)
}

func oneWriter(tx *sqldb.Tx) bool { return tx.Dialect() == sqldb.SQLite }
