import { expect, test } from "vitest";
import type { NodeState } from "../../flow/types";
import { firstCause } from "./cause";

function node(nodeId: string, more: Partial<NodeState> = {}): NodeState {
  return { nodeId, type: "Task", status: "FAILED", canceledByExecution: false, attempt: 1, ...more };
}

const money = { code: "NO_MONEY", message: "no money" };

test("an execution that did not fail has no cause", () => {
  expect(firstCause({ status: "ACTIVE", nodes: [] })).toBeUndefined();
});

test("the node that failed is the cause", () => {
  const e = {
    status: "FAILED" as const,
    error: money,
    failedNodeId: "pay",
    nodes: [node("pay", { error: money })],
  };
  expect(firstCause(e)).toEqual({ nodeId: "pay", error: money, attempt: 1 });
});

test("behind a Join it is the branch that failed first", () => {
  const error = {
    code: "JOIN_NOT_PASSABLE",
    detail: { failed: ["pay"], cause: { ...money, nodeId: "pay" } },
  };
  const nodes = [node("pay", { error: money, attempt: 3 }), node("all", { type: "Join", error, attempt: 0 })];
  const e = { status: "FAILED" as const, error, failedNodeId: "all", nodes };
  expect(firstCause(e)).toEqual({ nodeId: "pay", error: money, attempt: 3 });
});

test("behind a Failed node it is the node whose failure edge led there", () => {
  const nodes = [
    node("pay", { error: money }),
    node("end", { status: "SUCCEEDED", failedNodeId: "pay", attempt: 0 }),
  ];
  const e = { status: "FAILED" as const, error: money, failedNodeId: "end", nodes };
  expect(firstCause(e)?.nodeId).toBe("pay");
});
