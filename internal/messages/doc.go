// Package messages delivers what other systems send to the nodes that wait for it.
//
// A message has a name, a key and a payload. It resumes every node that waits for its name and key at the moment of its
// delivery; where none waits it starts the graphs that subscribe to its name; else it is kept, until its time to live
// ends, for the nodes that will wait. Of several kept messages with one name and key the oldest is delivered first.
//
// Who writes last looks: a message is stored and then waits are looked for, a wait is stored and then kept messages are
// looked for (Awaits). What a killed process did not come to look for is found by Run, at its start and every minute.
//
// The invariant: a message leaves the state KEPT once, in the transaction that resumes the nodes or starts the
// executions which its row names, so nothing is delivered twice and nothing that was answered is lost. A node that was
// cancelled refuses; the message stays as it was.
package messages
