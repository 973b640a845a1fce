import { expect, test } from "vitest";
import { fixtures, wideLog } from "./fixtures";
import type { Place, Step } from "./guide";
import { guide, stepOf } from "./guide";
import { layout } from "./layout";

function walk(branches: number, steps: Step[], from = "s"): string[] {
  const { graph } = wideLog(branches);
  const links = graph.edges;
  const g = guide(
    layout(
      graph.nodes.map((n) => ({ id: n.nodeId })),
      links,
    ),
    links,
  );
  let at: Place = { id: from, trail: [] };
  return steps.map((s) => (at = g.step(at, s)).id);
}

test("next leads through the middle branch to the end, and stays there", () => {
  expect(walk(3, ["next", "next", "next", "next", "next"])).toEqual(["f", "b1", "j", "ok", "ok"]);
});

test("previous leads back along the branch that one came by", () => {
  expect(walk(3, ["next", "next", "left", "next", "previous", "previous"])).toEqual([
    "f",
    "b1",
    "b0",
    "j",
    "b0",
    "f",
  ]);
  expect(walk(3, ["previous"], "j")).toEqual(["b1"]);
});

test("left and right go through the rank, and on to the rank before and after", () => {
  expect(walk(3, ["left", "left", "right", "right"], "b1")).toEqual(["b0", "f", "b0", "b1"]);
  expect(walk(3, ["right", "right", "right", "right"], "b1")).toEqual(["b2", "j", "ok", "ok"]);
  expect(walk(3, ["left"], "s")).toEqual(["s"]);
  expect(walk(3, ["last", "first"], "b1")).toEqual(["ok", "s"]);
});

test("every node of the golden scripts can be reached with next, left and right", () => {
  for (const { graph } of fixtures()) {
    const l = layout(
      graph.nodes.map((n) => ({ id: n.nodeId })),
      graph.edges,
    );
    const g = guide(l, graph.edges);
    const seen = new Set<string>();
    const todo = [g.start()!];
    for (let at = todo.pop(); at; at = todo.pop()) {
      if (seen.has(at.id)) continue;
      seen.add(at.id);
      for (const step of ["next", "previous", "left", "right", "last"] as const) todo.push(g.step(at, step));
    }
    expect(seen.size).toBe(graph.nodes.length);
  }
});

test("arrows follow the direction of the picture", () => {
  expect([stepOf("ArrowDown", "down"), stepOf("ArrowDown", "right")]).toEqual(["next", "right"]);
  expect([stepOf("ArrowLeft", "down"), stepOf("ArrowLeft", "right")]).toEqual(["left", "previous"]);
  expect([stepOf("a", "down"), stepOf("constructor", "down")]).toEqual([undefined, undefined]);
});

test("there is nowhere to go in a graph without nodes, or from a node that is not there", () => {
  const g = guide(layout([], []), []);
  expect(g.start()).toBeUndefined();
  const lost = { id: "nowhere", trail: [] };
  for (const s of ["next", "previous", "left", "right", "first", "last"] as const)
    expect(g.step(lost, s)).toBe(lost);
});
