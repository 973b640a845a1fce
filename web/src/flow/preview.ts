// What a cancel will do, from the state: "2 running (workers w1, w2 are told; what they report is kept), 1 waiting
// closes, 14 never run". It counts what the server would do at that moment; a page shows beside it what it then did.

import type { ExecutionState, NodeState } from "./types";
import { nodeEnded } from "./types";

export interface CancelPreview {
  /** Nodes whose worker is told to stop; what it reports is kept as a late result. */
  running: string[];
  /** Who is told, each once. */
  workers: string[];
  /** Nodes that wait for somebody; the wait closes. */
  waiting: string[];
  /** Nodes that nobody has claimed yet, also for their next attempt. */
  ready: string[];
  /** Nodes between two attempts: the next one does not come. */
  retrying: string[];
  /** How many were not reached and never run. */
  never: number;
  /** How many have ended and stay as they are. */
  ended: number;
  /** Why it cannot be cancelled, or that it is already. */
  refused?: "ended" | "canceled" | "requested" | undefined;
  /** The graph whose newest version is started to clean up, when the execution was started. */
  compensation?: string | undefined;
}

/** What cancelling an execution does. */
export function previewCancel(
  state: Pick<ExecutionState, "status" | "cancelRequestedAt" | "startedAt" | "nodes">,
  onCancel?: { graph: string } | undefined,
): CancelPreview {
  const preview: CancelPreview = {
    ...empty(),
    compensation: state.startedAt === undefined ? undefined : onCancel?.graph,
  };
  if (state.status === "CANCELED") return { ...empty(), ended: state.nodes.length, refused: "canceled" };
  if (state.status !== "ACTIVE") return { ...empty(), ended: state.nodes.length, refused: "ended" };
  if (state.cancelRequestedAt !== null) preview.refused = "requested";
  for (const n of state.nodes) count(preview, n);
  preview.workers = [...new Set(preview.workers)];
  return preview;
}

/** What cancelling one node does: the execution goes on, over its failure edge, its Join, or to its end. */
export function previewCancelNode(state: Pick<ExecutionState, "nodes">, nodeId: string): CancelPreview {
  const preview = empty();
  const n = state.nodes.find((node) => node.nodeId === nodeId);
  if (n === undefined || nodeEnded(n.status)) return { ...preview, refused: "ended" };
  count(preview, n);
  return preview;
}

function empty(): CancelPreview {
  return { running: [], workers: [], waiting: [], ready: [], retrying: [], never: 0, ended: 0 };
}

function count(into: CancelPreview, n: NodeState): void {
  if (nodeEnded(n.status)) into.ended++;
  else if (n.status === "RUNNING") {
    into.running.push(n.nodeId);
    if (n.workerId !== undefined) into.workers.push(n.workerId);
  } else if (n.status === "WAITING") into.waiting.push(n.nodeId);
  else if (n.status === "READY") into.ready.push(n.nodeId);
  else if (n.retryAt !== undefined) into.retrying.push(n.nodeId);
  else into.never++;
}
