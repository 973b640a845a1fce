package sqldb

import (
	"strconv"
	"strings"
)

// Insert is an INSERT of any number of rows in few statements, each with a constant text, so that it stays prepared.
type Insert struct {
	columns int
	pg      string
	lite    [len(insertSizes)]string
}

// insertSizes are the rows per statement on SQLite, used greedily.
var insertSizes = [...]int{32, 8, 2, 1}

// NewInsert inserts into "t (a, b)"; then follows the rows, such as ON CONFLICT. The types are PostgreSQL's: text,
// bigint (also for integer), bytea or boolean.
func NewInsert(into, then string, types ...string) *Insert {
	return NewInsertSelect(into, "*", then, types...)
}

// NewInsertSelect is NewInsert that on PostgreSQL selects what from the rows (*).
func NewInsertSelect(into, what, then string, types ...string) *Insert {
	in := &Insert{columns: len(types)}
	arrays := make([]string, len(types))
	for i, typ := range types {
		arrays[i] = "$" + strconv.Itoa(i+1) + "::" + typ + "[]"
	}
	in.pg = "INSERT INTO " + into + " SELECT " + what + " FROM unnest(" + strings.Join(arrays, ", ") + ") " + then
	row := "(?" + strings.Repeat(", ?", len(types)-1) + ")"
	for i, n := range insertSizes {
		in.lite[i] = "INSERT INTO " + into + " VALUES " + row + strings.Repeat(", "+row, n-1) + " " + then
	}
	return in
}

// Stmts are the statements that insert rows in order: one on PostgreSQL, few on SQLite. values has row after row,
// without NULL.
func (in *Insert) Stmts(tx *Tx, values []any) (stmts []Stmt) {
	if len(values) == 0 {
		return nil
	}
	if len(values)%in.columns != 0 {
		panic("sqldb: values that make no whole rows")
	}
	if tx.pg != nil {
		args := make([]any, in.columns)
		for i := range args {
			args[i] = column{values, i, in.columns}
		}
		return []Stmt{{Query: in.pg, Args: args}}
	}
	for i, size := range insertSizes {
		for n := size * in.columns; len(values) >= n; values = values[n:] {
			stmts = append(stmts, Stmt{Query: in.lite[i], Args: values[:n:n]})
		}
	}
	return stmts
}

// column is a column of rows, sent to PostgreSQL as an array: every step-th value.
type column struct {
	values     []any
	from, step int
}
