package client_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"renga.dev/renga/client"
)

func TestEveryCommandIsSentAndAnswered(t *testing.T) {
	c, ctx := rig(t), soon(t)
	graph := must[client.GraphVersion](t)(c.Graphs.Put(ctx, "g", line("default", "a", "b", "c")))
	if graph.GraphID != "g" || graph.Version != 1 || graph.CreatedAt.IsZero() {
		t.Errorf("the graph is %+v", graph)
	}
	send := func(cmd client.Command) client.Answer {
		t.Helper()
		a := must[client.Answer](t)(c.Send(ctx, cmd))
		if name := strings.TrimPrefix(fmt.Sprintf("%T", cmd), "client."); a.Command != name || a.ExecutionID == "" ||
			a.Key == "" || a.Replay {
			t.Errorf("%s was answered %+v", name, a)
		}
		return a
	}
	id := send(client.CreateExecution{GraphID: "g", Input: map[string]int{"n": 1}}).ExecutionID
	send(client.StartExecution{ExecutionID: id})
	send(client.StartNode{ExecutionID: id, NodeID: "a", Attempt: 1, WorkerID: "w"})
	half := 50.0
	send(client.ReportNodeProgress{
		ExecutionID: id, NodeID: "a", Attempt: 1, WorkerID: "w", Progress: &half, Message: "half",
		Metrics: map[string]int{"rows": 7},
	})
	send(client.PutNodeWaiting{
		ExecutionID: id, NodeID: "a", Attempt: 1, WorkerID: "w", WaitKey: "k",
		Prompt: json.RawMessage(`{"q":1}`),
	})
	send(client.ResumeNode{ExecutionID: id, NodeID: "a", ResumeKey: "k", Output: map[string]bool{"ok": true}})
	next := send(client.SucceedNode{
		ExecutionID: id, NodeID: "a", Attempt: 1, WorkerID: "w", Output: struct{ X int }{3},
		Next: true,
	}).Task
	if next == nil || next.NodeID != "b" || string(next.Outputs["a"]) != `{"X":3}` || string(next.Input) != `{"n":1}` {
		t.Fatalf("the next task is %+v", next)
	}
	if err := next.DecodeOutput("start", &struct{}{}); err == nil {
		t.Error("an output that is not there was read")
	}
	send(client.CancelNode{ExecutionID: id, NodeID: "b", Reason: "enough"})
	e := must[*client.Execution](t)(c.Executions.Get(ctx, id))
	if e.Status != client.Failed || e.Node("b").Status != client.NodeCanceled || e.Node("b").Reason != "enough" ||
		e.Node("nowhere") != nil {
		t.Errorf("the execution is %+v", e)
	}
	send(client.ArchiveExecution{ExecutionID: id, Reason: "done"})
	other := send(client.CreateExecution{GraphID: "g", Start: true}).ExecutionID
	send(client.StartNode{ExecutionID: other, NodeID: "a", Attempt: 1})
	send(client.FailNode{ExecutionID: other, NodeID: "a", Error: &client.NodeError{
		Code: "E", Message: "m",
		Detail: map[string]int{"d": 1},
	}})
	e = must[*client.Execution](t)(c.Executions.Get(ctx, other))
	if e.Error == nil || e.Error.Code != "E" || string(e.Error.Detail) != `{"d":1}` || e.FailedNodeID != "a" {
		t.Errorf("it failed with %+v", e)
	}
	eager := send(client.CreateExecution{GraphID: "g", Start: true, Claim: &client.FirstTasks{
		WorkerID: "w",
		Queues:   []string{"other", "default"}, Max: 2, LeaseSeconds: 9,
	}})
	if len(eager.Tasks) != 1 || eager.Tasks[0].Ref() != (client.TaskRef{
		ExecutionID: eager.ExecutionID, NodeID: "a",
		Attempt: 1,
	}) || eager.Tasks[0].LeaseUntil.IsZero() {
		t.Errorf("the tasks are %+v", eager.Tasks)
	}
	third := send(client.CreateExecution{GraphID: "g"}).ExecutionID
	if a := send(client.CancelExecution{ExecutionID: third, Reason: "r"}); a.CancelSeq == 0 {
		t.Errorf("the cancel was answered %+v", a)
	}
	var decided []string
	for d, err := range c.Executions.Commands(ctx, third) {
		if err != nil {
			t.Fatal(err)
		}
		decided = append(decided, d.Command)
	}
	if want := []string{"CreateExecution", "CancelExecution"}; !slices.Equal(decided, want) {
		t.Errorf("the commands are %q", decided)
	}
}

// TestACommandWithoutAKeyIsSentUnderANewOneEachTime sends the very same commands before and after what refuses them.
func TestACommandWithoutAKeyIsSentUnderANewOneEachTime(t *testing.T) {
	c, ctx := rig(t), soon(t)
	id := started(t, c, line("default", "a"), nil)
	unkeyed, keyed := client.ArchiveExecution{ExecutionID: id}, client.ArchiveExecution{ExecutionID: id, Key: "mine"}
	refused := func(cmd client.Command) {
		t.Helper()
		_, err := c.Send(ctx, cmd)
		if failure, ok := errors.AsType[*client.Error](err); !ok || failure.Guard != "execution_terminal" ||
			!failure.NewKey || failure.RetryAdvice != "retry_with_backoff" {
			t.Errorf("got %+v, want a refusal that asks for a new key", err)
		}
	}
	refused(keyed)
	refused(unkeyed)
	must[client.Answer](t)(c.Send(ctx, client.CancelExecution{ExecutionID: id}))
	refused(keyed)
	if a := must[client.Answer](t)(c.Send(ctx, unkeyed)); a.Replay || a.Key == "" || a.Key == "mine" {
		t.Errorf("the archive was answered %+v", a)
	}
	_, err := c.Send(ctx, client.StartExecution{ExecutionID: id})
	if failure, ok := errors.AsType[*client.Error](err); !ok || failure.NewKey {
		t.Errorf("got %+v, want a refusal for good", err)
	}
}

func TestARefusalSaysWhy(t *testing.T) {
	c, ctx := rig(t), soon(t)
	id := started(t, c, line("default", "a"), nil)
	must[client.Answer](t)(c.Send(ctx, client.StartNode{ExecutionID: id, NodeID: "a", Attempt: 1}))
	canceled := must[client.Answer](t)(c.Send(ctx, client.CancelExecution{ExecutionID: id}))
	_, err := c.Send(ctx, client.SucceedNode{ExecutionID: id, NodeID: "a", Attempt: 1, Output: map[string]string{
		"receipt": "R-1",
	}})
	failure, ok := errors.AsType[*client.Error](err)
	if !ok {
		t.Fatalf("got %v", err)
	}
	if failure.Status != 409 || failure.Code != "COMMAND_REJECTED" || failure.Guard != "cancel_fence" ||
		failure.CancelSeq != canceled.CancelSeq ||
		failure.State.Execution != client.Canceled || failure.State.NodeStatus != client.NodeCanceled ||
		!failure.LateResultKept ||
		failure.Cause == nil || failure.Cause.Type != "EXECUTION_CANCELED" || failure.ReasonClass != "run_conflict" ||
		failure.RetryAdvice != "do_not_retry" ||
		failure.CorrelationID == "" || len(failure.Details) == 0 ||
		!strings.Contains(failure.Error(), "cancel-requested") {
		t.Errorf("the error is %+v", failure)
	}
	kinds := map[error]bool{client.ErrRefused: true, client.ErrCanceled: true}
	for _, kind := range []error{
		client.ErrRefused, client.ErrCanceled, client.ErrKeyConflict, client.ErrInvalid, client.ErrNotFound,
		client.ErrUnauthorized, client.ErrForbidden, client.ErrRateLimited, client.ErrUnavailable,
	} {
		if errors.Is(err, kind) != kinds[kind] {
			t.Errorf("errors.Is(err, %v) is %t", kind, !kinds[kind])
		}
	}
	e := must[*client.Execution](t)(c.Executions.Get(ctx, id))
	if len(e.LateResults) != 1 || string(e.LateResults[0].Output) != `{"receipt":"R-1"}` || e.Cancel == nil ||
		e.Cancel.Seq != canceled.CancelSeq {
		t.Errorf("the evidence is %+v", e)
	}
}

func TestTheKindsOfErrors(t *testing.T) {
	c, ctx := rig(t), soon(t)
	id := started(t, c, line("default", "a"), nil)
	const nobody = "00000000-0000-7000-8000-000000000000"
	key := func(reason string) error {
		_, err := c.Send(ctx, client.CancelExecution{Key: "k", ExecutionID: id, Reason: reason})
		return err
	}
	if err := key("one"); err != nil {
		t.Fatal(err)
	}
	send := func(cmd client.Command) error { _, err := c.Send(ctx, cmd); return err }
	_, notThere := c.Graphs.Get(ctx, "nowhere", 0)
	_, bad := c.Graphs.Put(ctx, "bad", []byte("nodes: []\nedges: []"))
	_, noAnswer := client.New(client.Config{URL: "http://127.0.0.1:1", RetryFor: time.Nanosecond}).Executions.Get(ctx,
		id)
	for _, tt := range []struct {
		name string
		err  error
		kind error
	}{
		{"a key with another body", key("two"), client.ErrKeyConflict},
		{"an unknown execution", send(client.StartExecution{ExecutionID: nobody}), client.ErrNotFound},
		{"an unknown graph", notThere, client.ErrNotFound},
		{"a graph that cannot run", bad, client.ErrInvalid},
		{
			"data that is no object", send(client.SucceedNode{ExecutionID: id, NodeID: "a", Output: 5}),
			client.ErrInvalid,
		},
		{
			"too large", send(client.CancelExecution{ExecutionID: id, Reason: strings.Repeat("x", 2<<20)}),
			client.ErrInvalid,
		},
		{"nobody there", noAnswer, client.ErrUnavailable},
	} {
		if !errors.Is(tt.err, tt.kind) {
			t.Errorf("%s: got %v, want %v", tt.name, tt.err, tt.kind)
		}
	}
	for name, err := range map[string]error{
		"no execution id": send(client.StartExecution{}), "no node id": send(client.CancelNode{ExecutionID: id}),
		"no command": send(nil), "data that is no JSON": send(client.CreateExecution{
			GraphID: "g",
			Input:   make(chan int),
		}),
		"a bad URL": second(client.New(client.Config{URL: "127.0.0.1:8080"}).Executions.Get(ctx, id)),
	} {
		if err == nil || errors.Is(err, client.ErrUnavailable) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

func second[T any](_ T, err error) error { return err }

func TestManyCommandsHaveAResultEach(t *testing.T) {
	s := newServer(t)
	p := newProxy(t, s, nil)
	c, ctx := dial(t, p.url), soon(t)
	must[client.GraphVersion](t)(c.Graphs.Put(ctx, "g", line("default", "a")))
	var cmds []client.Command
	for i := range 1200 {
		cmds = append(cmds, client.CreateExecution{Key: fmt.Sprintf("k%d", i), GraphID: "g", Input: map[string]int{
			"i": i,
		}})
	}
	cmds[700] = client.StartExecution{ExecutionID: "00000000-0000-7000-8000-000000000000"}
	results := must[[]client.Result](t)(c.SendAll(ctx, cmds))
	for i, r := range results {
		if i == 700 {
			if !errors.Is(r.Err, client.ErrNotFound) {
				t.Errorf("result 700 is %+v", r)
			}
			continue
		}
		if r.Err != nil || r.ExecutionID == "" || r.Key != fmt.Sprintf("k%d", i) || r.Replay {
			t.Fatalf("result %d is %+v", i, r)
		}
	}
	if n := len(p.requests("/commands")); n != 3 {
		t.Errorf("1200 commands took %d requests, want 3", n)
	}
	again := must[[]client.Result](t)(c.SendAll(ctx, cmds[:1]))
	if !again[0].Replay || again[0].ExecutionID != results[0].ExecutionID {
		t.Errorf("the repetition is %+v", again[0])
	}
	big := strings.Repeat("x", 1<<20-200)
	cmds = cmds[:0]
	for range 10 {
		cmds = append(cmds, client.CreateExecution{GraphID: "g", Input: map[string]string{"x": big}})
	}
	for i, r := range must[[]client.Result](t)(c.SendAll(ctx, cmds)) {
		if r.Err != nil {
			t.Errorf("large command %d: %v", i, r.Err)
		}
	}
}

func TestListsAreReadWhole(t *testing.T) {
	c, ctx := rig(t), soon(t)
	must[client.GraphVersion](t)(c.Graphs.Put(ctx, "g", line("default", "a")))
	must[client.GraphVersion](t)(c.Graphs.Put(ctx, "h",
		[]byte("nodes:\n  - {nodeId: s, type: Start}\n  - {nodeId: e, type: Success}\nedges: [{from: s, to: e}]\n")))
	var cmds []client.Command
	for range 350 { // many of one instant
		cmds = append(cmds, client.CreateExecution{GraphID: "g"})
	}
	var want []string
	for _, r := range must[[]client.Result](t)(c.SendAll(ctx, cmds)) {
		want = append(want, r.ExecutionID)
	}
	must[client.Answer](t)(c.Send(ctx, client.CancelExecution{ExecutionID: want[5]}))
	slices.Reverse(want)
	var got []string
	for e, err := range c.Executions.All(ctx, client.ExecutionFilter{GraphID: "g"}) {
		if err != nil {
			t.Fatal(err)
		}
		if got = append(got, e.ExecutionID); len(got)%100 == 50 { // what is created or ends meanwhile shifts nothing
			must[client.Answer](t)(c.Send(ctx, client.CreateExecution{GraphID: "g"}))
			must[client.Answer](t)(c.Send(ctx, client.CancelExecution{ExecutionID: e.ExecutionID}))
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the executions differ (-want +got):\n%s", diff)
	}
	page := must[*client.Page[client.ExecutionSummary]](t)(c.Executions.List(ctx, client.ExecutionFilter{
		Status: []client.Status{client.Active},
	}, client.Paging{Page: 2, Size: 10}))
	if len(page.Items) != 10 || page.Page != 2 || page.Size != 10 || page.Total != 349 {
		t.Errorf("the page is %+v", page)
	}
	ids := []string{}
	for g, err := range c.Graphs.All(ctx) {
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, g.GraphID)
	}
	if !slices.Equal(ids, []string{"g", "h"}) {
		t.Errorf("the graphs are %q", ids)
	}
	g := must[*client.Graph](t)(c.Graphs.Get(ctx, "h", 1))
	if g.Version != 1 || len(g.Nodes) != 2 || g.Edges[0] != (client.Edge{From: "s", To: "e", On: "success"}) {
		t.Errorf("the graph is %+v", g)
	}
}

func TestTheLogIsReadFromAnyPlace(t *testing.T) {
	c, ctx := rig(t), soon(t)
	id := started(t, c, line("default", "a"), nil)
	must[client.Answer](t)(c.Send(ctx, client.StartNode{ExecutionID: id, NodeID: "a", Attempt: 1}))
	for range 240 {
		must[client.Answer](t)(c.Send(ctx, client.ReportNodeProgress{ExecutionID: id, NodeID: "a"}))
	}
	e := must[*client.Execution](t)(c.Executions.Get(ctx, id))
	for _, from := range []uint64{0, 1, 2, 100, 101, 150, 201, e.Seq, e.Seq + 1, 1000} {
		next := max(from, 1)
		for ev, err := range c.Executions.Events(ctx, id, from) {
			if err != nil {
				t.Fatal(err)
			}
			if ev.Seq != next {
				t.Fatalf("from %d: got event %d, want %d", from, ev.Seq, next)
			}
			next++
		}
		if want := max(e.Seq+1, from); next != want {
			t.Errorf("from %d: the log ended before event %d, want %d", from, next, want)
		}
	}
	if at := must[*client.Execution](t)(c.Executions.At(ctx, id, 1)); at.Seq != 1 || at.Status != client.Active {
		t.Errorf("after event 1 it was %+v", at)
	}
}

func TestHeadersNameTheCaller(t *testing.T) {
	s := newServer(t)
	var header http.Header
	c := client.New(client.Config{
		URL: s.url, Tenant: "11111111-1111-4111-8111-111111111111", User: "mika", UserAgent: "test/1",
		Token: func(context.Context) (string, error) { return "secret", nil },
		HTTP: &http.Client{Transport: tripper(func(r *http.Request) (*http.Response, error) {
			header = r.Header.Clone()
			return http.DefaultTransport.RoundTrip(r)
		})},
	})
	ctx := client.WithCorrelationID(soon(t), "order-17")
	must[client.GraphVersion](t)(c.Graphs.Put(ctx, "g", line("default", "a")))
	a := must[client.Answer](t)(c.Send(ctx, client.CreateExecution{Key: "k", GraphID: "g"}))
	for name, want := range map[string]string{
		"Authorization": "Bearer secret", "X-Tenant-Id": "11111111-1111-4111-8111-111111111111", "X-User-Id": "mika",
		"User-Agent":       "test/1",
		"X-Correlation-Id": "order-17", "X-Idempotency-Key": "k", "Content-Type": "application/json",
	} {
		if got := header.Get(name); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	if a.CorrelationID != "order-17" || a.Key != "k" {
		t.Errorf("the answer is %+v", a)
	}
	for ev := range c.Executions.Events(ctx, a.ExecutionID, 1) {
		if ev.Actor != (client.Actor{Kind: "user", ID: "mika"}) {
			t.Errorf("the actor is %+v", ev.Actor)
		}
		break
	}
	http.DefaultTransport.(*http.Transport).CloseIdleConnections()
}

type tripper func(*http.Request) (*http.Response, error)

func (f tripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }
