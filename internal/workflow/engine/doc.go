// Package engine makes the pure decisions of flow durable.
//
// Commands, claims, units and due deadlines queue up; one loop takes all that
// wait, decides them on cached states, writes everything they cause in one
// transaction and answers everyone after it is durable (group commit). A caller
// that finds the loop idle does its next step itself. The step is a function over
// three ports: a Store, a Clock and the queue, so that a simulation can drive it
// from one seed.
//
// The invariants it keeps: nothing is answered before it is durable; a state in
// the cache equals the log that is committed; one log row per execution and
// commit number; a key decides once; a READY Task either has a row among the
// ready tasks or was started in the commit that made it ready.
//
// It knows nothing of HTTP and of any particular database.
package engine
