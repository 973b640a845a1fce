package test

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"testing"
	"time"

	public "renga.dev/renga/client" // client is what the other tests use
	"renga.dev/renga/test/stalltest"
	"renga.dev/renga/test/tier"
)

// interruptWithin is how soon a worker learns that it should stop.
const interruptWithin = time.Second

// TestAWorkerLearnsOfACancelInAnyProcess lets a worker of one process have a task, and
// cancels its execution through another.
func TestAWorkerLearnsOfACancelInAnyProcess(t *testing.T) {
	tier.System(t)
	rounds := 5
	if long() {
		rounds = 50
	}
	at := newSite(t)
	here := serve(t, at)
	there := here
	if postgres() {
		there = serve(t, at.beside(t))
	}
	caller := newClient(t, there, "caller")
	caller.put("diary", graphs["diary"])
	held, stopped := make(chan string), make(chan time.Time)
	worker := &public.Worker{
		Client: public.New(public.Config{URL: here.url}), Queues: []string{"mine"}, Log: slog.New(slog.DiscardHandler),
		Handle: func(ctx context.Context, t *public.Task) (any, error) {
			held <- t.ExecutionID
			<-ctx.Done()
			stopped <- time.Now()
			if !errors.Is(context.Cause(ctx), public.ErrInterrupted) {
				return nil, context.Cause(ctx)
			}
			return nil, nil
		},
	}
	defer worker.Client.Close()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- worker.Run(ctx) }()
	stalls := stalltest.New(t)
	var took, learned spans
	for range rounds {
		made := caller.request("CreateExecution", "", "", `"graphId":"diary","start":true`)
		began := time.Now()
		if err := caller.do(ctx, made); err != nil || !made.accepted() {
			t.Fatalf("%d %s %v", made.status, made.answer, err)
		}
		id := made.reply().ExecutionID
		if got := <-held; got != id {
			t.Fatalf("the worker got %s, not %s", got, id)
		}
		took = append(took, time.Since(began))
		asked := caller.request("CancelExecution", id, "", "")
		if err := caller.do(ctx, asked); err != nil || !asked.accepted() {
			t.Fatalf("%d %s %v", asked.status, asked.answer, err)
		}
		canceled := time.Now()
		learned = append(learned, max(0, stalls.Between(canceled, <-stopped)))
	}
	t.Logf("%d times: a task reached the worker %v p50, %v max after it was there; a cancel %v p50, %v max after it "+
		"was accepted",
		rounds, round(took.at(50)), round(slices.Max(took)), round(learned.at(50)), round(slices.Max(learned)))
	if slow := slices.Max(learned); slow > interruptWithin {
		t.Errorf("a worker learned of a cancel after %v, the limit is %v", slow, interruptWithin)
	}
	cancel()
	if err := <-ended; err != nil {
		t.Errorf("the worker ended with %v", err)
	}
	here.stop()
	if there != here {
		there.stop()
	}
	verify(t, at)
}

// TestProcessesWakeEachOthersWorkers gives two processes a NATS server: a claim that waits
// at one of them gets a task that becomes ready at the other at once.
func TestProcessesWakeEachOthersWorkers(t *testing.T) {
	tier.System(t)
	onPostgres(t)
	nats := startFakeNATS(t, "127.0.0.1:0")
	at := newSite(t)
	at.env = []string{"RENGA_NATS_URL=nats://" + nats.addr}
	here, there := serve(t, at), serve(t, at.beside(t))
	caller, worker := newClient(t, here, "caller"), newClient(t, there, "worker")
	caller.put("diary", graphs["diary"])
	stalls := stalltest.New(t)
	var took spans
	const rounds = 20
	for range rounds {
		claimed := make(chan error, 1)
		q := worker.request(claim, "", "", `"workerId":"w","queues":["mine"],"waitSeconds":10`)
		go func() { claimed <- worker.do(t.Context(), q) }()
		pause(20 * time.Millisecond) // mostly it waits by then
		made := caller.request("CreateExecution", "", "", `"graphId":"diary","start":true`)
		if err := caller.do(t.Context(), made); err != nil || !made.accepted() {
			t.Fatalf("%d %s %v", made.status, made.answer, err)
		}
		began := time.Now()
		if err := <-claimed; err != nil || len(q.reply().Tasks) != 1 {
			t.Fatalf("%d %s %v", q.status, q.answer, err)
		}
		took = append(took, stalls.Since(began))
	}
	t.Logf("%d times a task reached a worker of another process after %v p50, %v max", rounds, round(took.at(50)),
		round(slices.Max(took)))
	// without a message it is 250 ms, half of the time between two looks
	if median := took.at(50); median > 200*time.Millisecond {
		t.Errorf("half of the tasks took longer than %v", median)
	}
	if nats.count() < rounds {
		t.Errorf("NATS carried %d messages", nats.count())
	}
	here.stop()
	there.stop()
	verify(t, at)
}
