// The shapes that this folder reads: what the API answers, as far as it matters here. Answers of the generated client
// fit without a cast. Nothing in this folder touches React, the DOM, the network or a clock.

export type ExecutionStatus = "ACTIVE" | "COMPLETED" | "FAILED" | "CANCELED";
export type NodeStatus = "CREATED" | "READY" | "RUNNING" | "WAITING" | "SUCCEEDED" | "FAILED" | "CANCELED";
export type NodeType = "Start" | "Task" | "Wait" | "Fork" | "Join" | "Success" | "Failed" | "Canceled";
export type Outcome = "success" | "failure" | "timeout";
export type Policy = "ALL_SUCCESS" | "ANY_SUCCESS" | "ALL_DONE" | "CUSTOM";

/** An event of GET /executions/{id}/events or of the stream; unknown types are allowed and ignored. */
export interface FlowEvent {
  seq: number;
  type: string;
  occurredAt: string;
  payload: object;
  eventId?: string | undefined;
  executionId?: string | undefined;
  correlationId?: string | undefined;
  /** With payload=brief: how long the lists are that the payload has only the beginning of. */
  counts?: Record<string, number> | undefined;
}

export interface Failure {
  code?: string | undefined;
  message?: string | undefined;
  detail?: unknown;
  final?: boolean | undefined;
}

export interface Actor {
  kind: string;
  id?: string | undefined;
}

export interface DataRef {
  seq: number;
  size: number;
}

export interface Assignees {
  users?: string[] | undefined;
  roles?: string[] | undefined;
  groups?: string[] | undefined;
}

export interface Awaited {
  name: string;
  key?: string | undefined;
}

export interface Gate {
  expectedBranches: string[];
  completedBranches: string[];
  failedBranches: string[];
  canceledBranches: string[];
  isPassable: boolean;
  passed: boolean;
}

/** A node of GET /executions/{id}. */
export interface NodeState {
  nodeId: string;
  type: string;
  status: NodeStatus;
  canceledByExecution: boolean;
  attempt: number;
  nextAttempt?: number | undefined;
  workerId?: string | undefined;
  leaseUntil?: string | undefined;
  timeoutAt?: string | undefined;
  retryAt?: string | undefined;
  waitUntil?: string | undefined;
  reminders?: number | undefined;
  nextReminderAt?: string | undefined;
  waitKey?: string | undefined;
  prompt?: unknown;
  promptRef?: DataRef | undefined;
  assignees?: Assignees | undefined;
  awaits?: Awaited | undefined;
  resumedWith?: unknown;
  resumedWithRef?: DataRef | undefined;
  input?: unknown;
  inputRef?: DataRef | undefined;
  failedNodeId?: string | undefined;
  progress?: number | undefined;
  message?: string | undefined;
  metrics?: unknown;
  metricsRef?: DataRef | undefined;
  output?: unknown;
  outputRef?: DataRef | undefined;
  error?: Failure | undefined;
  reasonClass?: string | undefined;
  retryAdvice?: string | undefined;
  reason?: string | undefined;
  branchIds?: string[] | undefined;
  gate?: Gate | undefined;
}

export interface LateResult {
  command: string;
  nodeId: string;
  attempt?: number | undefined;
  workerId?: string | undefined;
  receivedAt: string;
  guard: string;
  output?: unknown;
  error?: Failure | undefined;
  size?: number | undefined;
}

export interface CancelFence {
  seq: number;
  reason?: string | undefined;
  requestedBy?: Actor | undefined;
  compensationId?: string | undefined;
}

/** GET /executions/{id}, now or with ?at=N. */
export interface ExecutionState {
  executionId: string;
  status: ExecutionStatus;
  cancelRequestedAt: string | null;
  graphId: string;
  graphVersion: number;
  correlationId?: string | undefined;
  businessKey?: string | undefined;
  labels?: Record<string, string> | undefined;
  createdAt: string;
  startedAt?: string | undefined;
  endedAt?: string | undefined;
  archivedAt?: string | undefined;
  seq: number;
  input?: unknown;
  result?: unknown;
  resultRef?: DataRef | undefined;
  outcome?: string | undefined;
  error?: Failure | undefined;
  failedNodeId?: string | undefined;
  cancel?: CancelFence | undefined;
  nodes: readonly NodeState[];
  lateResults?: readonly LateResult[] | undefined;
}

/** A node of a graph; members that this folder does not look at are left out. */
export interface GraphNode {
  nodeId: string;
  type: NodeType;
  queue?: string | undefined;
  retry?: { maxAttempts?: number | undefined } | undefined;
  timeout?: string | undefined;
  for?: string | undefined;
  waitKey?: string | undefined;
  policy?: string | undefined;
  expression?: string | undefined;
  outcome?: string | undefined;
}

export interface GraphEdge {
  from: string;
  to: string;
  on?: Outcome | undefined;
  when?: string | undefined;
}

export interface Graph {
  nodes: readonly GraphNode[];
  edges: readonly GraphEdge[];
}

/** A command of GET /executions/{id}/commands. */
export interface Decided {
  number: number;
  command: string;
  nodeId?: string | undefined;
  attempt?: number | undefined;
  workerId?: string | undefined;
  decidedAt: string;
  actor: Actor;
  accepted: boolean;
  firstSeq?: number | undefined;
  lastSeq?: number | undefined;
  cancelSeq?: number | undefined;
  error?: unknown;
}

/** The attempts of a node, of GET /executions/{id}/attempts. */
export interface NodeAttempts {
  nodeId: string;
  attempts: readonly Attempt[];
}

export interface Attempt {
  attempt: number;
  readyAt?: string | undefined;
  startedAt?: string | undefined;
  endedAt?: string | undefined;
  outcome?: string | undefined;
  workerId?: string | undefined;
  error?: Failure | undefined;
  waits?: readonly { since: string; until?: string | undefined; waitKey?: string | undefined }[] | undefined;
}

/** A queue of GET /tasks/queues: only those that have ready tasks are there. */
export interface Queue {
  queue: string;
  ready: number;
  more: boolean;
  oldestReadyAt: string;
}

const ended: Record<string, boolean> = { SUCCEEDED: true, FAILED: true, CANCELED: true };

/** Reports whether a node in this status has ended. */
export function nodeEnded(status: string): boolean {
  return ended[status] === true;
}

/** Reports whether a node is READY, RUNNING, WAITING or between two attempts. */
export function nodeLive(node: { status: string; retryAt?: string | undefined }): boolean {
  return node.status === "CREATED" ? node.retryAt !== undefined : !nodeEnded(node.status);
}
