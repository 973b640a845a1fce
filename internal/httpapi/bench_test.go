package httpapi_test

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	"renga.dev/renga/internal/httpapi"
	"renga.dev/renga/internal/platform/gate"
	"renga.dev/renga/internal/workflow/engine"
	"renga.dev/renga/internal/workflow/flow"
)

// echo accepts every command at once and gives a next task with it.
type echo struct{ task engine.Task }

func (e *echo) Submit(_ context.Context, requests []engine.Request) []engine.Result {
	results := make([]engine.Result, len(requests))
	for i := range requests {
		r := &requests[i]
		results[i].Answer = engine.Answer{
			Execution: r.Execution, Command: r.Command.Name(), CorrelationID: r.CorrelationID, Key: r.Idempotency.Key,
			Task: &e.task,
		}
	}
	return results
}

func (*echo) Claim(context.Context, engine.ClaimRequest) (engine.Claimed, error) {
	return engine.Claimed{}, nil
}

// BenchmarkCommands is what the surface and the gate add to a batch of
// completions: reading, hashing, answering.
func BenchmarkCommands(b *testing.B) {
	const batch = 150
	id, err := flow.ParseID(someExecution)
	if err != nil {
		b.Fatal(err)
	}
	e := &echo{engine.Task{
		Execution: id, Node: "t2", Attempt: 1, GraphID: "bench", Queue: "default",
		Input: flow.Data(`{}`), Outputs: map[string]flow.Data{"t1": flow.Data(`{}`)},
	}}
	auth, err := gate.OpenAuth(gate.AuthConfig{})
	if err != nil {
		b.Fatal(err)
	}
	g, err := gate.New(gate.Config{Auth: auth}, httpapi.New(httpapi.Config{Commands: e}).Routes())
	if err != nil {
		b.Fatal(err)
	}
	body := bytes.NewBufferString(`{"commands":[`)
	for i := range batch {
		if i > 0 {
			body.WriteByte(',')
		}
		fmt.Fprintf(
			body,
			`{"command":"SucceedNode","idempotencyKey":"w1-%06d","executionId":%q,"nodeId":"t1","attempt":1,`+
				`"workerId":"worker-1","output":{},"next":true}`,
			i,
			someExecution,
		)
	}
	body.WriteString(`]}`)
	b.ReportAllocs()
	b.SetBytes(int64(body.Len()))
	for b.Loop() {
		req := httptest.NewRequest(http.MethodPost, "http://localhost/commands", bytes.NewReader(body.Bytes()))
		req.Header.Set("Content-Type", "application/json")
		w := httptest.NewRecorder()
		g.ServeHTTP(w, req)
		if w.Code != 200 {
			b.Fatal(w.Body)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/batch, "ns/command")
}
