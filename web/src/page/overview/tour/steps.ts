// PURE: the sample graph of the tour, and at which step a tour is, from the states of its executions alone: a reload
// goes on where it was.

import type { components } from "../../../api";
import type { ExecutionState } from "../../../flow/types";

export const graphId = "tour";
export const queue = "tour";

const retry = { maxAttempts: 3, backoff: 2 };

export const graph: components["schemas"]["Graph"] = {
  nodes: [
    { nodeId: "start", type: "Start" },
    { nodeId: "prepare", type: "Fork" },
    { nodeId: "reserve", type: "Task", queue, retry },
    { nodeId: "price", type: "Task", queue, retry },
    { nodeId: "prepared", type: "Join" },
    {
      nodeId: "approve",
      type: "Wait",
      timeout: "24h",
      prompt: { title: "Deliver this order?", fields: { order: "input.order", amount: "input.amount" } },
      schema: {
        type: "object",
        required: ["approved"],
        properties: { approved: { type: "boolean" } },
      } as never,
    },
    { nodeId: "deliver", type: "Task", queue, retry },
    { nodeId: "delivered", type: "Success", outcome: "delivered" },
    { nodeId: "declined", type: "Success", outcome: "declined" },
  ],
  edges: [
    { from: "start", on: "success", to: "prepare" },
    { from: "prepare", on: "success", to: "reserve" },
    { from: "prepare", on: "success", to: "price" },
    { from: "reserve", on: "success", to: "prepared" },
    { from: "price", on: "success", to: "prepared" },
    { from: "prepared", on: "success", to: "approve", when: "input.amount > 100" },
    { from: "prepared", on: "success", to: "deliver" },
    { from: "approve", on: "success", to: "deliver", when: "output.approved" },
    { from: "approve", on: "success", to: "declined" },
    { from: "deliver", on: "success", to: "delivered" },
  ],
};

/** The input of the first execution asks for approval; that of the second one for a delivery that takes long. */
export const inputs = {
  first: { order: "A-1", amount: 4200 },
  second: { order: "A-2", amount: 90, slow: true },
};

export const steps = ["begin", "work", "approve", "second", "cancel", "late"] as const;
export type Step = (typeof steps)[number] | "end";

type State = Pick<ExecutionState, "status" | "nodes" | "lateResults">;

function status(of: State, nodeId: string): string {
  return of.nodes.find((n) => n.nodeId === nodeId)?.status ?? "CREATED";
}

/** What comes next. */
export function stepOf(first: State | undefined, second: State | undefined): Step {
  if (!first) return "begin";
  if (first.status === "ACTIVE") return status(first, "approve") === "WAITING" ? "approve" : "work";
  // One that was not cancelled while it ran shows nothing: another one is started.
  if (!second || (second.status !== "ACTIVE" && second.status !== "CANCELED")) return "second";
  if (second.status === "ACTIVE") return "cancel";
  return (second.lateResults?.length ?? 0) > 0 ? "end" : "late";
}

/** Whether a cancel now would meet a worker. */
export function delivering(second: State | undefined): boolean {
  return second !== undefined && status(second, "deliver") === "RUNNING";
}

export interface Work {
  executionId: string;
  nodeId: string;
  attempt: number;
  slow: boolean;
}

/** What this worker had begun before the page was loaded again. */
export function begun(e: ExecutionState, workerId: string): Work[] {
  const reported = new Set(e.lateResults?.map((r) => r.nodeId));
  return e.nodes
    .filter((n) => n.workerId === workerId && !reported.has(n.nodeId))
    .filter((n) => n.status === "RUNNING" || (n.status === "CANCELED" && n.type === "Task"))
    .map((n) => ({
      executionId: e.executionId,
      nodeId: n.nodeId,
      attempt: n.attempt,
      slow: n.nodeId === "deliver" && slow(e.input),
    }));
}

export function slow(input: unknown): boolean {
  return typeof input === "object" && input !== null && (input as { slow?: unknown }).slow === true;
}
