import type { ExecutionState, Failure } from "../../flow/types";

/** What failed first: the node, where it is known, and its error. */
export interface Cause {
  nodeId: string | undefined;
  error: Failure | undefined;
  attempt: number | undefined;
}

/** The failure that an execution failed of: behind a Join, a Failed node or a failure edge, the first one. */
export function firstCause(
  e: Pick<ExecutionState, "status" | "error" | "failedNodeId" | "nodes">,
): Cause | undefined {
  if (e.status !== "FAILED") return undefined;
  const nodes = new Map(e.nodes.map((n) => [n.nodeId, n]));
  const seen = new Set<string>();
  let at = e.failedNodeId;
  let error = e.error;
  while (at !== undefined && !seen.has(at)) {
    seen.add(at);
    const node = nodes.get(at);
    const behind = causeOf(node?.error) ?? causeOf(error);
    const next = behind?.nodeId ?? node?.failedNodeId;
    if (node?.error) error = node.error;
    if (next === undefined || seen.has(next)) break;
    error = behind ?? error;
    at = next;
  }
  const node = at === undefined ? undefined : nodes.get(at);
  return { nodeId: at, error: node?.error ?? error, attempt: node?.attempt || undefined };
}

/** The first failure that the error of a Join names. */
function causeOf(error: Failure | undefined): (Failure & { nodeId?: string }) | undefined {
  const detail = error?.detail;
  if (error?.code !== "JOIN_NOT_PASSABLE" || typeof detail !== "object" || detail === null) return undefined;
  const cause = (detail as { cause?: unknown }).cause;
  return typeof cause === "object" && cause !== null ? cause : undefined;
}
