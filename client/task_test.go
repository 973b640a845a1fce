package client_test

import (
	"context"
	"encoding/json"
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
