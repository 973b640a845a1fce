package records

import (
	"renga.dev/renga/internal/crm/model"
	"renga.dev/renga/internal/platform/sqldb"
)

// dialect is the SQL that differs between the databases: sqlite, postgres.
type dialect struct {
	shared bool   // other transactions write at the same time: rows are held, and counts are compacted later
	sorted string // follows a column that rows are sorted by which an index finds by their ids
	found  string // what few records that an index finds are read from before they are sorted, a format of WHERE
	byFile string // lets records that are to be read one by one be read in the order of the file

	someChange, changedField string // that an entry h of the history has a change, and the field of one
	repairCounts             string
	contains                 string                                  // a format of two texts
	value                    func(*sqldb.Binds, *model.Field) string // NULL when it is empty
}

func dialectOf(d sqldb.Dialect) *dialect {
	if d == sqldb.Postgres {
		return &postgres
	}
	return &sqlite
}

// in is the dialect of a transaction.
func in(tx *sqldb.Tx) *dialect { return dialectOf(tx.Dialect()) }

// inOrder is an ORDER BY of rows that are named by their ids.
func (d *dialect) inOrder(column string) string { return " ORDER BY " + column + d.sorted }

// hold is how rows are held until the end of the transaction, where others write.
type hold string

// The ways to hold rows: so that others do not name a record that is being deleted, and
// so that nobody deletes a record that is being named.
const (
	loose    hold = ""
	named    hold = " FOR KEY SHARE OF r"
	changing hold = " FOR NO KEY UPDATE OF r"
	deleting hold = " FOR UPDATE OF r"
	free     hold = " FOR UPDATE SKIP LOCKED"
)

func (d *dialect) hold(how hold) string {
	if d.shared {
		return string(how)
	}
	return ""
}

// living is what follows FROM where living records r of an object are read.
func living(b *sqldb.Binds, tenant, object string) string {
	return "records_record r WHERE r.tenant_id = " + b.Add(tenant) + " AND r.object = " + b.Add(object) +
		" AND r.deleted_at = 0"
}
