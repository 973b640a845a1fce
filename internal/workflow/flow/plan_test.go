package flow

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestCompileFillsDefaults(t *testing.T) {
	g, err := ParseGraph([]byte(outline("s:Start f:Fork a:Task w:Wait j:Join e:Success | s>f f>a f>w a>j w>j j>e")),
		true)
	if err != nil {
		t.Fatal(err)
	}
	p, err := g.Compile("orders", 7)
	if err != nil {
		t.Fatal(err)
	}
	if p.ID != "orders" || p.Version != 7 || !strings.HasPrefix(p.Digest, "sha256:") || len(p.Digest) != 71 {
		t.Errorf("got %s version %d digest %s", p.ID, p.Version, p.Digest)
	}
	retry := Retry{
		MaxAttempts:     1,
		InitialInterval: Duration(time.Second),
		Backoff:         2,
		MaxInterval:     Duration(time.Hour),
	}
	want := []NodeSpec{
		{NodeID: "s", Type: StartKind},
		{NodeID: "f", Type: ForkKind},
		{NodeID: "a", Type: TaskKind, Queue: "default", Retry: &retry},
		{NodeID: "w", Type: WaitKind},
		{NodeID: "j", Type: JoinKind, Policy: AllSuccess},
		{NodeID: "e", Type: SuccessKind},
	}
	if diff := cmp.Diff(want, p.Graph.Nodes); diff != "" {
		t.Errorf("nodes (-want +got):\n%s", diff)
	}
	for i := range want {
		if diff := cmp.Diff(&want[i], p.Spec(i)); diff != "" {
			t.Errorf("spec %d (-want +got):\n%s", i, diff)
		}
	}
	for _, e := range p.Graph.Edges {
		if e.On != OnSuccess {
			t.Errorf("edge from %s to %s is on %q", e.From, e.To, e.On)
		}
	}
	if g.Nodes[2].Queue != "" || g.Edges[0].On != "" {
		t.Error("the graph that was compiled has changed")
	}
}

// branchOf writes the frames of a node, outermost first.
func branchOf(p *Plan, i int) string {
	var all []string
	for f := p.nodes[i].frame; f != nil; f = f.parent {
		all = append([]string{p.nodes[f.fork].spec.NodeID + "/" + p.nodes[f.head].spec.NodeID}, all...)
	}
	return strings.Join(all, " ")
}

func TestEveryNodeKnowsItsBranch(t *testing.T) {
	data := exampleGraphs(t)["fork.yaml"]
	p, err := compileYAML(t, string(data))
	if err != nil {
		t.Fatal(err)
	}
	got := make(map[string]string)
	for i := range p.nodes {
		got[p.nodes[i].spec.NodeID] = branchOf(p, i)
	}
	want := map[string]string{
		"start": "", "split": "", "together": "", "order": "", "done": "", "refused": "",
		"ask": "split/ask", "answered": "split/ask", "best": "split/ask", "stock": "split/stock",
		"credit": "split/credit", "by-hand": "split/credit",
		"seller-a": "split/ask ask/seller-a", "seller-b": "split/ask ask/seller-b",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("branches (-want +got):\n%s", diff)
	}
	for fork, join := range map[string]string{"split": "together", "ask": "answered"} {
		f, _ := p.Node(fork)
		j, _ := p.Node(join)
		if p.nodes[f].peer != j || p.nodes[j].peer != f {
			t.Errorf("fork %s has peer %d, join %s has peer %d", fork, p.nodes[f].peer, join, p.nodes[j].peer)
		}
	}
	join, _ := p.Node("together")
	var preds []string
	for _, from := range p.Preds(join) {
		preds = append(preds, p.Spec(from).NodeID)
	}
	if diff := cmp.Diff([]string{"best", "stock", "credit", "by-hand"}, preds); diff != "" {
		t.Errorf("predecessors of the join (-want +got):\n%s", diff)
	}
	stock, _ := p.Node("stock")
	if n := len(p.nodes[stock].success); n != 2 || p.nodes[stock].success[0].when == nil ||
		p.nodes[stock].success[1].when != nil {
		t.Errorf("stock has %d success edges, want one with a condition and one without, in this order", n)
	}
	if p.nodes[join].gate == nil {
		t.Error("the CUSTOM join has no gate")
	}
}

func TestATerminalInsideABranchStandsInIt(t *testing.T) {
	p, err := compileYAML(t, outline("s:Start f:Fork a:Task b:Task j:Join e:Success x:Failed y:Canceled | s>f f>a "+
		"f>b f>y a>j a>!x b>j b>!y j>e"))
	if err != nil {
		t.Fatal(err)
	}
	for id, want := range map[string]string{"x": "f/a", "y": ""} {
		i, _ := p.Node(id)
		if got := branchOf(p, i); got != want {
			t.Errorf("%s stands in %q, want %q", id, got, want)
		}
	}
}

func TestForksNestSoFarAndNoFarther(t *testing.T) {
	nested := func(depth int) string {
		nodes, edges, last := "s:Start e:Success", "", "s"
		for i := range depth {
			nodes += fmt.Sprintf(" f%d:Fork j%d:Join", i, i)
			edges += fmt.Sprintf(" %s>f%d", last, i)
			last = fmt.Sprintf("f%d", i)
		}
		nodes, edges, last = nodes+" t:Task", edges+" "+last+">t", "t"
		for i := depth - 1; i >= 0; i-- {
			edges += fmt.Sprintf(" %s>j%d", last, i)
			last = fmt.Sprintf("j%d", i)
		}
		return outline(nodes + " | " + edges + " " + last + ">e")
	}
	if _, err := compileYAML(t, nested(MaxNesting)); err != nil {
		t.Error(err)
	}
	_, err := compileYAML(t, nested(MaxNesting+1))
	checkRefused(t, err, `fork "f100" stands in 100 other forks; at most 99 are allowed`, detailsOf("f100", ""))
}

func TestTheSizeOfAGraphIsBounded(t *testing.T) {
	g := Graph{Nodes: make([]NodeSpec, MaxNodes+1)}
	_, err := g.Compile("g", 1)
	checkRefused(t, err, "nodes: the graph has 10001 nodes; at most 10000 are allowed", detailsOf("", "nodes"))
	g = Graph{Nodes: make([]NodeSpec, 1), Edges: make([]Edge, MaxEdges+1)}
	_, err = g.Compile("g", 1)
	checkRefused(t, err, "edges: the graph has 40001 edges; at most 40000 are allowed", detailsOf("", "edges"))

	g = Graph{Nodes: []NodeSpec{{NodeID: "s", Type: StartKind}, {NodeID: "e", Type: SuccessKind}}}
	for i := range 100 {
		g.Edges = append(g.Edges, Edge{From: "s", To: "e", When: fmt.Sprintf("input.x == '%d%s'", i,
			strings.Repeat("x", 3000))})
	}
	_, err = g.Compile("g", 1)
	checkRefused(
		t,
		err,
		`edge from "s" to "e": when: the expressions of the graph have more than 262144 bytes together`,
		map[string]any{"nodeId": "s", "field": "edges[86].when"},
	)
}

// largeGraph is as large as a graph may be: forks of ten branches, one after another,
// with conditions on every branch.
func largeGraph() Graph {
	g := Graph{Nodes: []NodeSpec{{NodeID: "s", Type: StartKind}}}
	last := "s"
	for i := 0; len(g.Nodes)+13 <= MaxNodes; i++ {
		fork, join := fmt.Sprintf("f%d", i), fmt.Sprintf("j%d", i)
		g.Nodes = append(g.Nodes, NodeSpec{NodeID: fork, Type: ForkKind}, NodeSpec{NodeID: join, Type: JoinKind})
		g.Edges = append(g.Edges, Edge{From: last, To: fork})
		for b := range 10 {
			task := fmt.Sprintf("t%d-%d", i, b)
			g.Nodes = append(g.Nodes, NodeSpec{NodeID: task, Type: TaskKind})
			g.Edges = append(g.Edges, Edge{From: fork, To: task, When: fmt.Sprintf("input.branch >= %d", b)},
				Edge{From: task, To: join, When: "output.ok"}, Edge{From: task, To: join}, Edge{
					From: task, To: join,
					On: OnFailure,
				})
		}
		last = join
	}
	for len(g.Nodes) < MaxNodes-1 {
		task := fmt.Sprintf("t%d", len(g.Nodes))
		g.Nodes = append(g.Nodes, NodeSpec{NodeID: task, Type: TaskKind})
		g.Edges = append(g.Edges, Edge{From: last, To: task})
		last = task
	}
	g.Nodes = append(g.Nodes, NodeSpec{NodeID: "e", Type: SuccessKind})
	g.Edges = append(g.Edges, Edge{From: last, To: "e"})
	return g
}

func TestALargeGraphCompilesFast(t *testing.T) {
	body, digest, err := largeGraph().Canonical()
	if err != nil {
		t.Fatal(err)
	}
	begin := time.Now()
	g, err := ParseGraph(body, false)
	if err != nil {
		t.Fatal(err)
	}
	p, err := g.Compile("large", 1)
	if err != nil {
		t.Fatal(err)
	}
	took := time.Since(begin)
	if len(p.nodes) != MaxNodes || p.Digest != digest {
		t.Errorf("got %d nodes, digest %s, want %d, %s", len(p.nodes), p.Digest, MaxNodes, digest)
	}
	if took > 5*time.Second { // a tenth of a second; the machine may be busy and the race detector on
		t.Errorf("took %v", took)
	}
}

func BenchmarkCompileLarge(b *testing.B) {
	g := largeGraph()
	b.ReportAllocs()
	for b.Loop() {
		if _, err := g.Compile("large", 1); err != nil {
			b.Fatal(err)
		}
	}
}
