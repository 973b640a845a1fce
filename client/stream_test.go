package client_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"renga.dev/renga/client"
)

// work brings an execution of one task to its end, slowly enough to be watched.
func work(t testing.TB, c *client.Client, id string, reports int) {
	t.Helper()
	ctx := soon(t)
	must[client.Answer](t)(c.Send(ctx, client.StartNode{ExecutionID: id, NodeID: "a", Attempt: 1}))
	for i := range reports {
		must[client.Answer](t)(c.Send(ctx, client.ReportNodeProgress{
			ExecutionID: id, NodeID: "a",
			Message: fmt.Sprint(i),
		}))
	}
	must[client.Answer](t)(c.Send(ctx, client.SucceedNode{ExecutionID: id, NodeID: "a"}))
}

func TestAStreamBringsEveryEventOnceAcrossBrokenConnections(t *testing.T) {
	s := newServer(t)
	var streams atomic.Int64
	p := newProxy(t, s, func(_ int, r seen) string {
		if !strings.HasSuffix(r.path, "/stream") {
			return ""
		}
		switch streams.Add(1) {
		case 1:
			return cutBefore
		case 2:
			return cutInside
		case 3:
			return "503 Retry-After "
		}
		return ""
	})
	c, ctx := dial(t, p.url), soon(t)
	id := started(t, c, line("default", "a"), nil)
	next := uint64(3)
	var last client.Event
	var worker sync.WaitGroup
	defer worker.Wait()
	for ev, err := range c.Executions.Stream(ctx, id, 2) {
		if err != nil {
			t.Fatal(err)
		}
		if ev.Seq != next || ev.ExecutionID != id {
			t.Fatalf("got event %d of %s, want %d", ev.Seq, ev.ExecutionID, next)
		}
		if ev.Type == "NODE_READY" && ev.NodeID() == "a" {
			worker.Go(func() { work(t, dial(t, s.url), id, 50) })
		}
		if ev.Type == "NODE_PROGRESS_REPORTED" {
			var p struct{ Message string }
			if err := ev.Decode(&p); err != nil || p.Message == "" {
				t.Errorf("the payload is %s: %v", ev.Payload, err)
			}
		}
		next, last = next+1, ev
	}
	if last.Type != "EXECUTION_COMPLETED" {
		t.Errorf("the last event is %+v", last)
	}
	if n := streams.Load(); n < 4 {
		t.Errorf("there were %d connections", n)
	}
	for ev, err := range c.Executions.Stream(ctx, id, last.Seq) {
		t.Errorf("after the end came %+v, %v", ev, err)
	}
}

func TestAStreamEndsWithItsReaderAndItsContext(t *testing.T) {
	c := rig(t)
	id := started(t, c, line("default", "a"), nil)
	seen := 0
	for _, err := range c.Executions.Stream(soon(t), id, 0) {
		if err != nil {
			t.Fatal(err)
		}
		if seen++; seen == 3 {
			break
		}
	}
	ctx, cancel := context.WithCancel(soon(t))
	defer cancel()
	var failed error
	for ev, err := range c.Executions.Stream(ctx, id, 0) {
		if failed = err; ev.Type == "NODE_READY" {
			cancel()
		}
	}
	if !errors.Is(failed, context.Canceled) {
		t.Errorf("the last thing that came is %v", failed)
	}
	for _, err := range c.Executions.Stream(soon(t), "00000000-0000-7000-8000-000000000000", 0) {
		failed = err
	}
	if !errors.Is(failed, client.ErrNotFound) {
		t.Errorf("the stream of an unknown execution gives %v", failed)
	}
}

func TestChangesAreFollowed(t *testing.T) {
	s := newServer(t)
	c, ctx := dial(t, s.url), soon(t)
	var id string
	for change, err := range c.Executions.Changes(ctx, []client.Status{client.Canceled}, "") {
		switch {
		case err != nil:
			t.Fatal(err)
		case change.ReadAgain && id == "":
			id = started(t, c, line("default", "a"), nil)
			must[client.Answer](t)(c.Executions.Cancel(ctx, client.CancelExecution{ExecutionID: id}))
			continue
		case change.ExecutionID != id || change.Status != client.Canceled || change.Seq == 0 || change.GraphID == "":
			t.Errorf("got %+v, want %s to be CANCELED", change, id)
		}
		return
	}
}

func TestAStreamWithCommandsBringsEveryEntryOnceAcrossBrokenConnections(t *testing.T) {
	s := newServer(t)
	var streams atomic.Int64
	p := newProxy(t, s, func(_ int, r seen) string {
		if !strings.HasSuffix(r.path, "/stream") {
			return ""
		}
		switch streams.Add(1) {
		case 1:
			return cutBefore
		case 2, 4:
			return cutInside
		}
		return ""
	})
	c, ctx := dial(t, p.url), soon(t)
	id := started(t, c, line("default", "a"), nil)
	must[client.Answer](t)(c.Send(ctx, client.StartNode{ExecutionID: id, NodeID: "a", Attempt: 1, WorkerID: "w"}))
	must[client.Answer](t)(c.Send(ctx, client.CancelExecution{ExecutionID: id}))
	for range 3 {
		_, err := c.Send(ctx, client.SucceedNode{ExecutionID: id, NodeID: "a", Attempt: 1, WorkerID: "w"})
		if err == nil {
			t.Fatal("a result after the cancel was accepted")
		}
	}
	must[client.Answer](t)(c.Send(ctx, client.ArchiveExecution{ExecutionID: id}))
	var places []string
	var last client.LogEntry
	late := 0
	for entry, err := range c.Executions.StreamCommands(ctx, id, "9") {
		if err != nil {
			t.Fatal(err)
		}
		places, last = append(places, entry.Place), entry
		if entry.Late != nil {
			late++
			if entry.Command.Command != "SucceedNode" || entry.Command.Accepted || entry.Late.WorkerID != "w" {
				t.Errorf("entry %s is %+v with %+v", entry.Place, entry.Command, entry.Late)
			}
		}
		if entry.Event != nil && entry.Event.Type == "EXECUTION_ARCHIVED" {
			break
		}
	}
	want := "[10 11 12 13 13.1 13.2 13.3 14]"
	if got := fmt.Sprint(places); got != want || last.Event == nil || late != 3 {
		t.Errorf("got %s with %d late results, want %s with 3", got, late, want)
	}
	if streams.Load() < 3 {
		t.Errorf("the stream was opened %d times: nothing was cut", streams.Load())
	}
}
