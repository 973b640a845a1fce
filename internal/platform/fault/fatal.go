package fault

import (
	"fmt"
	"runtime/debug"
)

// Fatal, deferred, makes a panic end the process, whoever above would recover from it. It is for work
// that a caller does for all: its own 500 would hide that nobody can go on.
func Fatal() {
	p := recover()
	if p == nil {
		return
	}
	stack := debug.Stack()
	go func() { panic(fmt.Sprintf("%v\n\n%s", p, stack)) }() // nobody is above it
	select {}
}
