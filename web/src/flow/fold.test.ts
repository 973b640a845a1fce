import { expect, test } from "vitest";
import { fixtures, fixturesOf, wideLog } from "./fixtures";
import { blocksOf, fold, foldId, pathTo } from "./fold";
import { layout } from "./layout";
import { Replay } from "./reduce";
import type { Graph, GraphEdge, GraphNode } from "./types";

/** A Fork of forks: s → f → (g0 → branches → h0), … → j → ok. */
function nested(outer: number, inner: number): Graph {
  const nodes: GraphNode[] = [
    { nodeId: "s", type: "Start" },
    { nodeId: "f", type: "Fork" },
  ];
  const edges: GraphEdge[] = [{ from: "s", to: "f" }];
  for (let i = 0; i < outer; i++) {
    nodes.push({ nodeId: `g${i}`, type: "Fork" }, { nodeId: `h${i}`, type: "Join" });
    edges.push({ from: "f", to: `g${i}` }, { from: `h${i}`, to: "j" });
    for (let k = 0; k < inner; k++) {
      nodes.push({ nodeId: `t${i}.${k}`, type: "Task" });
      edges.push({ from: `g${i}`, to: `t${i}.${k}` }, { from: `t${i}.${k}`, to: `h${i}` });
      edges.push({ from: `t${i}.${k}`, to: "bad", on: "failure" });
    }
  }
  nodes.push(
    { nodeId: "j", type: "Join" },
    { nodeId: "ok", type: "Success" },
    { nodeId: "bad", type: "Failed" },
  );
  edges.push({ from: "j", to: "ok" });
  return { nodes, edges };
}

test("every Fork of the golden scripts has its Join, and a branch for each head", () => {
  let forks = 0;
  for (const { graph } of fixtures()) {
    const blocks = blocksOf(graph);
    forks += blocks.length;
    expect(blocks.map((b) => b.fork).sort()).toEqual(
      graph.nodes
        .filter((n) => n.type === "Fork")
        .map((n) => n.nodeId)
        .sort(),
    );
    for (const b of blocks) {
      for (const branch of b.branches) {
        expect(branch.nodes).not.toContain(b.join);
        expect(branch.nodes[0]).toBe(branch.head);
      }
    }
  }
  expect(forks).toBeGreaterThan(10);
});

test("a fork of 2,000 is one box with counts, and what failed stays beside it", () => {
  const { graph, events } = wideLog(2_000);
  const state = new Replay(events).now;
  const f = fold(graph, state.nodes);
  const box = f.boxes[0]!;
  expect(box.counts).toEqual({
    branches: 2_000,
    failed: 200,
    waiting: 0,
    running: 200,
    ready: 0,
    canceled: 0,
    succeeded: 1_600,
    created: 0,
  });
  expect(box.heads.length).toBe(1_800);
  expect(f.nodes.length).toBe(4 + 1 + 200);
  expect(f.nodes.some((n) => n.id === "b3")).toBe(true);
  expect(f.hidden.get("b4")).toBe(foldId("f"));
  expect(f.edges).toContainEqual({ from: "f", to: "fold:f", on: "success", index: 1 });
  expect(f.edges).toContainEqual({ from: "fold:f", to: "j", on: "success", index: 2 });
  expect(layout(f.nodes, f.edges).nodes.length).toBe(205);
});

test("12 branches are shown, 13 are folded, and both can be chosen otherwise", () => {
  const few = wideLog(12).graph;
  const many = wideLog(13).graph;
  expect(fold(few).boxes).toEqual([]);
  expect(fold(few).nodes.map((n) => n.id)).toEqual(few.nodes.map((n) => n.nodeId));
  expect(fold(few).edges.length).toBe(few.edges.length);
  expect(fold(many).boxes.map((b) => [b.id, b.counts.created])).toEqual([["fold:f", 13]]);
  expect(fold(many, [], { unfolded: new Set(["f"]) }).boxes).toEqual([]);
  expect(fold(few, [], { folded: new Set(["f"]) }).boxes.length).toBe(1);
});

test("an inner fork folds by itself once the outer one is unfolded", () => {
  const g = nested(14, 20);
  const all = fold(g);
  expect(all.boxes.map((b) => b.id)).toEqual(["fold:f"]);
  expect(all.nodes.map((n) => n.id)).toEqual(["s", "f", "fold:f", "j", "ok", "bad"]);
  expect(all.edges.map((e) => [e.from, e.to, e.on])).toEqual([
    ["s", "f", "success"],
    ["f", "fold:f", "success"],
    ["fold:f", "j", "success"],
    ["fold:f", "bad", "failure"],
    ["j", "ok", "success"],
  ]);
  const outer = fold(g, [], { unfolded: new Set(["f"]) });
  expect(outer.boxes.length).toBe(14);
  expect(outer.boxes.every((b) => b.counts.branches === 20)).toBe(true);
  const one = fold(g, [], { unfolded: new Set(pathTo("t3.7", blocksOf(g))) });
  expect(pathTo("t3.7", blocksOf(g))).toEqual(["f", "g3"]);
  expect(one.nodes.some((n) => n.id === "t3.7")).toBe(true);
  expect(one.boxes.length).toBe(13);
});

test("a failure deep inside unfolds the branch that it stands in", () => {
  const g = nested(14, 20);
  const failed = {
    nodeId: "t5.1",
    type: "Task",
    status: "FAILED",
    attempt: 1,
    canceledByExecution: false,
  } as const;
  const f = fold(g, [failed]);
  expect(f.boxes.map((b) => [b.id, b.counts.failed, b.heads.length])).toEqual([
    ["fold:f", 1, 13],
    ["fold:g5", 1, 19],
  ]);
  expect(f.nodes.map((n) => n.id)).toEqual(expect.arrayContaining(["g5", "t5.1", "h5"]));
});

test("what matters most counts for a branch: a wait before a run, a retry as ready", () => {
  const f = fixturesOf("wide")[0]!;
  const counts = f.states.map((s) => fold(f.graph, s.nodes).boxes[0]!.counts);
  for (const c of counts) {
    expect(c.failed + c.waiting + c.running + c.ready + c.canceled + c.succeeded + c.created).toBe(21);
  }
  expect(counts.at(-1)).toMatchObject({ failed: 7, succeeded: 14 });
  const task = { type: "Task", attempt: 1, canceledByExecution: false } as const;
  const states = [
    { ...task, nodeId: "b0", status: "CREATED" as const, retryAt: "2026-04-01T09:00:00Z" },
    { ...task, nodeId: "b1", status: "WAITING" as const },
    { ...task, nodeId: "b2", status: "CANCELED" as const },
  ];
  expect(fold(wideLog(13).graph, states).boxes[0]!.counts).toMatchObject({
    ready: 1,
    waiting: 1,
    canceled: 1,
    created: 10,
  });
});

test("a draft that is not nested properly is drawn all the same", () => {
  const g: Graph = {
    nodes: [
      { nodeId: "f", type: "Fork" },
      { nodeId: "a", type: "Task" },
      { nodeId: "j", type: "Join" },
    ],
    edges: [
      { from: "f", to: "a" },
      { from: "f", to: "nowhere" },
    ],
  };
  expect(blocksOf(g)).toEqual([]);
  expect(fold(g).nodes.length).toBe(3);
  expect(fold({ nodes: [], edges: [] })).toEqual({ nodes: [], edges: [], boxes: [], hidden: new Map() });
});
