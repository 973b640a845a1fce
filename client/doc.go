// Package client talks to a Renga server: commands, reads, streams and workers.
//
// A Client has a field for each part of the API: Executions, Tasks, Graphs, Records,
// Events and so on. Their methods send commands and read what became of them:
//
//	c := client.New(client.Config{URL: "http://127.0.0.1:8080"})
//	made, err := c.Executions.Create(ctx, client.CreateExecution{GraphID: "order", Input: order, Start: true})
//	…
//	_, err = c.Executions.Cancel(ctx, client.CancelExecution{
//		ExecutionID: made.ExecutionID, Reason: "the customer called",
//	})
//
// In every part Get reads one, List a page, and All an iterator over all of them. Send and
// SendAll send any Command, one or many together.
//
// # Keys and repetition
//
// Every command carries a key, its own or one that is made for the call. When a
// connection breaks, a server goes away or says "not now" (502, 503, 504, 429),
// the request is sent again with the same key and the same bytes, after a pause
// that grows and is never the same twice, until it is answered, the context ends
// or Config.RetryFor is over. However often it is sent, it happens once.
// Answer.Replay says that a key was answered before.
//
// Give a key yourself where the caller may be repeated as a whole: the number of
// the order, the id of the message. WithCorrelationID names the chain of work that
// requests belong to. Of several processes of one system, name all in Config.URL:
// when one does not answer, the next is asked.
//
// # Errors
//
// What the server refuses is an *Error: the code, the guard that refused, the
// state that it saw, the event that caused it. Ask for its kind with errors.Is:
//
//	if errors.Is(err, client.ErrCanceled) { … } // cancel has won
//
// # Events
//
// Events.Follow brings the tenant's business events as they are committed, across broken
// connections. DeadLetters are events that a consumer could not apply: read why, ask what
// a redrive would do (ForeseeRedrive), Redrive or Skip them, one or, as DeadLetterBulks,
// many. Audit lists who decided what.
//
// # Workers
//
// A Worker claims tasks of some queues and hands them to a function. It asks for as
// many tasks as it has room for at once, sends results that come together in one
// request, goes on with the next Task of an execution without asking for it, sends
// heartbeats for what takes long, and cancels the function's context within a
// second when its Task is not the worker's any more. When its own context ends it
// claims nothing new and lets what is under way finish.
//
// This package imports nothing but the standard library, and keeps no state
// other than its connections.
package client
