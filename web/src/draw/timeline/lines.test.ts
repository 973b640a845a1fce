import { expect, test } from "vitest";
import { timeline } from "../../flow/bars";
import { barAt, linesOf, spansOf } from "./lines";

const at = (s: number) => new Date(s * 1_000).toISOString();
const nodes = [
  {
    nodeId: "pay",
    attempts: [
      { attempt: 1, readyAt: at(0), startedAt: at(1), endedAt: at(3), outcome: "FAILED", workerId: "w1" },
      {
        attempt: 2,
        readyAt: at(10),
        startedAt: at(10),
        endedAt: at(12),
        outcome: "SUCCEEDED",
        workerId: "w2",
      },
    ],
  },
  { nodeId: "ask", attempts: [{ attempt: 1, readyAt: at(12), waits: [{ since: at(12), until: at(20) }] }] },
];
const state = { createdAt: at(0), startedAt: at(0), cancelRequestedAt: null };
const all = timeline(nodes, state, undefined, { now: 30_000, groupBy: "worker" });

test("a line for each node, under its group", () => {
  const names = linesOf(all, undefined, true).map((l) =>
    l.kind === "group" ? `[${l.group.name}]` : l.row.nodeId,
  );
  expect(names).toEqual(["[w2]", "pay", "[]", "ask"]);
  expect(linesOf(all, undefined, false)).toHaveLength(2);
});

test("a line knows what was drawn of it at a moment before", () => {
  const past = timeline(nodes.slice(0, 1), state, undefined, { now: 5_000 });
  const [pay, ask] = linesOf(all, past, false);
  expect(pay).toMatchObject({ past: { nodeId: "pay" } });
  expect(ask).toMatchObject({ past: undefined });
});

test("a pointer meets the bar at an instant, or a short one near it", () => {
  const [pay] = all.rows;
  if (!pay) throw new Error("no row");
  expect(barAt(pay, 2_000, 100)).toMatchObject({ kind: "attempt", attempt: 1 });
  expect(barAt(pay, 6_000, 100)).toMatchObject({ kind: "backoff" });
  expect(barAt(pay, 12_050, 100)).toMatchObject({ kind: "attempt", attempt: 2 });
  expect(barAt(pay, 13_000, 100)).toBeUndefined();
});

test("a node's time is what its bars add up to", () => {
  const [pay, ask] = all.rows;
  if (!pay || !ask) throw new Error("no rows");
  expect(spansOf(pay)).toEqual({ ready: 1_000, attempt: 4_000, wait: 0, backoff: 7_000 });
  expect(spansOf(ask)).toMatchObject({ wait: 8_000 });
});
