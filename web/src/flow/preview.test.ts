import { expect, test } from "vitest";
import { fixtures } from "./fixtures";
import { previewCancel, previewCancelNode } from "./preview";
import { Replay } from "./reduce";
import type { NodeState } from "./types";

const node = (nodeId: string, more: Partial<NodeState>): NodeState => ({
  nodeId,
  type: "Task",
  status: "CREATED",
  attempt: 0,
  canceledByExecution: false,
  ...more,
});

test("a cancel is previewed from the state", () => {
  const state = {
    status: "ACTIVE" as const,
    cancelRequestedAt: null,
    startedAt: "2026-04-01T09:00:00Z",
    nodes: [
      node("a", { status: "RUNNING", workerId: "w1" }),
      node("b", { status: "RUNNING", workerId: "w2" }),
      node("c", { status: "RUNNING", workerId: "w1" }),
      node("d", { status: "WAITING" }),
      node("e", { status: "READY" }),
      node("f", { retryAt: "2026-04-01T09:00:00Z" }),
      node("g", {}),
      node("h", { status: "SUCCEEDED" }),
    ],
  };
  const want = {
    running: ["a", "b", "c"],
    workers: ["w1", "w2"],
    waiting: ["d"],
    ready: ["e"],
    retrying: ["f"],
    never: 1,
    ended: 1,
    compensation: undefined,
  };
  expect(previewCancel(state)).toEqual(want);
  expect(previewCancel(state, { graph: "refund" })).toEqual({ ...want, compensation: "refund" });
  expect(previewCancel({ ...state, startedAt: undefined }, { graph: "refund" }).compensation).toBeUndefined();
  expect(previewCancel({ ...state, cancelRequestedAt: "2026-04-01T09:00:00Z" }).refused).toBe("requested");
  expect(previewCancel({ ...state, status: "COMPLETED" })).toMatchObject({
    refused: "ended",
    ended: 8,
    running: [],
  });
  expect(previewCancel({ ...state, status: "CANCELED" }).refused).toBe("canceled");
  expect(previewCancelNode(state, "a")).toMatchObject({ running: ["a"], workers: ["w1"], waiting: [] });
  expect(previewCancelNode(state, "h").refused).toBe("ended");
  expect(previewCancelNode(state, "nowhere").refused).toBe("ended");
});

test("what a preview says is what the cancel does, in every golden script that cancels", () => {
  let cancels = 0;
  for (const f of fixtures()) {
    const request = f.events.find((ev) => ev.type === "EXECUTION_CANCEL_REQUESTED");
    if (request === undefined) continue;
    cancels++;
    const replay = new Replay(f.events);
    const preview = previewCancel(replay.stateAt(request.seq - 1));
    const after = f.events.slice(request.seq);
    const told = after.filter((ev) => ev.type === "NODE_INTERRUPT_REQUESTED").map((ev) => ev.payload);
    expect(told.map((p) => (p as { nodeId: string }).nodeId)).toEqual(preview.running);
    const closed = after.filter((ev) => ev.type === "NODE_CANCELED").length;
    const { running, waiting, ready, retrying, never } = preview;
    expect(closed).toBe(running.length + waiting.length + ready.length + retrying.length + never);
    expect(replay.now.status).toBe("CANCELED");
  }
  expect(cancels).toBeGreaterThan(3);
});
