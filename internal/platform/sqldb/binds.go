package sqldb

import (
	"encoding/json"
	"strconv"
)

// Binds are the arguments of a statement that several put together: each adds its own and
// writes what Add gives into its part of the text. The text of equal parts is equal, so
// that the statement is prepared once.
type Binds struct{ args []any }

// Add adds an argument and gives its placeholder: "$3".
func (b *Binds) Add(arg any) string {
	b.args = append(b.args, arg)
	return "$" + strconv.Itoa(len(b.args))
}

// Args are all arguments, in order.
func (b *Binds) Args() []any { return b.args }

// OneOf is a condition that a column is one of some texts. They are one argument, so that
// the text of the statement is the same however many there are.
func (b *Binds) OneOf(tx *Tx, column string, texts []string) string {
	if tx.pg != nil {
		return column + " = ANY(" + b.Add(texts) + ")"
	}
	list, _ := json.Marshal(texts) // of texts, it cannot fail
	return column + " IN (SELECT value FROM json_each(" + b.Add(string(list)) + "))"
}
