// Package tidy holds the tests about the repository itself: what each folder may import, who may
// name a table in SQL, that documents name what the code names, and that sizes keep to their limits. It has no
// code to ship.
package tidy
