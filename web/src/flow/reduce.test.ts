import { expect, test } from "vitest";
import type { LocalNode } from "./apply";
import { at, fixtures, fixturesOf, wideLog } from "./fixtures";
import { Replay } from "./reduce";
import type { ExecutionState, FlowEvent, NodeState } from "./types";

/** A local state without what the server does not show. */
function shown(state: ExecutionState): ExecutionState {
  const nodes = state.nodes.map((n) => {
    const copy: Partial<LocalNode> = { ...n };
    delete copy.cause;
    delete copy.leaseSeconds;
    delete copy.gateCounts;
    return copy as LocalNode;
  });
  return { ...state, nodes };
}

test.each(fixtures().map((f, i) => [`${f.script} ${i}`, f] as const))(
  "the state after every event of %s is that of the server",
  (_, f) => {
    const replay = new Replay(f.events);
    expect(f.states.length).toBe(f.events.length);
    for (const want of f.states) expect(shown(replay.stateAt(want.seq))).toStrictEqual(want);
    for (const want of [...f.states].reverse()) expect(shown(replay.stateAt(want.seq))).toStrictEqual(want);
  },
);

test("the fixtures have every event type", () => {
  const types = new Set(fixtures().flatMap((f) => f.events.map((ev) => ev.type)));
  expect(types.size).toBe(24);
});

test("brief payloads give the same states, but for the names of branches", () => {
  const f = fixturesOf("wide")[0]!;
  expect(f.brief.filter((ev) => ev.counts).length).toBeGreaterThan(0);
  const replay = new Replay(f.brief);
  const bare = (n: NodeState): NodeState => ({ ...n, gate: undefined, branchIds: undefined });
  for (const want of f.states) {
    const got = replay.stateAt(want.seq);
    expect(shown({ ...got, nodes: got.nodes.map(bare) })).toEqual({ ...want, nodes: want.nodes.map(bare) });
    for (const n of want.nodes) {
      const local = got.nodes.find((l) => l.nodeId === n.nodeId)!;
      const counted = local.gateCounts?.["expectedBranches"] ?? local.gate?.expectedBranches.length;
      expect(counted).toBe(n.gate?.expectedBranches.length);
      expect(local.gate?.completedBranches).toEqual(n.gate?.completedBranches);
    }
  }
});

test("nodes that an event does not touch stay the same objects", () => {
  const f = fixturesOf("wide")[0]!;
  const replay = new Replay(f.events);
  for (let n = 2; n <= f.events.length; n++) {
    const before = replay.stateAt(n - 1);
    const after = replay.stateAt(n);
    const touched = (f.events[n - 1]!.payload as { nodeId?: string }).nodeId;
    before.nodes.forEach((node, i) => {
      if (node.nodeId !== touched) expect(after.nodes[i]).toBe(node);
    });
  }
});

test("events may come in any order, twice, and at the end", () => {
  for (const f of fixtures()) {
    const replay = new Replay();
    const shuffled = [...f.events].sort((a, b) => ((a.seq * 7919) % 101) - ((b.seq * 7919) % 101));
    for (const ev of [...shuffled, ...shuffled]) {
      replay.push([ev]);
      replay.stateAt(ev.seq); // makes checkpoints that a later insert must forget
    }
    expect(replay.length).toBe(f.events.length);
    for (const want of f.states) expect(shown(replay.stateAt(want.seq))).toStrictEqual(want);
  }
});

test("a long log that grows keeps its states when its checkpoints move apart", () => {
  const { events } = wideLog(4_000);
  const whole = new Replay(events);
  const grown = new Replay();
  for (let i = 0; i < events.length; i += 1_000) {
    grown.push(events.slice(i, i + 1_000));
    expect(grown.now.seq).toBe(Math.min(i + 1_000, events.length));
  }
  for (const seq of [1, 17, 4_005, 9_999, 5, events.length]) {
    expect(grown.stateAt(seq)).toEqual(whole.stateAt(seq));
  }
});

test("an event of an unknown type, or without a node, changes the seq alone", () => {
  const f = fixturesOf("sequential")[0]!;
  const seq = f.events.length + 1;
  for (const odd of [
    { type: "NODE_TELEPORTED", payload: { nodeId: "a" } },
    { type: "EXECUTION_PAUSED", payload: {} },
    { type: "NODE_READY", payload: {} },
    { type: "", payload: null as unknown as object },
  ]) {
    const replay = new Replay([...f.events, { seq, occurredAt: at(0), ...odd }]);
    expect(shown(replay.now)).toEqual({ ...f.states.at(-1), seq });
  }
  expect(new Replay().now.nodes).toEqual([]);
});

test("ids are compared as they are written: NFC and NFD are two nodes", () => {
  const ids = ["\u304c", "\u304b\u3099"]; // が, composed and not
  const events: FlowEvent[] = ids.map((nodeId, i) => ({
    seq: i + 1,
    type: "NODE_CREATED",
    occurredAt: at(0),
    payload: { nodeId, nodeType: "Task" },
  }));
  expect(new Replay(events).now.nodes.map((n) => n.nodeId)).toEqual(ids);
});

test("a step of the slider in 10,000 events is far below a frame", () => {
  const { events } = wideLog(2_600); // 10,4xx events of 2,604 nodes
  expect(events.length).toBeGreaterThan(10_000);
  const replay = new Replay(events);
  const seqs = Array.from({ length: 500 }, (_, i) => 1 + ((i * 7_919) % events.length));
  for (const seq of seqs) replay.stateAt(seq);
  const times = seqs.map((seq) => {
    const begin = performance.now();
    replay.stateAt(seq);
    return performance.now() - begin;
  });
  times.sort((a, b) => a - b);
  expect(times[250]!).toBeLessThan(16); // the median: others use this machine too
});
