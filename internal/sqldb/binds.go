package sqldb

import "strconv"

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
