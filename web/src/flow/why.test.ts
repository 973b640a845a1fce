import { expect, test } from "vitest";
import { at, fixtures, fixturesOf, wideLog, zero } from "./fixtures";
import { Replay } from "./reduce";
import type { ExecutionState, Graph, NodeState } from "./types";
import { nodeLive } from "./types";
import type { Why, WhyInput } from "./why";
import { whyNotMoving } from "./why";

const graph: Graph = {
  nodes: [
    { nodeId: "t", type: "Task", queue: "mail", retry: { maxAttempts: 3 } },
    { nodeId: "w", type: "Wait", waitKey: "approval-123" },
    { nodeId: "timer", type: "Wait", for: "1h" },
    { nodeId: "j", type: "Join", policy: "CUSTOM" },
  ],
  edges: [],
};

const base = { type: "Task", status: "READY", attempt: 0, canceledByExecution: false } as const;

/** The reasons for an execution with these nodes, a minute and a half after its start. */
function why(nodes: NodeState[], more: Partial<WhyInput> = {}, of: Partial<ExecutionState> = {}): Why[] {
  const state: ExecutionState = {
    executionId: "e",
    status: "ACTIVE",
    cancelRequestedAt: null,
    graphId: "g",
    graphVersion: 1,
    createdAt: at(0),
    startedAt: at(0),
    seq: 9,
    nodes,
    ...of,
  };
  return whyNotMoving({ state, graph, now: zero + 90_000, ...more });
}

test("not started", () => {
  expect(why([], {}, { startedAt: undefined })).toEqual([{ kind: "not_started", since: 90_000 }]);
});

test("ended, and held by a cancel that was requested", () => {
  expect(why([], {}, { status: "FAILED", endedAt: at(5) })).toEqual([
    { kind: "ended", status: "FAILED", at: at(5) },
  ]);
  const cancel = { seq: 7, reason: "twice", requestedBy: { kind: "user", id: "ann" } };
  expect(why([{ ...base, nodeId: "t" }], {}, { cancelRequestedAt: at(60_000), cancel })).toEqual([
    { kind: "canceling", seq: 7, reason: "twice", by: "ann", since: 30_000 },
  ]);
});

test("READY: with what is in its queue, and after a minute as unclaimed", () => {
  const queues = [{ queue: "mail", ready: 12, more: false, oldestReadyAt: at(-100_000) }];
  const ready = (readyAt: string) => ({
    queues,
    attempts: [{ nodeId: "t", attempts: [{ attempt: 1, readyAt }] }],
  });
  const t = { ...base, nodeId: "t", nextAttempt: 1 };
  const ahead = { ready: 12, more: false, oldest: 190_000 };
  expect(why([t], ready(at(80_000)))).toEqual([
    { kind: "ready", nodeId: "t", queue: "mail", attempt: 1, since: 10_000, ahead },
  ]);
  expect(why([t], ready(at(0)))).toEqual([
    { kind: "unclaimed", nodeId: "t", queue: "mail", attempt: 1, since: 90_000, ahead },
  ]);
  expect(why([t], { graph: undefined })).toMatchObject([
    { kind: "ready", queue: undefined, since: undefined },
  ]);
});

test("retry 2 of 3 in 14 s", () => {
  const error = { code: "E1", message: "no" };
  expect(why([{ ...base, nodeId: "t", status: "CREATED", attempt: 1, retryAt: at(104_000), error }])).toEqual(
    [
      {
        kind: "retry",
        nodeId: "t",
        attempt: 2,
        maxAttempts: 3,
        in: 14_000,
        errorCode: "E1",
        errorMessage: "no",
      },
    ],
  );
});

test("RUNNING: whose lease runs out when", () => {
  const node: NodeState = {
    ...base,
    nodeId: "t",
    status: "RUNNING",
    attempt: 1,
    workerId: "w1",
    progress: 40,
  };
  expect(why([{ ...node, leaseUntil: at(130_000), timeoutAt: at(80_000) }])).toMatchObject([
    { kind: "running", attempt: 1, workerId: "w1", progress: 40, leaseLeft: 40_000, timeoutLeft: -10_000 },
  ]);
});

test("WAITING: for whom and since when, for a message, for its time", () => {
  const node: NodeState = { ...base, type: "Wait", nodeId: "w", status: "WAITING" };
  const attempts = [{ nodeId: "w", attempts: [{ attempt: 1, waits: [{ since: at(30_000) }] }] }];
  const assignees = { users: ["anna"] };
  const asked = { waitKey: "approval-123", assignees, reminders: 1, nextReminderAt: at(95_000) };
  expect(why([{ ...node, ...asked, waitUntil: at(190_000) }], { attempts })).toEqual([
    {
      kind: "wait",
      nodeId: "w",
      waitKey: "approval-123",
      since: 60_000,
      endsIn: 100_000,
      assignees,
      reminders: 1,
      remindsIn: 5_000,
    },
  ]);
  expect(why([{ ...node, awaits: { name: "paid", key: "o-1" } }])).toMatchObject([
    { kind: "message", awaits: { name: "paid", key: "o-1" } },
  ]);
  expect(why([{ ...node, nodeId: "timer", waitUntil: at(90_001) }])).toMatchObject([
    { kind: "timer", endsIn: 1 },
  ]);
});

test("a join says how many it needs and which are missing", () => {
  const gate = {
    expectedBranches: ["a", "b", "c", "d", "e"],
    completedBranches: ["a", "c"],
    failedBranches: ["e"],
    canceledBranches: [],
    isPassable: false,
    passed: false,
  };
  const node: NodeState = { ...base, type: "Join", nodeId: "j", status: "CREATED", gate };
  const counts = { expected: 5, completed: 2, failed: 1, canceled: 0, missing: ["b", "d"] };
  expect(why([node])).toEqual([{ kind: "join", nodeId: "j", policy: "CUSTOM", needs: undefined, ...counts }]);
  const needs = (policy: string) =>
    why([node], { graph: { nodes: [{ nodeId: "j", type: "Join", policy }], edges: [] } });
  expect(needs("ALL_DONE")).toMatchObject([{ needs: 2 }]);
  expect(needs("ANY_SUCCESS")).toMatchObject([{ needs: 1 }]);
  expect(why([{ ...node, gate: { ...gate, passed: true } }])).toEqual([{ kind: "resting" }]);
});

test("of several reasons, what somebody can act upon comes first, then what ends soonest", () => {
  const retry = { ...base, status: "CREATED", attempt: 1 } as const;
  const kinds = why([
    { ...base, nodeId: "r", status: "RUNNING" },
    { ...retry, nodeId: "late", retryAt: at(200_000) },
    { ...retry, nodeId: "soon", retryAt: at(100_000) },
    { ...base, nodeId: "w", status: "WAITING" },
    { ...base, nodeId: "done", status: "SUCCEEDED" },
    { ...base, nodeId: "later", status: "CREATED" },
  ]).map((w) => ("nodeId" in w ? w.nodeId : w.kind));
  expect(kinds).toEqual(["soon", "late", "w", "r"]);
});

test("in every state of every golden script, each live node has one reason, and there is always one", () => {
  const kinds = new Set<string>();
  for (const f of fixtures()) {
    const replay = new Replay(f.events);
    for (const ev of f.events) {
      const state = replay.stateAt(ev.seq);
      const found = whyNotMoving({ state, graph: f.graph, now: Date.parse(ev.occurredAt) });
      expect(found.length).toBeGreaterThan(0);
      for (const w of found) kinds.add(w.kind);
      if (state.status !== "ACTIVE" || state.cancelRequestedAt !== null) continue;
      const named = found.flatMap((w) => ("nodeId" in w ? w.nodeId : []));
      const live = state.startedAt ? state.nodes.filter(nodeLive) : [];
      expect(named).toEqual(expect.arrayContaining(live.map((n) => n.nodeId)));
      expect(new Set(named).size).toBe(named.length);
    }
  }
  const all = [
    "canceling",
    "ended",
    "join",
    "message",
    "not_started",
    "ready",
    "resting",
    "retry",
    "running",
  ];
  expect([...kinds].sort()).toEqual([...all, "timer", "wait"]);
});

test("a cut gate is counted in full", () => {
  const f = fixturesOf("wide")[0]!;
  const seq = f.events.findIndex((ev) => ev.type === "JOIN_GATE_UPDATED") + 1;
  const join = (events: typeof f.events) =>
    whyNotMoving({ state: new Replay(events).stateAt(seq), graph: f.graph, now: zero }).find(
      (w) => w.kind === "join",
    );
  expect(join(f.brief)).toMatchObject({ expected: 21, completed: 1, needs: 20 });
  expect(join(f.events)).toMatchObject({ expected: 21, completed: 1, needs: 20 });
  expect(whyNotMoving({ state: new Replay(wideLog(5_000).events).now, now: zero }).length).toBe(500);
});
