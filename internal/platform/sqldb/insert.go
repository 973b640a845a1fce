package sqldb

import (
	"strconv"
	"strings"
)

// Insert is an INSERT of any number of rows. A statement costs more than a row does, on
// both databases, so many rows go into few statements.
//
// Every text is made once, so that each statement is prepared once.
type Insert struct {
	columns int
	pg      string
	lite    [len(insertSizes)]string
}

// insertSizes are how many rows the statements of SQLite have. Some rows are as many of
// the first as there are, then of the next.
var insertSizes = [...]int{32, 8, 2, 1}

// NewInsert is an INSERT into a table with its columns, "t (a, b)"; then is what follows
// the rows, such as ON CONFLICT. The types are those that the columns have on PostgreSQL:
// text, bigint (also for integer), bytea or boolean.
func NewInsert(into, then string, types ...string) *Insert {
	return NewInsertSelect(into, "*", then, types...)
}

// NewInsertSelect is an INSERT that on PostgreSQL takes what it selects from the rows,
// which are *.
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

// Stmts are the statements that insert rows, in their order: one on PostgreSQL, few on
// SQLite. The values of all rows are in one slice, row after row; none may be NULL.
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

// column is a column of rows, as an argument of PostgreSQL: an array. Its values are from
// one on, and then in steps.
type column struct {
	values     []any
	from, step int
}
