package flow

import (
	"fmt"
	"strings"
	"testing"
)

func compileYAML(t *testing.T, text string) (*Plan, error) {
	t.Helper()
	g, err := ParseGraph([]byte(text), true)
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return g.Compile("g", 1)
}

// outline writes a graph from a short text: "s:Start a:Task e:Success | s>a a>e", with
// a>!e for a failure edge, a>~e for a timeout edge and a>?e for one with a condition.
func outline(text string) string {
	nodes, edges, _ := strings.Cut(text, "|")
	var b strings.Builder
	b.WriteString("nodes:\n")
	for _, n := range strings.Fields(nodes) {
		id, kind, _ := strings.Cut(n, ":")
		fmt.Fprintf(&b, "- {nodeId: %s, type: %s}\n", id, kind)
	}
	if strings.TrimSpace(edges) != "" {
		b.WriteString("edges:\n")
	}
	for _, e := range strings.Fields(edges) {
		from, to, _ := strings.Cut(e, ">")
		rest := ""
		if cut, ok := strings.CutPrefix(to, "!"); ok {
			to, rest = cut, ", on: failure"
		}
		if cut, ok := strings.CutPrefix(to, "~"); ok {
			to, rest = cut, ", on: timeout"
		}
		if cut, ok := strings.CutPrefix(to, "?"); ok {
			to, rest = cut, rest+", when: input.x"
		}
		fmt.Fprintf(&b, "- {from: %s, to: %s%s}\n", from, to, rest)
	}
	return b.String()
}

func TestAGraphThatCannotRunIsRefused(t *testing.T) {
	tests := []struct {
		name, graph, want, node, field string
	}{
		{"no nodes", "nodes: []\n", "nodes: the graph has no nodes", "", "nodes"},
		{
			"a cleanup without a graph", "nodes: [{nodeId: s, type: Start}]\nonCancel: {}\n",
			"onCancel.graph: must name the graph that cleans up, with 1 to 128 of A-Z a-z 0-9 . _ -",
			"", "onCancel.graph",
		},
		{"no members", "{}\n", "nodes: the graph has no nodes", "", "nodes"},
		{"node without name", "nodes: [{type: Start}]\n", "nodes[0].nodeId: is missing", "", "nodes[0].nodeId"},
		{
			"name with a blank", "nodes: [{nodeId: s, type: Start}, {nodeId: a b, type: Task}]\n",
			`nodes[1].nodeId: "a b" is not a name: use 1 to 128 of A-Z a-z 0-9 . _ -`, "", "nodes[1].nodeId",
		},
		{
			"name in Japanese", "nodes: [{nodeId: 開始, type: Start}]\n",
			`nodes[0].nodeId: "開始" is not a name: use 1 to 128 of A-Z a-z 0-9 . _ -`, "", "nodes[0].nodeId",
		},
		{"long name", "nodes: [{nodeId: " + strings.Repeat("x", 129) + ", type: Start}]\n", `nodes[0].nodeId: "` +
			strings.Repeat("x", 64) + `…" is not a name: use 1 to 128 of A-Z a-z 0-9 . _ -`, "", "nodes[0].nodeId"},
		{"node without type", "nodes: [{nodeId: a}]\n", `node "a" has no type`, "a", ""},
		{"node twice", outline("s:Start a:Task a:Wait"), `node "a" is there twice`, "a", ""},
		{"no Start", outline("a:Task e:Success | a>e"), "nodes: the graph has no Start node", "", "nodes"},
		{
			"two Starts", outline("s:Start s2:Start e:Success | s>e s2>e"),
			`node "s2" is a second Start; "s" is the first`, "s2", "",
		},
		{
			"no terminal", outline("s:Start a:Task | s>a"),
			`node "a" leads nowhere: the graph has no terminal node (Success, Failed or Canceled)`, "a", "",
		},
		{
			"no terminal, only a cycle", outline("s:Start a:Task b:Task | s>a a>b b>a"),
			`node "a" is part of a cycle: a → b → a`, "a", "",
		},

		{
			"edge without from", "nodes: [{nodeId: s, type: Start}, {nodeId: e, type: Success}]\nedges: [{to: e}]\n",
			"edges[0].from: is missing", "", "edges[0].from",
		},
		{
			"edge without to", "nodes: [{nodeId: s, type: Start}, {nodeId: e, type: Success}]\nedges: [{from: s}]\n",
			"edges[0].to: is missing", "", "edges[0].to",
		},
		{
			"edge from an unknown node",
			outline("s:Start e:Success | s>e x>e"), `edges[1].from: there is no node "x"`, "",
			"edges[1].from",
		},
		{
			"edge to an unknown node", outline("s:Start e:Success | s>x"), `edges[0].to: there is no node "x"`, "",
			"edges[0].to",
		},
		{
			"unknown outcome",
			"nodes: [{nodeId: s, type: Start}, {nodeId: e, type: Success}]\nedges: [{from: s, to: e, " +
				"on: done}]\n",
			`edges[0].on: "done" does not exist: use success, failure or timeout`,
			"",
			"edges[0].on",
		},
		{"edge to itself", outline("s:Start a:Task e:Success | s>a a>a"), `node "a" has an edge to itself`, "a", ""},
		{
			"edge out of Success", outline("s:Start e:Success f:Failed | s>e e>f"),
			`node "e" is a Success node: no edge may leave it`, "e", "",
		},
		{
			"edge out of Failed", outline("s:Start e:Success f:Failed | s>f f>e"),
			`node "f" is a Failed node: no edge may leave it`, "f", "",
		},
		{
			"edge into Start", outline("s:Start a:Task e:Success | s>a a>s"),
			`node "s" is the Start node: no edge may lead to it (from "a")`, "s", "",
		},
		{
			"failure edge of Start", outline("s:Start e:Success | s>!e"),
			`node "s" is a Start node: only a Task, a Wait or a Join has failure edges`, "s", "",
		},
		{
			"failure edge of Fork", outline("s:Start f:Fork a:Task j:Join e:Success x:Failed | s>f f>a f>!x a>j j>e"),
			`node "f" is a Fork node: only a Task, a Wait or a Join has failure edges`, "f", "",
		},
		{
			"two unconditional edges", outline("s:Start a:Task b:Task e:Success | s>a a>b a>e b>e"),
			`node "a" has two unconditional success edges, to "b" and "e"; only a Fork may`, "a", "",
		},
		{
			"two unconditional edges to one node", outline("s:Start a:Task e:Success | s>a a>e a>e"),
			`node "a" has two unconditional success edges, to "e" and "e"; only a Fork may`, "a", "",
		},
		{
			"timeout edge of a Wait without a timeout", outline("s:Start w:Wait e:Success x:Failed | s>w w>e w>~x"),
			`node "w" has a timeout edge: only a Wait with a timeout has them`, "w", "",
		},
		{
			"two unconditional failure edges",
			outline("s:Start a:Task e:Success x:Failed y:Canceled | s>a a>e a>!x a>!y"),
			`node "a" has two unconditional failure edges, to "x" and "y"; only a Fork may`, "a", "",
		},
		{
			"dead end", outline("s:Start a:Task e:Success | s>e s>?a"),
			`node "a" leads nowhere: it has no success edge and is no terminal node`, "a", "",
		},
		{
			"dead end with a failure edge", outline("s:Start a:Task e:Success | s>a a>!e"),
			`node "a" leads nowhere: it has no success edge and is no terminal node`, "a", "",
		},
		{
			"Start alone", outline("s:Start e:Success"),
			`node "s" leads nowhere: it has no success edge and is no terminal node`, "s", "",
		},

		{
			"cycle", outline("s:Start a:Task b:Task c:Task e:Success | s>a a>b b>c c>?a c>e"),
			`node "a" is part of a cycle: a → b → c → a`, "a", "",
		},
		{
			"cycle over a failure edge", outline("s:Start a:Task b:Task e:Success | s>a a>e a>!b b>a"),
			`node "a" is part of a cycle: a → b → a`, "a", "",
		},
		{
			"cycle that nothing leads to", outline("s:Start a:Task b:Task e:Success | s>e a>b b>a"),
			`node "a" is part of a cycle: a → b → a`, "a", "",
		},
		{
			"node behind a cycle", outline("s:Start z:Task a:Task b:Task e:Success | s>a a>b b>?a b>z z>e"),
			`node "b" is part of a cycle: b → a → b`, "b", "",
		},
		{
			"long cycle", outline("s:Start a:Task b:Task c:Task d:Task e:Task f:Task g:Task h:Task i:Task j:Task " +
				"k:Success | s>a a>b b>c c>d d>e e>f f>g g>h h>i i>j j>?a j>k"),
			`node "a" is part of a cycle: a → b → c → d → e → f → g → h → i → … → a`, "a", "",
		},
		{
			"unreachable node", outline("s:Start a:Task e:Success | s>e a>e"),
			`node "a" cannot be reached from the Start node`, "a", "",
		},
		{
			"unreachable terminal", outline("s:Start e:Success f:Failed | s>e"),
			`node "f" cannot be reached from the Start node`, "f", "",
		},

		{
			"fork without join", outline("s:Start f:Fork a:Task b:Task x:Failed | s>f f>a f>b a>x b>x"),
			`fork "f" has no Join`, "f", "",
		},
		{
			"fork to its join", outline("s:Start f:Fork a:Task j:Join e:Success | s>f f>a f>j a>j j>e"),
			`fork "f" leads straight to join "j"; a branch needs a node of its own`, "f", "",
		},
		{
			"two edges to one head", outline("s:Start f:Fork a:Task j:Join e:Success | s>f f>?a f>a a>j j>e"),
			`fork "f" has two edges to "a"; a branch is named by its first node`, "f", "",
		},
		{
			"join without fork", outline("s:Start a:Task j:Join e:Success | s>a a>j j>e"),
			`join "j" is reached from "a", which stands in no fork`, "j", "",
		},
		{
			"join from inside and outside", outline("s:Start f:Fork a:Task j:Join e:Success | s>f s>?j f>a a>j j>e"),
			`join "j" is reached from "s", which stands in no fork`, "j", "",
		},
		{
			"two joins of one fork",
			outline("s:Start f:Fork a:Task b:Task j:Join k:Join e:Success | s>f f>a f>b a>j b>k j>e k>e"),
			`fork "f" has two Joins, "j" and "k"`, "f", "",
		},
		{
			"one join of two forks",
			outline("s:Start t:Task f:Fork g:Fork a:Task b:Task j:Join e:Success | s>t t>?f t>g f>a g>b a>j b>j j>e"),
			`join "j" is reached from different forks: from "a" (branch a of fork f) and from "b" (branch b of fork g)`,
			"j", "",
		},
		{
			"join of the outer fork inside the inner",
			outline("s:Start f:Fork g:Fork a:Task b:Task j:Join e:Success | s>f f>g f>b g>a a>j b>j j>e"),
			`join "j" is reached from different forks: from "a" (branch a of fork g) and from "b" (branch b of fork f)`,
			"j", "",
		},
		{
			"branches that mix", outline(
				"s:Start f:Fork a:Task b:Task c:Task j:Join e:Success | s>f f>a f>b a>c b>c c>j j>e"),
			`node "c" is reached from different branches: ` +
				`from "a" (branch a of fork f) and from "b" (branch b of fork f)`,
			"c", "",
		},
		{
			"edge into a branch", outline("s:Start f:Fork a:Task b:Task j:Join e:Success | s>f s>?b f>a a>b b>j j>e"),
			`node "b" is reached from different branches: from "s" (in no fork) and from "a" (branch a of fork f)`, "b",
			"",
		},
		{
			"head with another way to it",
			outline("s:Start f:Fork a:Task b:Task j:Join e:Success | s>f f>a f>b a>?b a>j b>j j>e"),
			`node "b" is reached from different branches: ` +
				`from "f" (branch b of fork f) and from "a" (branch a of fork f)`,
			"b", "",
		},
		{
			"edge out of a branch",
			outline("s:Start f:Fork a:Task b:Task j:Join c:Task e:Success | s>f f>a f>b a>j b>j a>!c j>c c>e"),
			`node "c" is reached from different branches: from "a" (branch a of fork f) and from "j" (in no fork)`, "c",
			"",
		},
		{
			"Success in a fork",
			outline("s:Start f:Fork a:Task b:Task j:Join e:Success | s>f f>a f>b a>j a>!e b>j j>e"),
			`node "e" is reached from different branches: from "a" (branch a of fork f) and from "j" (in no fork)`, "e",
			"",
		},
		{
			"Success only in a fork",
			outline("s:Start f:Fork a:Task b:Task j:Join e:Success x:Failed | s>f f>a f>b a>?e a>j b>j j>x"),
			`node "e" is a Success node inside fork "f"; the fork must be joined first`, "e", "",
		},

		{
			"queue of a Wait", "nodes: [{nodeId: w, type: Wait, queue: q}]\n",
			`node "w": queue: belongs to a Task, not to a Wait`, "w", "queue",
		},
		{
			"retry of a Fork", "nodes: [{nodeId: f, type: Fork, retry: {}}]\n",
			`node "f": retry: belongs to a Task, not to a Fork`, "f", "retry",
		},
		{
			"timeout of a Join", "nodes: [{nodeId: j, type: Join, timeout: 1s}]\n",
			`node "j": timeout: belongs to a Task or a Wait, not to a Join`, "j", "timeout",
		},
		{
			"wait key of a Task", "nodes: [{nodeId: a, type: Task, waitKey: k}]\n",
			`node "a": waitKey: belongs to a Wait, not to a Task`, "a", "waitKey",
		},
		{
			"policy of a Success", "nodes: [{nodeId: e, type: Success, policy: ALL_DONE}]\n",
			`node "e": policy: belongs to a Join, not to a Success`, "e", "policy",
		},
		{
			"expression of a Task", "nodes: [{nodeId: a, type: Task, expression: 'true'}]\n",
			`node "a": expression: belongs to a Join, not to a Task`, "a", "expression",
		},
		{
			"queue that is no name", "nodes: [{nodeId: a, type: Task, queue: a/b}]\n",
			`node "a": queue: "a/b" is not a name: use 1 to 128 of A-Z a-z 0-9 . _ -`, "a", "queue",
		},
		{
			"long wait key", "nodes: [{nodeId: w, type: Wait, waitKey: " + strings.Repeat("鍵", 256) + "}]\n",
			`node "w": waitKey: must be 1 to 255 characters`, "w", "waitKey",
		},
		{
			"long timeout", "nodes: [{nodeId: a, type: Task, timeout: 8760h1s}]\n",
			`node "a": timeout: must be at most 8760h`, "a", "timeout",
		},
		{
			"negative interval", "nodes: [{nodeId: a, type: Task, retry: {initialInterval: -1s}}]\n",
			`node "a": retry.initialInterval: must be 0s to 8760h`, "a", "retry.initialInterval",
		},
		{
			"long interval", "nodes: [{nodeId: a, type: Task, retry: {maxInterval: 9000h}}]\n",
			`node "a": retry.maxInterval: must be 0s to 8760h`, "a", "retry.maxInterval",
		},
		{
			"unknown policy", "nodes: [{nodeId: j, type: Join, policy: SOME}]\n",
			`node "j": policy: "SOME" does not exist: use ALL_SUCCESS, ANY_SUCCESS, ALL_DONE or CUSTOM`, "j", "policy",
		},
		{
			"CUSTOM without expression", "nodes: [{nodeId: j, type: Join, policy: CUSTOM}]\n",
			`node "j": expression: is missing: the policy CUSTOM needs one`, "j", "expression",
		},
		{
			"expression without CUSTOM", "nodes: [{nodeId: j, type: Join, expression: 'true'}]\n",
			`node "j": expression: is only for the policy CUSTOM`, "j", "expression",
		},
		{
			"outcome of a Task", "nodes: [{nodeId: a, type: Task, outcome: paid}]\n",
			`node "a": outcome: belongs to a Success, not to a Task`, "a", "outcome",
		},
		{
			"outcome that is no name", "nodes: [{nodeId: a, type: Success, outcome: not paid}]\n",
			`node "a": outcome: "not paid" is not a name: use 1 to 64 of A-Z a-z 0-9 . _ -`, "a", "outcome",
		},
		{
			"long outcome", "nodes: [{nodeId: a, type: Success, outcome: " + strings.Repeat("x", 65) + "}]\n",
			`node "a": outcome: "` + strings.Repeat("x", 64) + `…" is not a name: use 1 to 64 of A-Z a-z 0-9 . _ -`,
			"a", "outcome",
		},
		{
			"input of a Wait", "nodes: [{nodeId: a, type: Wait, input: {x: '1'}}]\n",
			`node "a": input: belongs to a Task, not to a Wait`, "a", "input",
		},
		{
			"input from no node",
			"nodes: [{nodeId: s, type: Start}, {nodeId: a, type: Task, input: {x: outputs.b.y}}, " +
				"{nodeId: e, type: Success}]\nedges: [{from: s, to: a}, {from: a, to: e}]\n",
			`node "a": input.x: there is no node "b"`, "a", "input.x",
		},
		{
			"input from a node that comes later",
			"nodes: [{nodeId: s, type: Start}, {nodeId: a, type: Task, input: {x: 'outputs[\"b\"]'}}, " +
				"{nodeId: b, type: Task}, {nodeId: e, type: Success}]\n" +
				"edges: [{from: s, to: a}, {from: a, to: b}, {from: b, to: e}]\n",
			`node "a": input.x: node "b" does not come before this one`, "a", "input.x",
		},
		{
			"code twice", "nodes: [{nodeId: a, type: Task, retry: {except: [E, F, E]}}]\n",
			`node "a": retry.except[2]: "E" is there twice`, "a", "retry.except[2]",
		},
		{
			"long code", "nodes: [{nodeId: a, type: Task, retry: {except: [" + strings.Repeat("x", 129) + "]}}]\n",
			`node "a": retry.except[0]: must be a code of 1 to 128 characters`, "a", "retry.except[0]",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := compileYAML(t, tt.graph)
			checkRefused(t, err, tt.want, detailsOf(tt.node, tt.field))
		})
	}
}

func TestAnExpressionThatDoesNotCompileNamesItsPlace(t *testing.T) {
	_, err := compileYAML(t, "nodes: [{nodeId: s, type: Start}, {nodeId: e, type: Success}]\nedges: [{from: s, to: "+
		"e, when: \"input.名 == 1\"}]\n")
	checkRefused(
		t,
		err,
		`edge from "s" to "e": when: line 1, column 7: Syntax error: token recognition error at: '名'`,
		map[string]any{"nodeId": "s", "field": "edges[0].when", "line": 1, "column": 7},
	)
	_, err = compileYAML(t, "nodes: [{nodeId: j, type: Join, policy: CUSTOM, expression: size(completed)}]\n")
	checkRefused(t, err, `node "j": expression: the expression gives int, not true or false`,
		map[string]any{"nodeId": "j", "field": "expression"})
}

func TestAGraphBuiltInCodeIsCheckedToo(t *testing.T) {
	base := func(n NodeSpec) Graph {
		return Graph{
			Nodes: []NodeSpec{{NodeID: "s", Type: StartKind}, n, {NodeID: "e", Type: SuccessKind}},
			Edges: []Edge{{From: "s", To: n.NodeID}, {From: n.NodeID, To: "e"}},
		}
	}
	nan := 0.0
	nan /= nan
	tests := []struct {
		name        string
		node        NodeSpec
		want, field string
	}{
		{"type", NodeSpec{NodeID: "a", Type: 99}, `node "a" has no type`, ""},
		{
			"timeout",
			NodeSpec{NodeID: "a", Type: TaskKind, Timeout: -1},
			`node "a": timeout: must be more than 0s`,
			"timeout",
		},
		{
			"attempts",
			NodeSpec{NodeID: "a", Type: TaskKind, Retry: &Retry{MaxAttempts: 101}},
			`node "a": retry.maxAttempts: must be 1 to 100`, "retry.maxAttempts",
		},
		{
			"negative attempts",
			NodeSpec{NodeID: "a", Type: TaskKind, Retry: &Retry{MaxAttempts: -1}},
			`node "a": retry.maxAttempts: must be 1 to 100`, "retry.maxAttempts",
		},
		{
			"backoff",
			NodeSpec{NodeID: "a", Type: TaskKind, Retry: &Retry{Backoff: 100.5}},
			`node "a": retry.backoff: must be 1 to 100`, "retry.backoff",
		},
		{
			"backoff that is no number",
			NodeSpec{NodeID: "a", Type: TaskKind, Retry: &Retry{Backoff: nan}},
			`node "a": retry.backoff: must be 1 to 100`, "retry.backoff",
		},
		{
			"timer", NodeSpec{NodeID: "a", Type: WaitKind, For: -1}, `node "a": for: must be more than 0s`, "for",
		},
		{
			"timer with a timeout",
			NodeSpec{NodeID: "a", Type: WaitKind, For: 1, Timeout: 1},
			`node "a": for: excludes timeout: a Wait either succeeds or fails when nobody resumes it`, "for",
		},
		{
			"timer of a Task",
			NodeSpec{NodeID: "a", Type: TaskKind, For: 1},
			`node "a": for: belongs to a Wait, not to a Task`, "for",
		},
		{
			"message of a Task",
			NodeSpec{NodeID: "a", Type: TaskKind, Message: &Message{Name: "paid"}},
			`node "a": message: belongs to a Wait or a Start, not to a Task`, "message",
		},
		{
			"message without a name",
			NodeSpec{NodeID: "a", Type: WaitKind, Message: &Message{Key: "input.id"}},
			`node "a": message.name: must be the name of a message: 1 to 128 of A-Z a-z 0-9 . _ -`, "message.name",
		},
		{
			"key of a message looks ahead",
			NodeSpec{NodeID: "a", Type: WaitKind, Message: &Message{Name: "paid", Key: "outputs.e.id"}},
			`node "a": message.key: node "e" does not come before this one`, "message.key",
		},
		{
			"reminders of a Task",
			NodeSpec{NodeID: "a", Type: TaskKind, Remind: &Remind{After: 1}},
			`node "a": remind: belongs to a Wait, not to a Task`, "remind",
		},
		{
			"reminders of a timer",
			NodeSpec{NodeID: "a", Type: WaitKind, For: 2, Remind: &Remind{After: 1}},
			`node "a": remind: excludes for: a timer waits for nobody`, "remind",
		},
		{
			"reminders from the beginning",
			NodeSpec{NodeID: "a", Type: WaitKind, Remind: &Remind{Max: 2}},
			`node "a": remind.after: must be more than 0s and at most 8760h`, "remind.after",
		},
		{
			"reminders without a pause",
			NodeSpec{NodeID: "a", Type: WaitKind, Remind: &Remind{After: 1, Every: -1}},
			`node "a": remind.every: must be more than 0s and at most 8760h`, "remind.every",
		},
		{
			"too many reminders",
			NodeSpec{NodeID: "a", Type: WaitKind, Remind: &Remind{After: 1, Max: 101}},
			`node "a": remind.max: must be 1 to 100`, "remind.max",
		},
		{
			"wait key",
			NodeSpec{NodeID: "a", Type: WaitKind, WaitKey: "\xff"},
			`node "a": waitKey: must be 1 to 255 characters`, "waitKey",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := base(tt.node).Compile("g", 1)
			checkRefused(t, err, tt.want, detailsOf("a", tt.field))
		})
	}
}
