// Package model is what the business services agree on: the model of a tenant. Which
// objects there are and which fields they have, who the users are, what each may do, how
// roles and groups hang together, and the rules that somebody defined.
//
// It is pure. A Model is a value that does not change: With gives another one. Nothing
// here reads a table or a clock; internal/crm/metadata alone stores definitions, checks
// them and hands models out, and the other services ask them.
//
// The invariant: a model answers every question for every name. What does not exist may
// do nothing, is in no group and has nothing above it.
package model
