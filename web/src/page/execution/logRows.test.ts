import { expect, test } from "vitest";
import { logRows, refusedType, type LogFilter } from "./logRows";
import type { LogCommand, LogEvent } from "./logStore";

const event = (seq: number, type: string, nodeId?: string, more: object = {}) =>
  ({
    seq,
    type,
    occurredAt: "",
    eventId: `${seq}`,
    actor: { kind: "system" },
    payload: nodeId === undefined ? {} : { nodeId },
    ...more,
  }) as unknown as LogEvent;
const command = (number: number, name: string, more: object) =>
  ({
    number,
    command: name,
    decidedAt: "",
    actor: { kind: "user", id: "mika" },
    accepted: true,
    ...more,
  }) as LogCommand;
const refusal = { code: "COMMAND_REJECTED", message: "m", details: { guard: "cancel_fence" } };

const events = [
  event(1, "EXECUTION_CREATED"),
  event(2, "NODE_CREATED", "a"),
  event(3, "NODE_READY", "a"),
  event(4, "NODE_STARTED", "a"),
];
const commands = [
  command(1, "CreateExecution", { firstSeq: 1, lastSeq: 2 }),
  command(2, "StartExecution", { firstSeq: 3, lastSeq: 3 }),
  command(3, "SucceedNode", { accepted: false, nodeId: "a", error: refusal }),
  command(4, "StartNode", { firstSeq: 4, lastSeq: 4, nodeId: "a" }),
];
const all: LogFilter = { types: [], node: "", actor: "", correlation: "" };
const keys = (filter: Partial<LogFilter>, of = events) =>
  logRows(of, commands, { ...all, ...filter })
    .map((r) => r.key)
    .join(" ");

test("commands stand over their events, and refusals between them", () => {
  expect(keys({})).toBe("c1 e1 e2 c2 e3 c3 c4 e4");
});

test("a heading goes with its last event", () => {
  expect(keys({ types: ["NODE_READY"] })).toBe("c2 e3");
  expect(keys({ node: "a" })).toBe("c1 e2 c2 e3 c3 c4 e4");
  expect(keys({ types: [refusedType] })).toBe("c3");
  expect(keys({ actor: "user:mika" })).toBe("c3");
});

test("a command waits for its events", () => {
  expect(keys({}, events.slice(0, 1))).toBe("e1");
  expect(keys({}, events.slice(0, 3))).toBe("c1 e1 e2 c2 e3 c3");
});
