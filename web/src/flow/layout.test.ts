import { expect, test } from "vitest";
import { fixtures, wideLog } from "./fixtures";
import type { Box, Layout, Link } from "./layout";
import { layout, layoutSteps } from "./layout";
import type { Graph } from "./types";

const boxes = (g: Graph): Box[] => g.nodes.map((n) => ({ id: n.nodeId }));

/** Fails unless nodes of a rank keep apart and in order, edges lead to later ranks and all is inside the picture. */
function check(l: Layout, links: readonly Link[], down: boolean): void {
  for (const n of l.nodes) {
    expect(n.x - n.width / 2).toBeGreaterThanOrEqual(-0.02);
    expect(n.y - n.height / 2).toBeGreaterThanOrEqual(-0.02);
    expect(n.x + n.width / 2).toBeLessThanOrEqual(l.width + 0.02);
    expect(n.y + n.height / 2).toBeLessThanOrEqual(l.height + 0.02);
  }
  for (const rank of l.ranks) {
    for (let i = 1; i < rank.length; i++) {
      const a = l.byId.get(rank[i - 1]!)!;
      const b = l.byId.get(rank[i]!)!;
      const apart = down ? b.x - a.x - (a.width + b.width) / 2 : b.y - a.y - (a.height + b.height) / 2;
      expect(apart).toBeGreaterThan(20);
    }
  }
  for (const { from, to } of links) expect(l.byId.get(to)!.rank).toBeGreaterThan(l.byId.get(from)!.rank);
}

test("the graphs of all golden scripts are laid out, both ways", () => {
  for (const { graph } of fixtures()) {
    for (const direction of ["down", "right"] as const) {
      const l = layout(boxes(graph), graph.edges, { direction });
      expect(l.nodes.length).toBe(graph.nodes.length);
      expect(l.routes.length).toBe(graph.edges.length);
      check(l, graph.edges, direction === "down");
    }
  }
});

test("down and right are the same picture, turned", () => {
  const { graph } = wideLog(5);
  const size = { width: 40, height: 40 };
  const down = layout(boxes(graph), graph.edges, size);
  const right = layout(boxes(graph), graph.edges, { ...size, direction: "right" });
  expect(right.nodes.map((n) => [n.y, n.x])).toEqual(down.nodes.map((n) => [n.x, n.y]));
  expect([right.height, right.width]).toEqual([down.width, down.height]);
});

test("a layout is the same every time, also in slices", () => {
  const { graph } = wideLog(300);
  const whole = layout(boxes(graph), graph.edges);
  expect(layout(boxes(graph), graph.edges)).toEqual(whole);
  let clock = 0;
  const steps = layoutSteps(boxes(graph), graph.edges, { now: () => (clock += 5), slice: 8 });
  const parts: number[] = [];
  let step = steps.next();
  for (; step.done !== true; step = steps.next()) parts.push(step.value);
  expect(step.value).toEqual(whole);
  expect(parts.length).toBeGreaterThan(5);
  expect(parts).toEqual([...parts].sort((a, b) => a - b));
  expect(parts.every((p) => p > 0 && p < 1)).toBe(true);
});

test("edges begin and end at the border of their nodes, and their labels stand apart", () => {
  const { graph } = wideLog(4);
  const l = layout(boxes(graph), graph.edges);
  const labels = new Set<string>();
  for (const r of l.routes) {
    const from = l.byId.get(r.from)!;
    const to = l.byId.get(r.to)!;
    expect(r.points[0]).toEqual({ x: from.x, y: from.y + from.height / 2 });
    expect(r.points.at(-1)).toEqual({ x: to.x, y: to.y - to.height / 2 });
    expect(r.path).toMatch(/^M[\d.]+ [\d.]+([LC][\d. ]+)+$/);
    labels.add(`${r.label.x} ${r.label.y}`);
  }
  expect(labels.size).toBe(l.routes.length);
});

test("a fork stands above the middle of its branches, and its join below", () => {
  const { graph } = wideLog(7);
  const l = layout(boxes(graph), graph.edges);
  const x = ["b0", "b1", "b2", "b3", "b4", "b5", "b6"].map((id) => l.byId.get(id)!.x).sort((a, b) => a - b);
  for (const id of ["s", "f", "j", "ok"]) expect(l.byId.get(id)!.x).toBeCloseTo(x[3]!, 0);
});

test("crossings that can be avoided are", () => {
  // Three chains whose nodes are named in another order in each rank.
  const nodes = ["a1", "b1", "c1", "c2", "a2", "b2", "b3", "c3", "a3"].map((id) => ({ id }));
  const links = ["a", "b", "c"].flatMap((n) => [
    { from: n + "1", to: n + "2" },
    { from: n + "2", to: n + "3" },
  ]);
  const l = layout(nodes, links);
  for (const n of ["a", "b", "c"]) {
    expect(l.byId.get(n + "2")!.order).toBe(l.byId.get(n + "1")!.order);
    expect(l.byId.get(n + "3")!.order).toBe(l.byId.get(n + "1")!.order);
  }
});

test("far edges of one kind to one node share their way", () => {
  const nodes = ["a", "b", "c", "d", "end"].map((id) => ({ id }));
  const chain = [
    { from: "a", to: "b" },
    { from: "b", to: "c" },
    { from: "c", to: "d" },
    { from: "d", to: "end" },
  ];
  const far = ["a", "b", "c"].map((from) => ({ from, to: "end", on: "failure" }));
  const l = layout(nodes, [...chain, ...far]);
  expect(l.routes.map((r) => r.merged)).toEqual([false, false, false, false, false, true, true]);
  const whole = l.routes[4]!;
  for (const r of l.routes.slice(5)) expect(whole.points).toContainEqual(r.points.at(-1));
});

test("sizes of single nodes count", () => {
  const l = layout(
    [{ id: "a" }, { id: "b", width: 500, height: 100 }, { id: "c" }],
    [
      { from: "a", to: "b" },
      { from: "a", to: "c" },
    ],
  );
  expect(l.width).toBe(500 + 24 + 160);
  expect(l.height).toBe(44 + 56 + 100);
  check(l, [{ from: "a", to: "b" }], true);
});

test("odd graphs: none, alone, hidden and Japanese ids, missing ends, a loop, a cycle", () => {
  expect(layout([], [])).toMatchObject({ nodes: [], routes: [], width: 0, height: 0 });
  expect(layout([{ id: "a" }], [])).toMatchObject({ width: 160, height: 44 });
  const ids = ["approval:stages-2", "\u304c", "\u304b\u3099", "__proto__", "constructor"];
  const links = [
    ...ids.slice(1).map((to, i) => ({ from: ids[i]!, to })),
    { from: "constructor", to: "nowhere" },
    { from: "constructor", to: "constructor" },
  ];
  const l = layout(
    ids.map((id) => ({ id })),
    links,
  );
  expect(l.nodes.map((n) => [n.id, n.rank])).toEqual(ids.map((id, i) => [id, i]));
  expect(l.routes.length).toBe(4);
  const cycle = layout(
    ["a", "b", "c"].map((id) => ({ id })),
    [
      { from: "a", to: "b" },
      { from: "b", to: "c" },
      { from: "c", to: "b" },
    ],
  );
  expect(cycle.nodes.length).toBe(3);
  expect(cycle.routes.length).toBe(3);
});

const shapes: Record<string, (n: number) => [string[], Link[]]> = {
  chain: (n) => {
    const ids = names(n);
    return [ids, ids.slice(1).map((to, i) => ({ from: ids[i]!, to }))];
  },
  fork: (n) => {
    const g = wideLog(n - 4).graph;
    return [g.nodes.map((b) => b.nodeId), [...g.edges]];
  },
  mesh: (n) => {
    const ids = names(n);
    const links = ids.flatMap((to, i) => {
      const ways = [i - 20 - ((i * 7) % 11), i - 20 - ((i * 13) % 17)];
      return ways.filter((k) => k >= 0).map((k) => ({ from: ids[k]!, to }));
    });
    return [ids, links];
  },
  "chain with failure edges": (n) => {
    const ids = names(n);
    const links: Link[] = ids.slice(1).map((to, i) => ({ from: ids[i]!, to }));
    return [ids, [...links, ...ids.slice(0, -2).map((from) => ({ from, to: ids.at(-1)!, on: "failure" }))]];
  },
};

function names(n: number): string[] {
  return Array.from({ length: n }, (_, i) => `n${i}`);
}

test.each(Object.keys(shapes))("%s: 10,000 nodes are laid out in seconds, 1,000 faster", (name) => {
  const took = (n: number) => {
    const [ids, links] = shapes[name]!(n);
    const begin = performance.now();
    const l = layout(
      ids.map((id) => ({ id })),
      links,
    );
    const ms = performance.now() - begin;
    expect(l.nodes.length).toBe(n);
    if (process.env["FLOW_TIMES"]) console.log(name, n, Math.round(ms));
    return ms;
  };
  took(100);
  expect(took(1_000)).toBeLessThan(4_000); // the bar is 400 ms on an idle machine
  expect(took(10_000)).toBeLessThan(20_000); // and 2 s
});
