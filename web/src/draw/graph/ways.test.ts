import { expect, test } from "vitest";
import type { Graph, NodeState } from "../../flow/types";
import { waysOf } from "./ways";

const graph: Graph = {
  nodes: [
    { nodeId: "check", type: "Task" },
    { nodeId: "ask", type: "Wait" },
    { nodeId: "pay", type: "Task" },
    { nodeId: "late", type: "Task" },
    { nodeId: "broken", type: "Failed" },
  ],
  edges: [
    { from: "check", to: "ask", when: "output.risk > 1" },
    { from: "check", to: "pay", when: "output.ok" },
    { from: "check", to: "late" },
    { from: "check", to: "broken", on: "failure" },
  ],
};

function node(nodeId: string, status: NodeState["status"], more: Partial<NodeState> = {}): NodeState {
  return { nodeId, type: "Task", status, canceledByExecution: false, attempt: 0, ...more };
}

test("the first edge whose target was reached is taken; those before were false, those after not asked", () => {
  const states = [node("check", "SUCCEEDED", { attempt: 1 }), node("ask", "CREATED"), node("pay", "READY")];
  expect(waysOf(graph, states)).toEqual(["false", "taken", "skipped", "other"]);
});

test("edges of a node that has not ended are open", () => {
  expect(waysOf(graph, [node("check", "RUNNING", { attempt: 1 })])).toEqual(["open", "open", "open", "open"]);
});

test("a failure takes the failure edge, and leaves the others to another end", () => {
  const states = [node("check", "FAILED", { attempt: 1 }), node("broken", "SUCCEEDED")];
  expect(waysOf(graph, states)).toEqual(["other", "other", "other", "taken"]);
});

test("when no condition held, all of them were false", () => {
  const only = { nodes: graph.nodes, edges: graph.edges.slice(0, 2) };
  const states = [node("check", "FAILED", { attempt: 1, error: { code: "NO_EDGE" } })];
  expect(waysOf(only, states)).toEqual(["false", "false"]);
});

test("of a Fork every edge to an opened branch is taken", () => {
  const fork: Graph = {
    nodes: [],
    edges: [
      { from: "fan", to: "a" },
      { from: "fan", to: "b", when: "input.big" },
    ],
  };
  const states = [node("fan", "SUCCEEDED", { type: "Fork", branchIds: ["a"] })];
  expect(waysOf(fork, states)).toEqual(["taken", "false"]);
});
