package client_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"

	"renga.dev/renga/client"
)

// order is a graph of two tasks: charge, then ship.
const order = `
nodes:
  - {nodeId: start,  type: Start}
  - {nodeId: charge, type: Task}
  - {nodeId: ship,   type: Task}
  - {nodeId: done,   type: Success}
edges:
  - {from: start,  to: charge}
  - {from: charge, to: ship}
  - {from: ship,   to: done}`

// connect gives a client of a fresh server that knows the graph order.
func connect() (c *client.Client, end func()) {
	dir, err := os.MkdirTemp("", "renga")
	if err != nil {
		log.Fatal(err)
	}
	s, err := open(dir, "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	c = client.New(client.Config{URL: s.url})
	if _, err := c.Graphs.Put(context.Background(), "order", []byte(order)); err != nil {
		log.Fatal(err)
	}
	return c, func() {
		c.Close()
		if err := s.close(); err != nil {
			log.Fatal(err)
		}
		if err := os.RemoveAll(dir); err != nil {
			log.Fatal(err)
		}
	}
}

// A command carries a key. However often it is sent, it happens once.
func ExampleClient_Send() {
	c, end := connect()
	defer end()
	ctx := context.Background()

	create := client.CreateExecution{
		Key: "order-17", GraphID: "order", Input: map[string]int{"total": 4200},
		Start: true,
	}
	first, err := c.Send(ctx, create)
	if err != nil {
		log.Fatal(err)
	}
	again, err := c.Send(ctx, create)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("one execution:", first.ExecutionID == again.ExecutionID)
	fmt.Println("a replay:", first.Replay, again.Replay)
	// Output:
	// one execution: true
	// a replay: false true
}

// When somebody cancels, cancel wins, and the refusal says where and why.
func ExampleError() {
	c, end := connect()
	defer end()
	ctx := context.Background()

	made, err := c.Send(ctx, client.CreateExecution{GraphID: "order", Start: true})
	if err != nil {
		log.Fatal(err)
	}
	tasks, err := c.Tasks.Claim(ctx, client.Claim{WorkerID: "w1"})
	if err != nil {
		log.Fatal(err)
	}
	if _, err := c.Send(ctx, client.CancelExecution{
		ExecutionID: made.ExecutionID,
		Reason:      "the customer called",
	}); err != nil {
		log.Fatal(err)
	}
	_, err = c.Send(ctx, client.SucceedNode{
		ExecutionID: made.ExecutionID, NodeID: "charge", Attempt: tasks[0].Attempt, WorkerID: "w1",
		Output: map[string]string{"receipt": "R-1"},
	})
	refusal, _ := errors.AsType[*client.Error](err)
	fmt.Println("cancel has won:", errors.Is(err, client.ErrCanceled))
	fmt.Println("refused by", refusal.Guard, "since event", refusal.CancelSeq)
	fmt.Println("the receipt is kept:", refusal.LateResultKept)
	// Output:
	// cancel has won: true
	// refused by cancel_fence since event 10
	// the receipt is kept: true
}

// Many commands go in one request; each is decided on its own.
func ExampleClient_SendAll() {
	c, end := connect()
	defer end()

	results, err := c.SendAll(context.Background(), []client.Command{
		client.CreateExecution{GraphID: "order", Start: true},
		client.CreateExecution{GraphID: "nowhere"},
	})
	if err != nil {
		log.Fatal(err)
	}
	for _, r := range results {
		fmt.Println(r.Command, r.Err)
	}
	// Output:
	// CreateExecution <nil>
	//  graph nowhere does not exist; register it with PUT /graphs/nowhere (404 GRAPH_NOT_FOUND)
}

// Whoever creates an execution and works it alone gets its first task with the answer.
func ExampleFirstTasks() {
	c, end := connect()
	defer end()
	ctx := context.Background()
	made, err := c.Send(ctx, client.CreateExecution{
		GraphID: "order", Start: true, Claim: &client.FirstTasks{WorkerID: "till-4"},
	})
	if err != nil {
		log.Fatal(err)
	}
	for task := &made.Tasks[0]; task != nil; {
		fmt.Println(task.NodeID)
		done, err := c.Send(ctx, client.SucceedNode{
			ExecutionID: task.ExecutionID, NodeID: task.NodeID, Attempt: task.Attempt, WorkerID: "till-4", Next: true,
		})
		if err != nil {
			log.Fatal(err)
		}
		task = done.Task
	}
	// Output:
	// charge
	// ship
}

// A worker takes tasks and hands them to a function, here until both tasks of one
// execution are done.
func ExampleWorker() {
	c, end := connect()
	defer end()
	ctx, stop := context.WithCancel(context.Background())
	if _, err := c.Send(ctx, client.CreateExecution{
		GraphID: "order", Input: map[string]int{"total": 4200},
		Start: true,
	}); err != nil {
		log.Fatal(err)
	}

	w := client.Worker{Client: c, Handle: func(ctx context.Context, t *client.Task) (any, error) {
		var order struct{ Total int }
		if err := t.DecodeInput(&order); err != nil {
			return nil, err
		}
		fmt.Println(t.NodeID, order.Total)
		if t.NodeID == "ship" {
			stop()
		}
		return map[string]string{"receipt": "R-1"}, nil
	}}
	if err := w.Run(ctx); err != nil {
		log.Fatal(err)
	}
	// Output:
	// charge 4200
	// ship 4200
}

// A handler that watches its context stops within a second of a cancel, whoever
// cancelled.
func ExampleWorker_interrupt() {
	c, end := connect()
	defer end()
	ctx, stop := context.WithCancel(context.Background())
	defer stop()

	w := client.Worker{Client: c, Handle: func(taskCtx context.Context, t *client.Task) (any, error) {
		if _, err := c.Send(ctx, client.CancelExecution{ExecutionID: t.ExecutionID}); err != nil {
			return nil, err
		}
		<-taskCtx.Done()
		fmt.Println("interrupted:", errors.Is(context.Cause(taskCtx), client.ErrInterrupted))
		stop()
		return nil, taskCtx.Err()
	}}
	if _, err := c.Send(ctx, client.CreateExecution{GraphID: "order", Start: true}); err != nil {
		log.Fatal(err)
	}
	if err := w.Run(ctx); err != nil {
		log.Fatal(err)
	}
	// Output:
	// interrupted: true
}

// A handler chooses how its Task fails.
func ExampleNodeError() {
	c, end := connect()
	defer end()
	ctx, stop := context.WithCancel(context.Background())
	made, err := c.Send(ctx, client.CreateExecution{GraphID: "order", Start: true})
	if err != nil {
		log.Fatal(err)
	}

	w := client.Worker{Client: c, Handle: func(context.Context, *client.Task) (any, error) {
		stop()
		return nil, &client.NodeError{
			Code: "CARD_DECLINED", Message: "the card was declined",
			Detail: map[string]string{"bank": "insufficient funds"},
		}
	}}
	if err := w.Run(ctx); err != nil {
		log.Fatal(err)
	}
	e, err := c.Executions.Get(context.Background(), made.ExecutionID)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(e.Status, e.FailedNodeID, e.Error.Code, string(e.Error.Detail))
	// Output:
	// FAILED charge CARD_DECLINED {"bank":"insufficient funds"}
}

// A stream brings every event once, however often the connection breaks, and ends
// with the execution.
func ExampleExecutions_Stream() {
	c, end := connect()
	defer end()
	ctx := context.Background()
	made, err := c.Send(ctx, client.CreateExecution{GraphID: "order", Start: true})
	if err != nil {
		log.Fatal(err)
	}
	if _, err := c.Send(ctx, client.CancelExecution{ExecutionID: made.ExecutionID}); err != nil {
		log.Fatal(err)
	}

	for event, err := range c.Executions.Stream(ctx, made.ExecutionID, 5) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(event.Seq, event.Type)
	}
	// Output:
	// 6 EXECUTION_STARTED
	// 7 NODE_SUCCEEDED
	// 8 NODE_READY
	// 9 EXECUTION_CANCEL_REQUESTED
	// 10 NODE_CANCELED
	// 11 NODE_CANCELED
	// 12 NODE_CANCELED
	// 13 EXECUTION_CANCELED
}

// A bulk freezes a set of executions, shows it, and cancels them when it is started.
func ExampleBulks_Create() {
	c, end := connect()
	defer end()
	ctx := context.Background()
	for range 3 {
		if _, err := c.Send(ctx, client.CreateExecution{GraphID: "order", Start: true}); err != nil {
			log.Fatal(err)
		}
	}

	bulk, err := c.Bulks.Create(ctx, client.CancelBulk{
		Filter: client.BulkFilter{GraphID: "order"},
		Reason: "the shop is closed",
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(bulk.Status, bulk.Total)
	if _, err := c.Bulks.Start(ctx, client.BulkOrder{BulkID: bulk.BulkID}); err != nil {
		log.Fatal(err)
	}
	// Output:
	// PREVIEW 3
}
