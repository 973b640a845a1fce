import { expect, test } from "vitest";
import { attemptsOf } from "./attempts";
import { fixtures, fixturesOf } from "./fixtures";

test("the attempts of every golden script are those of the server", () => {
  const all = fixtures();
  for (const f of all) expect(attemptsOf(f.events)).toEqual(f.attempts);
  const waits = all.flatMap((f) => f.attempts.flatMap((n) => n.attempts.flatMap((a) => a.waits ?? [])));
  expect(waits.length).toBeGreaterThan(5);
});

test("a part of the log has the attempts until then", () => {
  const f = fixturesOf("retry")[0]!;
  const ready = f.events.find((ev) => ev.type === "NODE_READY")!;
  expect(attemptsOf(f.events, ready.seq)).toEqual([
    { nodeId: "a", attempts: [{ attempt: 1, readyAt: ready.occurredAt }] },
  ]);
  expect(attemptsOf(f.events, ready.seq - 1)).toEqual([]);
});

test("unknown types and events without a node are passed over", () => {
  const payload = { nodeId: "a" };
  const event = (seq: number, type: string, p: object) => ({ seq, type, occurredAt: "", payload: p });
  expect(
    attemptsOf([
      event(1, "NODE_VANISHED", payload),
      event(2, "NODE_READY", {}),
      event(3, "NODE_FAILED", payload),
    ]),
  ).toEqual([]);
});
