import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { at, fixtures } from "./fixtures";
import { guards, lateUntil, ticks, whyRefused } from "./refused";
import { Replay } from "./reduce";
import type { Decided, LateResult } from "./types";

const contract = readFileSync(new URL("../../../api/openapi.yaml", import.meta.url), "utf8");

test("the guards are those of the contract", () => {
  const block = /\n {4}Guard:\n(?: {6}.*\n)*? {6}enum:([\s\S]*?)\n {4}\S/.exec(contract)?.[1] ?? "";
  const names = block.match(/[a-z_]+/g) ?? [];
  expect(names.length).toBe(guards.length);
  expect([...names].sort()).toEqual([...guards].sort());
});

test("each refusal of the golden scripts says what its guard saw, and why", () => {
  const seen = new Set<string>();
  for (const f of fixtures()) {
    const replay = new Replay(f.events);
    for (const r of f.refused) {
      const why = whyRefused(r.error, { command: r.command })!;
      expect(why.kind).toBe(why.guard);
      seen.add(why.guard);
      expect(why.text.startsWith(r.command + " rejected because ")).toBe(true);
      const state = replay.stateAt(r.seq);
      expect(why.saw.execution).toBe(state.status);
      expect(f.events[why.cause!.seq - 1]).toMatchObject({
        type: why.cause!.type,
        occurredAt: why.cause!.occurredAt,
      });
      expect(why.fence).toBe(state.cancel?.seq);
      if (why.nodeId !== undefined) {
        const node = state.nodes.find((n) => n.nodeId === why.nodeId)!;
        expect([why.saw.nodeStatus, why.saw.attempt]).toEqual([node.status, node.attempt]);
      }
    }
  }
  expect(guards.filter((g) => !seen.has(g))).toEqual(["business_key", "node_not_terminal"]);
});

test("what the golden scripts do not have: a taken business key, a node that ended, a guard to come", () => {
  const error = (guard: string, more: object = {}) => ({
    code: "COMMAND_REJECTED",
    message: "CancelNode rejected because of it",
    details: { guard, state: { execution: "ACTIVE" }, ...more },
  });
  expect(whyRefused(error("business_key", { executionId: "e-1" }))).toMatchObject({
    holder: "e-1",
    remedy: "other_key",
  });
  expect(whyRefused(error("node_not_terminal"))).toMatchObject({ command: "CancelNode", remedy: "none" });
  expect(whyRefused(error("phase_of_moon"))).toMatchObject({
    kind: "unknown",
    guard: "phase_of_moon",
    remedy: "none",
  });
  for (const none of [undefined, null, {}, { code: "NODE_NOT_FOUND" }, { code: "COMMAND_REJECTED" }]) {
    expect(whyRefused(none)).toBeUndefined();
  }
});

const command = (number: number, more: Partial<Decided>): Decided => ({
  number,
  command: "SucceedNode",
  decidedAt: at(number),
  actor: { kind: "user", id: "ann" },
  accepted: true,
  ...more,
});

const refusal = {
  code: "COMMAND_REJECTED",
  message: "SucceedNode rejected because execution is cancel-requested",
  details: { guard: "cancel_fence", state: { execution: "CANCELED" }, cancelSeq: 6, lateResultKept: true },
};

test("the slider has a tick for each command that changed something, with the refusals after it", () => {
  const late: LateResult = {
    command: "SucceedNode",
    nodeId: "a",
    receivedAt: at(5),
    guard: "cancel_fence",
    output: { receipt: "R-1" },
  };
  const all = ticks(
    [
      command(5, { accepted: false, nodeId: "a", error: refusal }),
      command(1, { firstSeq: 1, lastSeq: 5 }),
      command(2, { firstSeq: 6, lastSeq: 9 }),
      command(3, {}), // a second cancel: accepted, and nothing changed
    ],
    [late],
  );
  expect(all.map((t) => [t.firstSeq, t.seq, t.refused.length])).toEqual([
    [1, 5, 0],
    [6, 9, 1],
  ]);
  expect(all[1]!.refused[0]).toMatchObject({ fence: 6, late, by: "ann", number: 5, lateResultKept: true });
  expect(lateUntil(all, 8)).toEqual([]);
  expect(lateUntil(all, 9)).toEqual([late]);
  expect(ticks([])).toEqual([]);
  expect(ticks([command(1, { accepted: false, error: refusal })]).map((t) => t.seq)).toEqual([0]);
});
