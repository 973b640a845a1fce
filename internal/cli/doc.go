// Package cli is the command line of the binary: what people and scripts type
// to work with a server, and what needs none (checking and playing graphs,
// making tokens).
//
// A command is a struct whose fields are its flags and arguments (renga bulk list is bulkListCmd), whose Help tells
// more with examples, and whose Run does the work; kong reads and calls them. A Run that takes a remote talks to a
// server. Commands do so through the client package alone, so they can do nothing that any other caller cannot, and
// they decide nothing: what a graph does is asked of flow.
//
// The invariant: what a script reads is stable. Standard output holds the answer
// and nothing else, as a table for people or, with -o json, as JSON; what
// went wrong and what is under way goes to standard error; the exit code
// says how it went (exit.go). Colours and redrawn lines are for terminals only.
package cli
