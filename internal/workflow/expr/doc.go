// Package expr compiles and evaluates the conditions of a graph, written in CEL.
//
// A condition is a stranger's data, evaluated inside a pure decision: it must give the same answer
// for the same values, within a few milliseconds. CEL ends by construction; the rest is held here.
//
//   - Every step is counted and the count is bounded (MaxSteps). CEL counts a call
//     after it has returned and takes many calls for one step whatever they walk, so
//     equality, membership, concatenation, regular expressions and large strings are
//     counted by this package, before or while they run (meter.go, nodes.go).
//   - Maps are walked in the order of their keys, time zones are UTC, and nothing
//     reads a clock or a disk: named time zones are left out, they live in a file.
//   - The string extensions of CEL are left out: replace and join build their result
//     before anybody can count it.
//
// Numbers are JSON numbers: an integer and a fraction may be compared, added,
// subtracted, multiplied and divided with each other.
package expr
