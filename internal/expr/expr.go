package expr

// Program is a compiled expression.
type Program struct{}
