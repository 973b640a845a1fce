// Package flow is the pure core: what may happen to an execution, and what then
// has happened.
//
// Two functions hold all of it.
//
//	Decide(State, Command, Facts) ([]Event, error)  // what a command leads to
//	Apply(State, Event) State                       // what an event makes of a state
//
// Decide answers with the whole consequence of a command, from one rest point of
// the execution to the next, in one list: the success of the last branch, the
// gate that opens, the nodes that become ready. It refuses with a *Refusal that
// says which guard spoke and what it saw. Apply is total: any event, in any order,
// on any state. Decide applies what it emits with the very code of Apply, so a
// state that is folded from the log is the state that the decision saw.
//
// Cancel wins, twice. Decide refuses whatever would move an execution forward
// after a cancel request; and Apply by itself lets nothing stand above CANCELED,
// whatever the order of events (chooseExecStatus).
//
// Neither function does I/O, reads a clock, draws a random number or depends on
// the order of a map. What a decision may know beside the state comes in Facts;
// data too large for the state is asked for with Need.
//
// The package is not the engine: it has no storage, no queue, no timer. Deadlines
// are instants inside events; whoever runs executions asks State.Due and sends
// the Expire commands it gets.
package flow
