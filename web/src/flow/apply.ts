// What one event makes of a state: the same as Apply of internal/workflow/flow, in the form that GET /executions/{id}
// has. It is total: any event, in any order, on any state; an event of an unknown type changes nothing but the seq.

import { clear, put, putData } from "./put";
import type { Actor, ExecutionState, Failure, FlowEvent, Gate, NodeState, NodeStatus } from "./types";
import { nodeEnded } from "./types";

/** The event that put a node into its status. */
export interface Cause {
  seq: number;
  type: string;
  at: string;
}

/** A node as the log tells it: what the server shows, and what only the log knows. */
export interface LocalNode extends NodeState {
  cause?: Cause;
  leaseSeconds?: number;
  /** Of a gate whose lists a brief payload has cut: how long they are. */
  gateCounts?: Record<string, number>;
}

/** An execution as its log tells it. It is never changed: each event makes a new one that shares what stays. */
export interface LocalState extends ExecutionState {
  nodes: readonly LocalNode[];
}

/** A state in the making. Nodes in fresh are its own; others are shared and are copied before they are changed. */
export interface Draft {
  state: LocalState;
  nodes: LocalNode[];
  index: Map<string, number>;
  fresh: Set<number>;
}

export function emptyState(): LocalState {
  return {
    executionId: "",
    status: "ACTIVE",
    cancelRequestedAt: null,
    graphId: "",
    graphVersion: 0,
    createdAt: "",
    seq: 0,
    nodes: [],
  };
}

/** Changes the draft by one more event. */
export function apply(d: Draft, ev: FlowEvent): void {
  const s = d.state;
  s.seq = Math.max(s.seq, ev.seq);
  if (s.executionId === "" && ev.executionId !== undefined) s.executionId = ev.executionId;
  const p = (ev.payload ?? {}) as Payload;
  if (ev.type.startsWith("EXECUTION_")) {
    applyExecution(s, ev, p);
  } else if (typeof p.nodeId === "string" && p.nodeId !== "" && nodeTypes.has(ev.type)) {
    applyNode(d, ev, own(d, p.nodeId, ev), p);
  }
}

/** The members of the 24 payloads. */
interface Payload {
  nodeId?: string;
  nodeType?: string;
  graphId?: string;
  graphVersion?: number;
  businessKey?: string;
  labels?: Record<string, string>;
  input?: unknown;
  result?: unknown;
  outcome?: string;
  reason?: string;
  requestedBy?: Actor;
  compensationId?: string;
  failedNodeId?: string;
  error?: Failure;
  attempt?: number;
  workerId?: string;
  leaseSeconds?: number;
  leaseUntil?: string;
  timeoutAt?: string;
  retryAt?: string;
  progress?: number;
  message?: string;
  metrics?: unknown;
  waitKey?: string;
  prompt?: unknown;
  waitUntil?: string;
  assignees?: LocalNode["assignees"];
  awaits?: LocalNode["awaits"];
  reminder?: number;
  nextReminderAt?: string;
  output?: unknown;
  canceledByExecution?: boolean;
  branchIds?: string[];
  expectedBranches?: string[];
  completedBranches?: string[];
  failedBranches?: string[];
  canceledBranches?: string[];
  isPassable?: boolean;
}

const nodeTypes = new Set([
  "NODE_CREATED",
  "NODE_READY",
  "NODE_STARTED",
  "NODE_PROGRESS_REPORTED",
  "NODE_WAITING",
  "NODE_RESUME_REQUESTED",
  "NODE_RESUMED",
  "NODE_SUCCEEDED",
  "NODE_FAIL_REPORTED",
  "NODE_FAILED",
  "NODE_CANCEL_REQUESTED",
  "NODE_CANCELED",
  "NODE_INTERRUPT_REQUESTED",
  "FORK_OPENED",
  "JOIN_GATE_UPDATED",
  "JOIN_PASSED",
]);

function applyExecution(s: LocalState, ev: FlowEvent, p: Payload): void {
  switch (ev.type) {
    case "EXECUTION_CREATED":
      if (s.createdAt !== "") return;
      s.createdAt = ev.occurredAt;
      s.graphId = p.graphId ?? "";
      s.graphVersion = p.graphVersion ?? 0;
      put(s, "correlationId", ev.correlationId || undefined);
      put(s, "businessKey", p.businessKey);
      put(s, "labels", p.labels);
      put(s, "input", p.input);
      return;
    case "EXECUTION_STARTED":
      s.startedAt ??= ev.occurredAt;
      return;
    case "EXECUTION_COMPLETED":
      if (end(s, "COMPLETED", ev)) {
        putData(s, "result", p.result, ev.seq);
        put(s, "outcome", p.outcome);
      }
      return;
    case "EXECUTION_FAILED":
      if (end(s, "FAILED", ev)) {
        put(s, "error", p.error);
        put(s, "failedNodeId", p.failedNodeId);
      }
      return;
    case "EXECUTION_CANCEL_REQUESTED":
      if (s.cancelRequestedAt !== null) return;
      s.cancelRequestedAt = ev.occurredAt;
      s.cancel = { seq: ev.seq };
      put(s.cancel, "reason", p.reason);
      put(s.cancel, "requestedBy", p.requestedBy);
      return;
    case "EXECUTION_CANCELED":
      if (end(s, "CANCELED", ev)) {
        // Whatever ended before, in another order, did not end so.
        clear(s, "result", "resultRef", "outcome", "error", "failedNodeId");
        if (s.cancel && p.compensationId !== undefined) {
          s.cancel = { ...s.cancel, compensationId: p.compensationId };
        }
      }
      return;
    case "EXECUTION_ARCHIVED":
      s.archivedAt ??= ev.occurredAt;
  }
}

/** Takes over a terminal event: CANCELED stands above everything, and a cancel request blocks the others. */
function end(s: LocalState, next: LocalState["status"], ev: FlowEvent): boolean {
  if (s.status === next) return false;
  if (next !== "CANCELED" && (s.status !== "ACTIVE" || s.cancelRequestedAt !== null)) return false;
  s.status = next;
  s.endedAt = ev.occurredAt;
  return true;
}

function applyNode(d: Draft, ev: FlowEvent, n: LocalNode, p: Payload): void {
  switch (ev.type) {
    case "NODE_CREATED":
      if (n.type === "") n.type = p.nodeType ?? "";
      break;
    case "NODE_CANCELED":
      if (n.status !== "CANCELED") {
        become(n, "CANCELED", ev);
        n.canceledByExecution = p.canceledByExecution === true;
        put(n, "reason", p.reason || undefined);
        clear(n, "output", "outputRef");
      }
      break;
    case "FORK_OPENED":
      if (n.branchIds === undefined) {
        put(n, "branchIds", p.branchIds);
        put(n, "failedNodeId", p.failedNodeId);
      }
      break;
    default:
      if (!nodeEnded(n.status)) applyLive(d.state, ev, n, p);
  }
  // The server names the attempt that is due.
  const due = n.type === "Task" && (n.status === "READY" || n.retryAt !== undefined);
  put(n, "nextAttempt", due ? n.attempt + 1 : undefined);
}

/** What events do that mean nothing once the node has ended. */
function applyLive(s: LocalState, ev: FlowEvent, n: LocalNode, p: Payload): void {
  switch (ev.type) {
    case "NODE_READY":
      if (s.status === "ACTIVE") become(n, "READY", ev);
      if (p.input !== undefined) putData(n, "input", p.input, ev.seq);
      if (p.failedNodeId) n.failedNodeId = p.failedNodeId;
      return;
    case "NODE_STARTED":
      if (s.status === "ACTIVE" && s.cancelRequestedAt === null && (p.attempt ?? 0) >= n.attempt) {
        start(n, ev, p);
      }
      return;
    case "NODE_PROGRESS_REPORTED":
      if (p.progress !== undefined) n.progress = p.progress;
      if (p.message) n.message = p.message;
      if (p.metrics !== undefined) putData(n, "metrics", p.metrics, ev.seq);
      if (p.leaseUntil && n.status === "RUNNING") n.leaseUntil = p.leaseUntil;
      return;
    case "NODE_WAITING":
      wait(n, ev, p);
      return;
    case "NODE_RESUMED":
      if (n.status !== "WAITING") return;
      become(n, "RUNNING", ev);
      put(n, "leaseUntil", p.leaseUntil);
      put(n, "timeoutAt", p.timeoutAt);
      clear(n, "waitKey", "prompt", "promptRef", "assignees", "awaits");
      putData(n, "resumedWith", p.output, ev.seq);
      return;
    case "NODE_SUCCEEDED":
      become(n, "SUCCEEDED", ev);
      putData(n, "output", p.output, ev.seq);
      putError(n, undefined);
      return;
    case "NODE_FAIL_REPORTED":
      putError(n, p.error);
      if (p.retryAt) {
        become(n, "CREATED", ev);
        n.retryAt = p.retryAt;
        clear(n, "workerId", "leaseSeconds");
      }
      return;
    case "NODE_FAILED":
      become(n, "FAILED", ev);
      putError(n, p.error);
      return;
    case "JOIN_GATE_UPDATED":
      updateGate(n, ev, p);
      return;
    case "JOIN_PASSED":
      n.gate = { ...(n.gate ?? emptyGate()), passed: true };
  }
  // Requests are facts for the log; what they lead to has events of its own.
}

/** Puts a node into a status and stops its clocks. */
function become(n: LocalNode, next: NodeStatus, ev: FlowEvent): void {
  n.status = next;
  n.cause = { seq: ev.seq, type: ev.type, at: ev.occurredAt };
  clear(n, "leaseUntil", "timeoutAt", "retryAt", "waitUntil", "nextReminderAt", "reminders");
}

/** Begins an attempt and clears what an earlier one reported. */
function start(n: LocalNode, ev: FlowEvent, p: Payload): void {
  become(n, "RUNNING", ev);
  n.attempt = p.attempt ?? 0;
  put(n, "workerId", p.workerId || undefined);
  put(n, "leaseSeconds", p.leaseSeconds);
  put(n, "leaseUntil", p.leaseUntil);
  put(n, "timeoutAt", p.timeoutAt);
  clear(n, "progress", "message", "metrics", "metricsRef", "waitKey", "prompt", "promptRef");
  clear(n, "resumedWith", "resumedWithRef", "assignees", "awaits");
}

function wait(n: LocalNode, ev: FlowEvent, p: Payload): void {
  if (p.reminder && n.status === "WAITING") {
    n.reminders = p.reminder;
    put(n, "nextReminderAt", p.nextReminderAt);
    return;
  }
  become(n, "WAITING", ev);
  put(n, "waitUntil", p.waitUntil);
  put(n, "waitKey", p.waitKey || undefined);
  putData(n, "prompt", p.prompt, ev.seq);
  put(n, "assignees", p.assignees);
  put(n, "awaits", p.awaits);
  put(n, "reminders", p.reminder || undefined);
  put(n, "nextReminderAt", p.nextReminderAt);
}

function updateGate(n: LocalNode, ev: FlowEvent, p: Payload): void {
  n.gate = {
    expectedBranches: p.expectedBranches ?? [],
    completedBranches: p.completedBranches ?? [],
    failedBranches: p.failedBranches ?? [],
    canceledBranches: p.canceledBranches ?? [],
    isPassable: p.isPassable === true,
    passed: n.gate?.passed === true,
  };
  put(n, "gateCounts", ev.counts);
}

function emptyGate(): Gate {
  return {
    expectedBranches: [],
    completedBranches: [],
    failedBranches: [],
    canceledBranches: [],
    isPassable: false,
    passed: false,
  };
}

/** Finds the node of an event, or adds it, and makes it the draft's own. */
function own(d: Draft, id: string, ev: FlowEvent): LocalNode {
  let i = d.index.get(id);
  if (i === undefined || i >= d.nodes.length) {
    i = d.nodes.length; // as it is in the index when a later state put it there
    d.index.set(id, i);
    const cause = { seq: ev.seq, type: ev.type, at: ev.occurredAt };
    d.nodes.push({ nodeId: id, type: "", status: "CREATED", canceledByExecution: false, attempt: 0, cause });
    d.fresh.add(i);
  } else if (!d.fresh.has(i)) {
    d.nodes[i] = { ...(d.nodes[i] as LocalNode) };
    d.fresh.add(i);
  }
  return d.nodes[i] as LocalNode;
}

function putError(n: LocalNode, error: Failure | undefined): void {
  put(n, "error", error);
  if (error === undefined) {
    clear(n, "reasonClass", "retryAdvice");
    return;
  }
  [n.reasonClass, n.retryAdvice] = adviceOn(error);
}

/** The class of a failure and what to do about it, as the server shows them. */
export function adviceOn(error: Failure): [reasonClass: string, retryAdvice: string] {
  switch (error.code) {
    case "NO_EDGE":
    case "ERR_EXPRESSION":
      return ["validation", "retry_after_fix"];
    case "NODE_CANCELED":
    case "JOIN_NOT_PASSABLE":
      return ["run_conflict", "do_not_retry"];
  }
  return error.final === true ? ["validation", "do_not_retry"] : ["infra", "retry_with_backoff"];
}
