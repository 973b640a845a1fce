package engine_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/workflow/engine"
	"renga.dev/renga/internal/workflow/flow"
)

// order is a graph with a fork, and a refund when its shipment fails.
const order = `{"nodes":[{"nodeId":"start","type":"Start"},{"nodeId":"quote","type":"Task","queue":"q"},
	{"nodeId":"fork","type":"Fork"},{"nodeId":"pay","type":"Task","queue":"q"},
	{"nodeId":"book","type":"Task","queue":"q"},{"nodeId":"join","type":"Join"},
	{"nodeId":"ship","type":"Task","queue":"q"},{"nodeId":"refund","type":"Task","queue":"q"},
	{"nodeId":"tell","type":"Task","queue":"q"},
	{"nodeId":"end","type":"Success"},{"nodeId":"failed","type":"Failed"}],
	"edges":[{"from":"start","to":"quote"},{"from":"quote","to":"fork"},{"from":"fork","to":"pay"},
	{"from":"fork","to":"book"},{"from":"pay","to":"join"},{"from":"book","to":"join"},{"from":"join","to":"ship"},
	{"from":"ship","to":"end"},{"from":"ship","to":"refund","on":"failure"},{"from":"refund","to":"tell"},
	{"from":"tell","to":"failed"}]}`

// put is an output of so many bytes.
func put(size int) flow.Data {
	return flow.Data(`{"x":"` + strings.Repeat("x", size-len(`{"x":""}`)) + `"}`)
}

// seen is what a Task carries, and names.
func seen(t *engine.Task) string {
	return fmt.Sprint(slices.Sorted(maps.Keys(t.Outputs)), slices.Sorted(maps.Keys(t.OutputRefs)))
}

func TestATaskCarriesTheOutputsOfAllNodesBeforeIt(t *testing.T) {
	r := newRig(t)
	r.graph("order", order)
	id := r.started("order")
	next := func(want ...string) {
		t.Helper()
		c := r.claim(r.claiming("w", 9, 0))
		r.settle()
		var got []string
		for _, task := range c.Tasks {
			got = append(got, task.Node+" "+seen(&task))
		}
		if !slices.Equal(got, want) {
			t.Errorf("got %v, want %v", got, want)
		}
	}
	next("quote [] []")
	r.must(r.to(id, flow.Succeed{Node: "quote", Output: put(20)}))
	next("book [quote] []", "pay [quote] []") // through a fork
	r.must(r.to(id, flow.Succeed{Node: "pay", Output: put(flow.MaxInline + 1)}))
	r.must(r.to(id, flow.Succeed{Node: "book"}))
	next("ship [quote] [pay]") // through a join; book put out nothing
	r.must(r.to(id, flow.Fail{Node: "ship", Error: &flow.Error{Code: "LOST"}}))
	next("refund [quote] [pay]") // through a failure edge
	answer := r.must(r.to(id, flow.Succeed{Node: "refund", Output: put(9000), Next: true, Worker: "w"}))
	if got := seen(answer.Task); got != "[quote refund] [pay]" { // the output of its predecessor is complete
		t.Errorf("the next task sees %s", got)
	}
	s := r.state(id)
	pay, _ := s.Find("pay")
	if got, want := answer.Task.OutputRefs["pay"], (engine.OutputRef{Seq: pay.Output.Seq, Size: 4097}); got != want {
		t.Errorf("got %v, want %v", got, want)
	}
	for node, size := range map[string]int{"quote": 20, "pay": 4097, "refund": 9000} {
		if got, err := r.Engine.Output(t.Context(), tenant, id, node); err != nil || string(got) != string(put(size)) {
			t.Errorf("output of %s: %.80s, %v", node, got, err)
		}
	}
	_, err := r.Engine.Output(t.Context(), tenant, id, "book")
	r.kind(err, fault.NotFound, "OUTPUT_NOT_FOUND")
	_, err = r.Engine.Output(t.Context(), tenant, id, "nowhere")
	r.kind(err, fault.NotFound, "NODE_NOT_FOUND")
	_, err = r.Engine.Output(t.Context(), "zeta", id, "pay")
	r.kind(err, fault.NotFound, "EXECUTION_NOT_FOUND")
}

func TestTheOutputsThatATaskCarriesAreBounded(t *testing.T) {
	r := newRig(t)
	var nodes []string
	for i := range engine.MaxTaskNodes + 3 {
		nodes = append(nodes, fmt.Sprintf("n%04d", i))
	}
	r.graph("long", taskQueue(nodes...))
	id := r.started("long")
	task := r.claim(r.claiming("w", 1, 0))
	r.settle()
	at := &task.Tasks[0]
	for range len(nodes) - 1 {
		size := flow.MaxInline
		if at.Node < "n0500" {
			size = 20
		}
		at = r.must(r.to(id, flow.Succeed{Node: at.Node, Output: put(size), Next: true, Worker: "w"})).Task
	}
	// Its predecessor, 16 of 4 KiB that fill 64 KiB; all others within 1,000 nodes are refs, the small ones too.
	var outputs, refs []string
	for i := len(nodes) - 2; i >= 0 && len(outputs)+len(refs) <= engine.MaxTaskNodes; i-- {
		if len(outputs) < 1+engine.MaxTaskOutputs/flow.MaxInline {
			outputs = append(outputs, nodes[i])
		} else {
			refs = append(refs, nodes[i])
		}
	}
	slices.Sort(outputs)
	slices.Sort(refs)
	if got, want := seen(at), fmt.Sprint(outputs, refs); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if refs[0] != "n0001" {
		t.Errorf("the last of %d refs is %s", len(refs), refs[0])
	}
}
