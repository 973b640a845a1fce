// Command renga is the whole system in one binary: commands come in once, decisions are pure,
// every change is an event in one log, and cancel always wins.
package main

import (
	"os"

	"renga.dev/renga/internal/program"
)

func main() { os.Exit(program.Main()) }
