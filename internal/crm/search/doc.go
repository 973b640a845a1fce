// Package search finds records by their texts, and shows to whom it finds them only what
// they may see.
//
// The index proposes, the record decides. Texts are tokenized in Go (normalize.go), in the same way
// for both databases: words, and of scripts without spaces each two characters.
// The index (SQLite's FTS5, PostgreSQL's tsvector) only says which records have all of
// these tokens. Whether a record is there, whether the caller sees it, which of its fields
// it may read and whether what it looks for stands in them side by side is found out from
// the record itself, in the transaction of the search. So the index can be late, but
// nobody is shown what it once was.
//
// Hits come by relevance, which are four sets of records, and within each from the one
// that was changed last on. Both databases give a set in that order without looking at
// all of it, so a search costs what is shown and not what would be found.
//
// The event handlers read the current records and write the difference, so an event that comes
// twice or late does no harm. The index of an object is rebuilt, as an execution,
// when other fields are to be found, or when somebody asks for it.
//
// The invariants: a field that the caller may not read, or that is not searchable, neither finds
// a record nor is shown; when all events are handled, the index is what a recount says.
package search
