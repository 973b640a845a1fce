// Package flow is the pure core: what a command leads to, and what an event makes of a state.
//
//	Decide(State, Command, Facts) ([]Event, error)
//	Apply(State, Event) State
//
// Decide answers with the whole consequence of a command, from one rest point of the execution to
// the next, or with a *Refusal that says which guard spoke and what it saw. It applies what it
// emits with the code of Apply, so a state that is rebuilt from the log is the state that the
// decision saw. Apply is total: any event, in any order, on any state.
//
// Cancel wins, twice: Decide refuses whatever would move an execution forward after a cancel
// request, and Apply lets nothing stand above CANCELED (chooseExecStatus).
//
// Neither does I/O, reads a clock, draws a random number or depends on the order of a map. What a
// decision may know beside the state comes in Facts; data too large for the state is asked for
// with Need. There is no timer either: deadlines are instants inside events, and whoever runs
// executions asks State.Due and sends the Expire commands it gets.
package flow
