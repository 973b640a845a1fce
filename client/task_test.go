package client_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"renga.dev/renga/client"
)

// A handler reads the outputs of all nodes before its Task alike, those that the claim only names from the server.
func TestAWorkerReadsLargeOutputsOfEarlierNodes(t *testing.T) {
	c, ctx := rig(t), soon(t)
	large := strings.Repeat("x", 10_000)
	refs := make(chan int, 1)
	w := run(t, client.Worker{Client: c, Handle: func(_ context.Context, task *client.Task) (any, error) {
		if task.NodeID != "c" {
			return map[string]string{"of": task.NodeID, "pad": large}, nil
		}
		var a, b struct{ Of, Pad string }
		if err := task.DecodeOutput("a", &a); err != nil {
			return nil, err
		}
		if err := task.DecodeOutput("b", &b); err != nil {
			return nil, err
		}
		refs <- task.OutputRefs["a"].Size
		return map[string]any{"of": a.Of + b.Of, "whole": a.Pad == large && b.Pad == large}, nil
	}})
	id := started(t, c, line("default", "a", "b", "c"), nil)
	if e := ends(t, c, id); string(e.Result) != `{"of":"ab","whole":true}` {
		t.Errorf("the execution ended %s with %s", e.Status, e.Result)
	}
	if size := <-refs; size < 10_000 {
		t.Errorf("the claim names an output of %d bytes", size)
	}
	if _, err := w.stop(); err != nil {
		t.Error(err)
	}
	if got := must[json.RawMessage](t)(c.Tasks.Output(ctx, id, "b")); !strings.Contains(string(got), large) {
		t.Errorf("got %.80s", got)
	}
}

// A final error of a handler ends the retries, also wrapped, and is what the execution fails with behind
// a compensation.
func TestAFinalErrorEndsTheRetries(t *testing.T) {
	c := rig(t)
	const graph = `{"nodes":[{"nodeId":"start","type":"Start"},
		{"nodeId":"pay","type":"Task","retry":{"maxAttempts":5,"initialInterval":"0s"}},
		{"nodeId":"undo","type":"Task"},{"nodeId":"done","type":"Success"},{"nodeId":"unpaid","type":"Failed"}],
		"edges":[{"from":"start","to":"pay"},{"from":"pay","to":"done"},{"from":"pay","to":"undo","on":"failure"},
		{"from":"undo","to":"unpaid"}]}`
	why := make(chan *client.Failure, 1)
	w := run(t, client.Worker{Client: c, Handle: func(_ context.Context, task *client.Task) (any, error) {
		if task.NodeID == "pay" {
			return nil, fmt.Errorf("paying: %w", &client.NodeError{Code: "NO_ACCOUNT", Final: true})
		}
		why <- task.Error
		return nil, nil
	}})
	e := ends(t, c, started(t, c, []byte(graph), nil))
	if n := e.Node("pay"); e.Status != client.Failed || n.Attempt != 1 || e.FailedNodeID != "pay" ||
		e.Error == nil || e.Error.Code != "NO_ACCOUNT" || !e.Error.Final {
		t.Errorf("the execution ended %s after attempt %d of pay, with %+v of %s", e.Status, n.Attempt, e.Error,
			e.FailedNodeID)
	}
	if got := wait(t, why, "the compensation"); got == nil || got.Code != "NO_ACCOUNT" {
		t.Errorf("the compensation got the error %+v", got)
	}
	if _, err := w.stop(); err != nil {
		t.Error(err)
	}
}
