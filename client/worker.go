package client

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"
)

// Defaults and limits of a Worker.
const (
	DefaultConcurrency  = 8
	DefaultLease        = time.Minute
	DefaultDrainTimeout = 30 * time.Second
	MaxConcurrency      = MaxWatch // one watch covers all that is held
	minLease            = time.Second
	maxLease            = time.Hour

	maxClaim = 100 // tasks of one claim
	// that a claim waits for the first; a drain lets it end by itself, so that no task is lost
	claimWait    = 2 * time.Second
	flushTimeout = 5 * time.Second  // for what must still be sent when the time for draining is over
	warnAfter    = 10 * time.Second // without an answer, before that is logged
)

// Worker claims tasks from queues and hands them to a function, until its context
// ends. Set Client and Handle; all else has a default.
//
// The function's result is the output of the Task, its error fails the attempt; a
// *NodeError chooses code, message and detail. The retry policy of the node decides
// what follows; with Final there is no other attempt. A panic fails the attempt with ERR_PANIC, and the worker goes on.
//
// A task may be handed out again when a worker was lost, so the function should be
// safe to repeat; Task.Ref makes a good key for what it calls.
//
// The function's context is cancelled when the Task is not the worker's any more:
// its execution or its node was cancelled, by whomever, or its lease or timeout ran
// out. That takes at most a second. context.Cause then is ErrInterrupted. What the
// function still returns is sent, and kept as evidence where it comes too late.
type Worker struct {
	Client *Client
	// Handle does the work of one Task.
	Handle func(ctx context.Context, t *Task) (output any, err error)
	// Queues are where tasks are claimed from; default the queue "default".
	Queues []string
	// Concurrency is how many tasks are worked on at a time, 1..MaxConcurrency;
	// default DefaultConcurrency.
	Concurrency int
	// ID names the worker in the log; default made of host, process and chance.
	ID string
	// Lease is how long a Task stays with a worker that sends no heartbeat, in whole
	// seconds from 1 s to 1 h; default DefaultLease. It is renewed three times in it.
	Lease time.Duration
	// DrainTimeout is how long tasks under way may take when the context of Run has
	// ended, before they are interrupted; default DefaultDrainTimeout.
	DrainTimeout time.Duration
	// Log gets the warnings that no error reports; default slog.Default().
	Log *slog.Logger
}

// ErrInterrupted is why the context of a handler was cancelled.
var ErrInterrupted = errors.New("interrupted")

// The codes with which a Worker itself fails an attempt.
const (
	CodeHandler     = "ERR_HANDLER"     // the handler returned an error without a code
	CodePanic       = "ERR_PANIC"       // the handler panicked
	CodeResult      = "ERR_RESULT"      // what the handler returned cannot be an output
	CodeInterrupted = "ERR_INTERRUPTED" // the worker had to stop before the handler was done
)

// Run works until ctx ends, then claims no more tasks and lets those under way
// finish. It returns when their results are sent and its goroutines are gone. The
// error says that the server does not let the worker work, that results could not
// be sent, or that handlers did not stop.
func (w *Worker) Run(ctx context.Context) error {
	ctx, end := context.WithCancel(ctx)
	defer end()
	r, err := newRun(ctx, w)
	if err != nil {
		return err
	}
	background, stop := context.WithCancel(r.values)
	defer stop()
	sending, stopSending := context.WithCancel(background)
	defer stopSending()
	var loops sync.WaitGroup
	loops.Go(func() { r.out.run(sending) })
	loops.Go(func() { r.heartbeat(background) })
	loops.Go(func() { r.watch(background) })
	over := make(chan struct{})
	loops.Go(func() { r.drain(ctx, background, stopSending, over) })
	refused := r.poll(ctx)
	end()
	idle, left := make(chan struct{}), 0
	go func() { r.handlers.Wait(); close(idle) }()
	select {
	case <-idle:
	case <-over:
		left = r.count()
	}
	stop()
	loops.Wait()
	if n, last := r.out.lost(); n > 0 {
		refused = errors.Join(refused, fmt.Errorf("client: %d results could not be sent: %w", n, last))
	}
	if left > 0 {
		refused = errors.Join(refused, fmt.Errorf("client: %d handlers did not stop", left))
	}
	return refused
}

// newRun checks what is set and fills in the rest.
func newRun(ctx context.Context, w *Worker) (*run, error) {
	r := &run{
		Worker: *w, values: context.WithoutCancel(ctx), ended: ctx.Done(), held: map[*hold]bool{},
		freed: make(chan struct{}, 1), began: make(chan struct{}, 1),
	}
	if len(w.Queues) == 0 {
		r.Queues = []string{"default"}
	}
	r.Concurrency = cmp.Or(w.Concurrency, DefaultConcurrency)
	r.Lease = cmp.Or(w.Lease, DefaultLease)
	r.DrainTimeout = cmp.Or(w.DrainTimeout, DefaultDrainTimeout)
	switch {
	case w.Client == nil:
		return nil, errors.New("client: the worker has no Client")
	case w.Client.broken != nil:
		return nil, w.Client.broken
	case w.Handle == nil:
		return nil, errors.New("client: the worker has no Handle")
	case r.Concurrency < 1 || r.Concurrency > MaxConcurrency:
		return nil, fmt.Errorf("client: the worker's Concurrency must be between 1 and %d", MaxConcurrency)
	case r.Lease < minLease || r.Lease > maxLease || r.Lease%time.Second != 0:
		return nil, fmt.Errorf("client: the worker's Lease must be whole seconds between %v and %v", minLease, maxLease)
	}
	if r.ID == "" {
		host, _ := os.Hostname() // without one the rest must do
		r.ID = fmt.Sprintf("%.64s-%d-%.6s", host, os.Getpid(), newKey())
	}
	if r.Log == nil {
		r.Log = slog.Default()
	}
	r.Log = r.Log.With("workerId", r.ID)
	r.free = r.Concurrency
	r.out.client, r.out.log, r.out.wake = w.Client, r.Log, make(chan struct{}, 1)
	return r, nil
}

// poll claims tasks for all free slots until ctx ends or the server refuses.
func (r *run) poll(ctx context.Context) error {
	claiming, cancel := context.WithCancel(r.values)
	defer cancel()
	// A claim under way may have tasks already: it is not cut off, unless the server is gone.
	defer context.AfterFunc(ctx, func() { time.AfterFunc(flushTimeout, cancel) })()
	for {
		n := r.reserve(ctx)
		if n == 0 {
			return nil
		}
		began := time.Now()
		tasks, err := r.claim(claiming, n)
		for i := range tasks {
			r.handlers.Go(func() { r.work(r.hold(&tasks[i], began)) })
		}
		r.release(n - len(tasks))
		if err != nil && ctx.Err() == nil {
			return err
		}
	}
}

// claim asks for n tasks, under one key until it is answered. An error says that the
// server will not give any, or that ctx has ended.
func (r *run) claim(ctx context.Context, n int) ([]Task, error) {
	claim := Claim{Key: newKey(), WorkerID: r.ID, Queues: r.Queues, Max: n, Wait: claimWait, Lease: r.Lease}
	for {
		tasks, err := r.Client.Tasks.claim(ctx, claim, warnAfter)
		refusal, answered := errors.AsType[*Error](err)
		if err == nil || ctx.Err() != nil || answered && refusal.Status < 500 && !refusal.repeatable() {
			return tasks, err
		}
		r.Log.Warn("tasks cannot be claimed", "error", err)
		sleep(ctx, maxPause)
	}
}

// drain holds the worker to its time when ctx has ended: handlers that take too
// long are interrupted, then what cannot be sent is given up, then over is closed.
// It ends with background.
func (r *run) drain(ctx, background context.Context, stopSending func(), over chan<- struct{}) {
	<-ctx.Done()
	for _, step := range []struct {
		wait time.Duration
		then func()
	}{{r.DrainTimeout, r.interruptAll}, {flushTimeout, stopSending}, {time.Second, func() { close(over) }}} {
		if !sleep(background, step.wait) {
			return
		}
		step.then()
	}
}
