import { describe, expect, it } from "vitest";
import type { ExecutionState } from "../../../flow/types";
import { begun, delivering, stepOf } from "./steps";

const state = (status: string, nodes: object[], more: object = {}) =>
  ({ executionId: "e", status, nodes, ...more }) as unknown as ExecutionState;
const node = (nodeId: string, status: string, more: object = {}) => ({
  nodeId,
  type: "Task",
  status,
  attempt: 1,
  ...more,
});

describe("stepOf", () => {
  const over = state("COMPLETED", []);
  it("follows the executions", () => {
    expect(stepOf(undefined, undefined)).toBe("begin");
    expect(stepOf(state("ACTIVE", [node("reserve", "RUNNING")]), undefined)).toBe("work");
    expect(stepOf(state("ACTIVE", [node("approve", "WAITING")]), undefined)).toBe("approve");
    expect(stepOf(state("ACTIVE", [node("approve", "SUCCEEDED")]), undefined)).toBe("work");
    expect(stepOf(over, undefined)).toBe("second");
    expect(stepOf(over, state("ACTIVE", []))).toBe("cancel");
    expect(stepOf(over, state("FAILED", []))).toBe("second");
    expect(stepOf(over, state("CANCELED", []))).toBe("late");
    expect(stepOf(over, state("CANCELED", [], { lateResults: [{}] }))).toBe("end");
  });

  it("offers the cancel only when a worker delivers", () => {
    expect(delivering(state("ACTIVE", [node("deliver", "READY")]))).toBe(false);
    expect(delivering(state("ACTIVE", [node("deliver", "RUNNING")]))).toBe(true);
  });
});

describe("begun", () => {
  const mine = { workerId: "tour-1" };
  it("finds what runs, and what was cancelled before the report", () => {
    const nodes = [
      node("price", "SUCCEEDED", mine),
      node("reserve", "RUNNING", { workerId: "other" }),
      node("deliver", "CANCELED", mine),
    ];
    expect(begun(state("CANCELED", nodes, { input: { slow: true } }), "tour-1")).toEqual([
      { executionId: "e", nodeId: "deliver", attempt: 1, slow: true },
    ]);
    const kept = { lateResults: [{ nodeId: "deliver" }] };
    expect(begun(state("CANCELED", nodes, kept), "tour-1")).toEqual([]);
  });
});
