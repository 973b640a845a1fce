import { expect, test } from "vitest";
import { attemptsOf } from "./attempts";
import type { Bar, Timeline, TimelineOptions } from "./bars";
import { criticalPath, timeline } from "./bars";
import type { Fixture } from "./fixtures";
import { at, fixtures, fixturesOf, wideLog, zero } from "./fixtures";
import { Replay } from "./reduce";

/** The timeline of a log, with the numbers of the script's clock. */
function of(f: Pick<Fixture, "events" | "graph">, options: Partial<TimelineOptions> = {}): Timeline {
  return timeline(attemptsOf(f.events), new Replay(f.events).now, f.graph, {
    now: zero + 100_000,
    ...options,
  });
}

const brief = (b: Bar) => `${b.kind} ${b.from - zero}-${b.to - zero}${b.open ? "…" : ""} #${b.attempt}`;

/** A log with so many seconds between its events. */
function slowly(...events: [type: string, payload: object][]): Pick<Fixture, "events" | "graph"> {
  const graph = { nodes: [], edges: [] };
  return {
    graph,
    events: events.map(([type, payload], i) => ({ seq: i + 1, type, occurredAt: at(i * 1_000), payload })),
  };
}

test("every golden script gives bars that begin before they end and follow each other", () => {
  for (const f of fixtures()) {
    for (const row of of(f).rows) {
      expect(row.bars.length).toBeGreaterThan(0);
      row.bars.forEach((b, i) => {
        expect(b.to).toBeGreaterThanOrEqual(b.from);
        if (i > 0) expect(b.from).toBeGreaterThanOrEqual(row.bars[i - 1]!.to);
      });
    }
  }
});

test("attempts with their backoffs", () => {
  const rows = of(fixturesOf("retry")[0]!).rows;
  const kinds = rows[0]!.bars.map((b) => b.kind);
  expect(kinds.filter((k) => k === "backoff").length).toBe(rows[0]!.attempts - 1);
  const gap = rows[0]!.bars.find((b) => b.kind === "backoff")!;
  expect(gap.to - gap.from).toBe(2_000);
});

test("an attempt that waits: ready, at work, waiting, at work", () => {
  const log = slowly(
    ["EXECUTION_CREATED", { graphId: "g" }],
    ["NODE_READY", { nodeId: "a", attempt: 1 }],
    ["NODE_STARTED", { nodeId: "a", attempt: 1, workerId: "w1" }],
    ["NODE_WAITING", { nodeId: "a", waitKey: "k" }],
    ["NODE_RESUMED", { nodeId: "a" }],
    ["NODE_SUCCEEDED", { nodeId: "a" }],
  );
  expect(of(log).rows[0]!.bars.map(brief)).toEqual([
    "ready 1000-2000 #1",
    "attempt 2000-3000 #1",
    "wait 3000-4000 #1",
    "attempt 4000-5000 #1",
  ]);
  expect(
    of({ ...log, events: log.events.slice(0, 4) })
      .rows[0]!.bars.map(brief)
      .at(-1),
  ).toBe("wait 3000-100000… #1");
  expect(
    of({ ...log, events: log.events.slice(0, 3) })
      .rows[0]!.bars.map(brief)
      .at(-1),
  ).toBe("attempt 2000-100000… #1");
  expect(of({ ...log, events: log.events.slice(0, 2) }).rows[0]!.bars.map(brief)).toEqual([
    "ready 1000-100000… #1",
  ]);
});

test("a Wait has no start: it waits, and is done", () => {
  const log = slowly(
    ["EXECUTION_CREATED", { graphId: "g" }],
    ["NODE_READY", { nodeId: "w" }],
    ["NODE_WAITING", { nodeId: "w", waitKey: "k" }],
    ["NODE_WAITING", { nodeId: "w", waitKey: "k", reminder: 1 }],
    ["NODE_SUCCEEDED", { nodeId: "w" }],
  );
  const bars = of(log).rows[0]!.bars;
  expect(bars.map(brief)).toEqual(["ready 1000-2000 #1", "wait 2000-4000 #1"]);
  expect(bars[1]!.waitKey).toBe("k");
});

test("the fence and late results", () => {
  const f = fixtures().find((c) => c.attempts.length > 0 && new Replay(c.events).now.cancel)!;
  const state = new Replay(f.events).now;
  const { nodeId } = attemptsOf(f.events)[0]!;
  const late = {
    command: "SucceedNode",
    nodeId,
    attempt: 1,
    receivedAt: at(500_000),
    guard: "cancel_fence",
  };
  const t = timeline(attemptsOf(f.events), { ...state, lateResults: [late] }, f.graph, { now: zero });
  expect(t.fence).toEqual({ at: Date.parse(state.cancelRequestedAt!), seq: state.cancel!.seq });
  expect(t.rows[0]!.late).toEqual([{ at: zero + 500_000, guard: "cancel_fence", attempt: 1 }]);
  expect(t.to).toBe(zero + 500_000);
  expect(of(fixturesOf("sequential")[0]!).fence).toBeUndefined();
});

test("rows are grouped by node, branch or worker, and filtered", () => {
  const log = wideLog(30);
  expect(of(log).groups.length).toBe(30);
  const workers = of(log, { groupBy: "worker" }).groups;
  expect(workers.map((g) => g.name)).toEqual(["w0", "w1", "w2", "w3", "w4", "w5", "w6"]);
  expect(workers.flatMap((g) => g.rows).length).toBe(30);
  const branches = new Map(log.graph.nodes.map((n) => [n.nodeId, n.nodeId < "b2" ? "low" : "high"]));
  expect(of(log, { groupBy: "branch", branches }).groups.map((g) => g.name)).toEqual(["low", "high"]);
  expect(of(log, { onlyFailed: true }).rows.map((r) => r.nodeId)).toEqual(["b3", "b13", "b23"]);
  expect(of(log, { hideSucceeded: true }).rows.map((r) => r.nodeId)).toEqual([
    "b3",
    "b7",
    "b13",
    "b17",
    "b23",
    "b27",
  ]);
});

test("the critical path goes over what ended last before each node was ready", () => {
  const graph = {
    nodes: [],
    edges: ["s>f", "f>a", "f>b", "f>c", "a>j", "b>j", "c>j", "j>d", "d>ok"].map((e) => {
      const [from, to] = e.split(">") as [string, string];
      return { from, to };
    }),
  };
  const rows = [
    { nodeId: "a", from: 0, to: 10, outcome: "SUCCEEDED" },
    { nodeId: "c", from: 0, to: 50, outcome: "CANCELED" },
    { nodeId: "b", from: 0, to: 50, outcome: "SUCCEEDED" },
    { nodeId: "d", from: 50, to: 60, outcome: "SUCCEEDED" },
  ];
  expect(criticalPath(rows, graph)).toEqual(["b", "d"]);
  expect(criticalPath([], graph)).toEqual([]);
  const seq = fixturesOf("sequential")[0]!;
  const t = of(seq);
  expect(t.critical.length).toBeGreaterThan(1);
  expect(t.rows.filter((r) => r.critical).map((r) => r.nodeId)).toEqual(t.critical);
});

test("10,000 events are bars in far less than a second and a half", () => {
  const log = wideLog(2_600);
  const begin = performance.now();
  const t = of(log, { groupBy: "worker" });
  expect(performance.now() - begin).toBeLessThan(10_000);
  expect(t.rows.length).toBe(2_600);
});

test("nothing has happened yet", () => {
  const t = timeline(
    [],
    { createdAt: at(0), cancelRequestedAt: null },
    { nodes: [], edges: [] },
    { now: zero + 5 },
  );
  expect(t).toEqual({ groups: [], rows: [], from: zero, to: zero + 5, fence: undefined, critical: [] });
});
