import type { LogEvent } from "./logStore";

// What an event says, in a few words for its line in the log.

interface Payload {
  graphId?: string;
  graphVersion?: number;
  nodeType?: string;
  attempt?: number;
  workerId?: string;
  progress?: number;
  message?: string;
  waitKey?: string;
  awaits?: { name: string };
  retryAt?: string;
  outcome?: string;
  reason?: string;
  failedNodeId?: string;
  error?: { code?: string; message?: string };
  branchIds?: string[];
  expectedBranches?: string[];
  completedBranches?: string[];
}

export interface SummaryWords {
  attempt: (n: string) => string;
  branches: (n: string) => string;
  branchesOf: (done: string, all: string) => string;
  retryAt: (at: string) => string;
}

export function summary(e: LogEvent, t: SummaryWords, time: (at: string) => string): string {
  const p = e.payload as Payload;
  const length = (name: "branchIds" | "expectedBranches" | "completedBranches") =>
    e.counts?.[name] ?? p[name]?.length;
  const branches = length("branchIds");
  const expected = length("expectedBranches");
  const said = [
    e.type === "EXECUTION_CREATED" && p.graphId !== undefined && `${p.graphId} · ${p.graphVersion ?? ""}`,
    e.type === "NODE_CREATED" && p.nodeType,
    p.attempt !== undefined && p.attempt > 0 && t.attempt(String(p.attempt)),
    p.workerId,
    p.progress !== undefined && `${p.progress} %`,
    p.message,
    p.waitKey,
    p.awaits?.name,
    p.outcome,
    p.reason,
    p.failedNodeId,
    p.error && [p.error.code, p.error.message].filter(Boolean).join(": "),
    p.retryAt !== undefined && t.retryAt(time(p.retryAt)),
    branches !== undefined && t.branches(String(branches)),
    expected !== undefined && t.branchesOf(String(length("completedBranches") ?? 0), String(expected)),
  ];
  return said.filter((s) => typeof s === "string" && s !== "").join(" · ");
}

const states: Record<string, string> = {
  EXECUTION_CREATED: "CREATED",
  EXECUTION_STARTED: "ACTIVE",
  EXECUTION_COMPLETED: "COMPLETED",
  EXECUTION_FAIL_REQUESTED: "FAILED",
  EXECUTION_FAILED: "FAILED",
  EXECUTION_CANCEL_REQUESTED: "CANCELED",
  EXECUTION_CANCELED: "CANCELED",
  NODE_READY: "READY",
  NODE_STARTED: "RUNNING",
  NODE_PROGRESS_REPORTED: "RUNNING",
  NODE_WAITING: "WAITING",
  NODE_RESUME_REQUESTED: "RUNNING",
  NODE_RESUMED: "RUNNING",
  NODE_SUCCEEDED: "SUCCEEDED",
  NODE_FAIL_REPORTED: "FAILED",
  NODE_FAILED: "FAILED",
  NODE_CANCEL_REQUESTED: "CANCELED",
  NODE_CANCELED: "CANCELED",
  NODE_INTERRUPT_REQUESTED: "CANCELED",
  JOIN_PASSED: "SUCCEEDED",
};

/** The state whose mark and colour an event has. */
export function stateOf(type: string): string {
  return states[type] ?? "CREATED";
}
