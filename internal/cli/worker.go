package cli

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync"
	"time"

	"renga.dev/renga/client"
	"renga.dev/renga/internal/workflow/play"
)

type workerCmd struct {
	Demo workerDemoCmd `cmd:"" help:"Work tasks without doing anything, to try graphs out."`
}

type workerDemoCmd struct {
	Queue       []string      `placeholder:"NAME" help:"Queues to take tasks from (default)."`
	Concurrency int           `default:"4" placeholder:"N" help:"Tasks at a time (${default})."`
	Duration    time.Duration `default:"200ms" placeholder:"DURATION" help:"How long a task takes (${default})."`
	FailRate    float64       `default:"0" placeholder:"RATE" help:"How many of the tasks fail, 0 to 1 (${default})."`
	Count       int           `placeholder:"N"`
	Worker      string        `placeholder:"NAME" help:"Name of the worker in the log; default: made up."`
	Lease       time.Duration `default:"30s" placeholder:"DURATION"`
}

func (workerDemoCmd) Help() string {
	return `A real worker whose tasks only take time: it claims, renews leases, stops within a second when an
execution is cancelled, and finishes what is under way when it is interrupted (Ctrl-C).

Examples:
  renga worker demo
  renga worker demo --queue mail --queue stock --concurrency 16 --duration 2s --fail-rate 0.1
  renga worker demo --count 10 -o json`
}

type worked struct {
	ExecutionID string `json:"executionId"`
	NodeID      string `json:"nodeId"`
	Attempt     int    `json:"attempt"`
	Queue       string `json:"queue"`
	Outcome     string `json:"outcome"` // succeeded, failed, interrupted
	Took        string `json:"took"`
}

func (c *workerDemoCmd) Run(ctx context.Context, r *remote) error {
	if c.FailRate < 0 || c.FailRate > 1 {
		return usage("--fail-rate must be between 0 and 1")
	}
	if c.Duration < 0 || c.Count < 0 {
		return usage("--duration and --count cannot be negative")
	}
	if c.Concurrency < 1 || c.Concurrency > client.MaxConcurrency {
		return usage("--concurrency must be 1 to %d", client.MaxConcurrency)
	}
	if err := play.CheckLease(c.Lease); err != nil {
		return err
	}
	// Say at once when there is no server. A worker's token need not allow this.
	if _, err := r.Graphs.List(ctx, client.Paging{Size: 10}); err != nil && !errors.Is(err, client.ErrForbidden) {
		return err
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	d := &demoWorker{cmd: c, app: r.App, stop: stop, did: map[string]int{}}
	w := client.Worker{
		Client: r.Client, Handle: d.handle, Queues: c.Queue, Concurrency: c.Concurrency, ID: c.Worker, Lease: c.Lease,
		Log: slog.New(slog.NewTextHandler(r.Err, &slog.HandlerOptions{Level: slog.LevelWarn})),
	}
	r.say("working; stop with Ctrl-C")
	err := w.Run(ctx)
	r.say("%d succeeded, %d failed, %d interrupted", d.did["succeeded"], d.did["failed"], d.did["interrupted"])
	return err
}

// demoWorker is the worker that only takes time.
type demoWorker struct {
	cmd  *workerDemoCmd
	app  *App
	stop func()

	mu  sync.Mutex
	did map[string]int // tasks by their outcome
	n   int
}

func (d *demoWorker) handle(ctx context.Context, t *client.Task) (any, error) {
	began, outcome := time.Now(), "succeeded"
	timer := time.NewTimer(d.cmd.Duration)
	defer timer.Stop()
	select {
	case <-timer.C:
		if rand.Float64() < d.cmd.FailRate {
			outcome = "failed"
		}
	case <-ctx.Done():
		outcome = "interrupted"
	}
	d.note(t, outcome, time.Since(began))
	switch outcome {
	case "interrupted":
		return nil, context.Cause(ctx)
	case "failed":
		return nil, &client.NodeError{Code: "DEMO", Message: fmt.Sprintf("This worker fails %v of its tasks.",
			d.cmd.FailRate)}
	}
	return map[string]any{"took": span(time.Since(began))}, nil
}

// note reports a task that was worked on, and ends when there were enough.
func (d *demoWorker) note(t *client.Task, outcome string, took time.Duration) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.did[outcome]++
	d.n++
	_ = d.app.printEach(worked{t.ExecutionID, t.NodeID, t.Attempt, t.Queue, outcome, span(took)},
		[]int{11, 0, 16, 0, 0},
		[]any{outcome, t.ExecutionID, t.NodeID, fmt.Sprintf("attempt %d", t.Attempt), span(took)})
	if d.cmd.Count > 0 && d.n >= d.cmd.Count {
		d.stop()
	}
}
