import { expect, test } from "vitest";
import { compareGraphs, compareRuns, takenEdges } from "./compare";
import type { Fixture } from "./fixtures";
import { at, fixtures } from "./fixtures";
import type { Graph, NodeState } from "./types";

const run = (f: Fixture) => ({ state: f.states.at(-1)!, graph: f.graph, attempts: f.attempts });

test("an execution beside itself is the same everywhere", () => {
  for (const f of fixtures()) {
    const c = compareRuns(run(f), run(f));
    expect(c.nodes.map((n) => n.nodeId)).toEqual(run(f).state.nodes.map((n) => n.nodeId));
    expect(c.nodes.every((n) => n.same)).toBe(true);
    expect([c.partings, c.input, c.result]).toEqual([[], [], []]);
  }
});

test("every node that a golden script reached has an edge that was taken to it, and none else", () => {
  for (const f of fixtures()) {
    const { nodes } = run(f).state;
    const taken = takenEdges(f.graph, nodes);
    const into = new Set([...taken].map((i) => f.graph.edges[i]!.to));
    for (const n of nodes) {
      if (n.type === "Start" || n.type === "Join" || !["SUCCEEDED", "FAILED"].includes(n.status)) continue;
      const from = f.graph.edges.filter((e) => e.to === n.nodeId).map((e) => e.from);
      // What a cancelled node led to was not reached over a success or failure edge.
      const canceled = nodes.some((o) => from.includes(o.nodeId) && o.status === "CANCELED");
      if (!canceled) expect(into).toContain(n.nodeId);
    }
    for (const id of into) {
      const to = nodes.find((n) => n.nodeId === id)!;
      expect(to.status !== "CREATED" || to.retryAt !== undefined || to.gate !== undefined).toBe(true);
    }
  }
});

const graph: Graph = {
  nodes: [
    { nodeId: "s", type: "Start" },
    { nodeId: "review", type: "Task" },
    { nodeId: "pay", type: "Task" },
    { nodeId: "reject", type: "Task" },
    { nodeId: "ok", type: "Success" },
  ],
  edges: [
    { from: "s", to: "review" },
    { from: "review", to: "pay", when: "output.ok" },
    { from: "review", to: "reject" },
    { from: "pay", to: "ok" },
    { from: "reject", to: "ok" },
  ],
};

const node = (nodeId: string, status: NodeState["status"], attempt = 1): NodeState => ({
  nodeId,
  type: graph.nodes.find((n) => n.nodeId === nodeId)?.type ?? "Task",
  status,
  attempt,
  canceledByExecution: false,
});

test("two executions part at a node, by an edge that held in one of them", () => {
  const side = (taken: string, other: string, took: number, attempts: number) => ({
    state: {
      status: "COMPLETED" as const,
      startedAt: at(0),
      endedAt: at(took),
      input: { total: took },
      nodes: [
        node("s", "SUCCEEDED", 0),
        node("review", "SUCCEEDED", attempts),
        node(taken, "SUCCEEDED"),
        node(other, "CREATED", 0),
        node("ok", "SUCCEEDED", 0),
      ],
    },
    graph,
    attempts: [{ nodeId: "review", attempts: [{ attempt: 1, readyAt: at(0), endedAt: at(took) }] }],
  });
  const c = compareRuns(side("pay", "reject", 500, 1), side("reject", "pay", 2_000, 3));
  expect(c.partings.map((p) => [p.node, p.a[0]?.when, p.b[0]?.to])).toEqual([
    ["review", "output.ok", "reject"],
  ]);
  expect(c.nodes.find((n) => n.nodeId === "review")).toEqual({
    nodeId: "review",
    a: { status: "SUCCEEDED", attempts: 1, took: 500, errorCode: undefined },
    b: { status: "SUCCEEDED", attempts: 3, took: 2_000, errorCode: undefined },
    same: false,
    slower: 1_500,
  });
  expect(c.nodes.filter((n) => !n.same).map((n) => n.nodeId)).toEqual(["review", "pay", "reject"]);
  expect(c.input).toEqual([{ kind: "changed", path: ["total"], before: 500, after: 2_000 }]);
  expect(c.took).toEqual({ a: 500, b: 2_000 });
});

test("nodes that one execution has alone stand alone", () => {
  const state = { status: "ACTIVE" as const, nodes: [node("s", "SUCCEEDED")] };
  const other = {
    status: "ACTIVE" as const,
    nodes: [node("s", "SUCCEEDED"), node("approval:stages-2", "READY")],
  };
  const c = compareRuns({ state, graph }, { state: other, graph });
  expect(c.nodes.map((n) => [n.nodeId, n.a?.status, n.b?.status, n.same])).toEqual([
    ["s", "SUCCEEDED", "SUCCEEDED", true],
    ["approval:stages-2", undefined, "READY", false],
  ]);
  expect(c.took).toEqual({ a: undefined, b: undefined });
  const empty = { state: { status: "ACTIVE" as const, nodes: [] }, graph: { nodes: [], edges: [] } };
  expect(compareRuns(empty, empty)).toMatchObject({ nodes: [], partings: [] });
});

test("two versions of a graph: added, removed and changed nodes and edges", () => {
  const next: Graph = {
    nodes: [
      { nodeId: "s", type: "Start" },
      { nodeId: "review", type: "Task", queue: "people" },
      { nodeId: "pay", type: "Task" },
      { nodeId: "ok", type: "Success" },
      { nodeId: "no", type: "Failed" },
    ],
    edges: [
      { from: "s", to: "review", on: "success" },
      { from: "review", to: "pay", when: "output.ok && input.total < 10" },
      { from: "pay", to: "ok" },
      { from: "pay", to: "no", on: "failure" },
    ],
  };
  const d = compareGraphs(graph, next);
  expect(d.nodes.added.map((n) => n.nodeId)).toEqual(["no"]);
  expect(d.nodes.removed.map((n) => n.nodeId)).toEqual(["reject"]);
  expect(d.nodes.changed).toEqual([
    { nodeId: "review", changes: [{ kind: "added", path: ["queue"], after: "people" }] },
  ]);
  expect(d.edges.added).toEqual([{ from: "pay", to: "no", on: "failure" }]);
  expect(d.edges.removed.map((e) => [e.from, e.to])).toEqual([
    ["review", "reject"],
    ["reject", "ok"],
  ]);
  expect(d.edges.changed.map((c) => [c.before.when, c.after.when])).toEqual([
    ["output.ok", "output.ok && input.total < 10"],
  ]);
  expect(d.reordered).toBe(false);
});

test("the order of edges counts: the first that holds is taken", () => {
  const edges = [...graph.edges].reverse();
  expect(compareGraphs(graph, { ...graph, edges })).toEqual({
    nodes: { added: [], removed: [], changed: [] },
    edges: { added: [], removed: [], changed: [] },
    reordered: true,
  });
  expect(compareGraphs(graph, graph).reordered).toBe(false);
});
