package sqldb

import (
	"encoding/json"
	"strconv"
)

// Binds are the arguments of a statement that several functions compose. Equal parts give equal texts, so that
// statements stay prepared.
type Binds struct{ args []any }

// Bind are arguments that the text names already: $1 is the first.
func Bind(args ...any) *Binds { return &Binds{args} }

// Add adds an argument and returns its placeholder: "$3".
func (b *Binds) Add(arg any) string {
	b.args = append(b.args, arg)
	return "$" + strconv.Itoa(len(b.args))
}

func (b *Binds) Args() []any { return b.args }

// OneOf is the condition that a column is one of some texts. They are one argument, so the statement does not vary
// with their number.
func (b *Binds) OneOf(tx *Tx, column string, texts []string) string {
	if tx.pg != nil {
		return column + " = ANY(" + b.Add(texts) + ")"
	}
	list, _ := json.Marshal(texts) // cannot fail
	return column + " IN (SELECT value FROM json_each(" + b.Add(string(list)) + "))"
}
