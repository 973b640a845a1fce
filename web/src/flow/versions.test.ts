import { expect, test } from "vitest";
import type { Graph } from "./types";
import { diffGraphs, diffLines } from "./versions";

const before: Graph = {
  nodes: [
    { nodeId: "start", type: "Start" },
    { nodeId: "pay", type: "Task", timeout: "5m" },
    { nodeId: "old", type: "Task" },
    { nodeId: "done", type: "Success" },
  ],
  edges: [
    { from: "start", to: "pay" },
    { from: "pay", to: "old" },
    { from: "old", to: "done" },
  ],
};

test("an edge with another condition has changed, and is in the union once", () => {
  const edge = { from: "pay", to: "old", when: "output.ok" };
  const d = diffGraphs(before, { ...before, edges: before.edges.map((e) => (e.to === "old" ? edge : e)) });
  expect(d.edges).toEqual([{ edge, tone: "changed", index: 1, was: { from: "pay", to: "old" } }]);
  expect(d.union.edges).toHaveLength(3);
});

test("nodes and edges are added, removed and changed, and the union has all of them", () => {
  const after: Graph = {
    nodes: [
      { nodeId: "start", type: "Start" },
      { nodeId: "pay", type: "Task", timeout: "9m" },
      { nodeId: "fresh", type: "Task" },
      { nodeId: "done", type: "Success" },
    ],
    edges: [
      { from: "start", to: "pay", on: "success" },
      { from: "pay", to: "fresh" },
      { from: "fresh", to: "done" },
    ],
  };
  const d = diffGraphs(before, after);
  expect([...d.tones]).toEqual([
    ["pay", "changed"],
    ["fresh", "added"],
    ["old", "removed"],
  ]);
  expect(d.union.nodes.map((n) => n.nodeId)).toEqual(["start", "pay", "fresh", "done", "old"]);
  expect(d.edges.map((e) => `${e.tone} ${e.edge.from} ${e.edge.to}`)).toEqual([
    "added pay fresh",
    "added fresh done",
    "removed pay old",
    "removed old done",
  ]);
  expect(d.union.edges).toHaveLength(5);
});

test("equal graphs have no difference", () => {
  const d = diffGraphs(before, structuredClone(before));
  expect(d.tones.size).toBe(0);
  expect(d.edges).toEqual([]);
});

test("lines that were inserted do not change those after them", () => {
  expect(diffLines("a\nb\nc\nd\n", "a\nx\nc\ny\nd\n")).toEqual([
    { kind: "same", text: "a", before: 1, after: 1 },
    { kind: "removed", text: "b", before: 2 },
    { kind: "added", text: "x", after: 2 },
    { kind: "same", text: "c", before: 3, after: 3 },
    { kind: "added", text: "y", after: 4 },
    { kind: "same", text: "d", before: 4, after: 5 },
  ]);
  expect(diffLines("", "a\n")).toEqual([{ kind: "added", text: "a", after: 1 }]);
});
