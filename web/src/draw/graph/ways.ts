// Which edges an execution went, and what became of the others. The server evaluates a condition once, when its node
// ends; what it was can be told from where the execution went on.

import type { Graph, GraphEdge, NodeState } from "../../flow/types";
import { nodeEnded } from "../../flow/types";

/**
 * - open: its node has not ended
 * - taken
 * - false: its condition did not hold
 * - skipped: another edge before it was taken, so its condition was not asked
 * - other: it is for another end of its node (failure, timeout)
 * - unknown: cannot be told from the state
 */
export type Way = "open" | "taken" | "false" | "skipped" | "other" | "unknown";

/** What became of each edge, in the order of the graph. */
export function waysOf(graph: Graph, nodes: readonly NodeState[]): Way[] {
  const states = new Map(nodes.map((n) => [n.nodeId, n]));
  const leaving = new Map<string, number[]>();
  graph.edges.forEach((e, i) => {
    const list = leaving.get(e.from);
    if (list) list.push(i);
    else leaving.set(e.from, [i]);
  });
  const ways = new Array<Way>(graph.edges.length).fill("open");
  for (const [from, list] of leaving) {
    const state = states.get(from);
    if (state && nodeEnded(state.status)) leave(graph, state, list, states, ways);
  }
  return ways;
}

function leave(
  graph: Graph,
  from: NodeState,
  list: readonly number[],
  states: Map<string, NodeState>,
  ways: Way[],
): void {
  const edge = (i: number) => graph.edges[i] as GraphEdge;
  const on = endOf(
    from,
    list.some((i) => edge(i).on === "timeout"),
  );
  for (const i of list) if ((edge(i).on ?? "success") !== on) ways[i] = "other";
  // A node that ended well and found no edge has failed of that.
  if (from.error?.code === "NO_EDGE") {
    for (const i of list) if ((edge(i).on ?? "success") === "success" && edge(i).when) ways[i] = "false";
  }
  const asked = list.filter((i) => (edge(i).on ?? "success") === on);
  if (from.type === "Fork") {
    const opened = new Set(from.branchIds);
    for (const i of asked) ways[i] = opened.has(edge(i).to) ? "taken" : edge(i).when ? "false" : "unknown";
    return;
  }
  const at = asked.findIndex((i) => reached(states.get(edge(i).to)));
  const sure = asked.length > 0 && !edge(asked[0] as number).when && on === "success";
  const taken = at >= 0 ? at : sure && from.status === "SUCCEEDED" ? 0 : -1;
  asked.forEach((i, n) => {
    if (taken < 0) ways[i] = from.error?.code === "NO_EDGE" && edge(i).when ? "false" : "unknown";
    else if (n === taken) ways[i] = "taken";
    else if (n > taken) ways[i] = "skipped";
    else ways[i] = edge(i).when ? "false" : "unknown";
  });
}

/** How a node ended, as edges call it. */
function endOf(n: NodeState, hasTimeout: boolean): string {
  if (n.status === "SUCCEEDED") return "success";
  if (n.status === "CANCELED") return n.canceledByExecution ? "" : "failure";
  return hasTimeout && n.error?.code === "ERR_TIMEOUT" ? "timeout" : "failure";
}

/** Whether an execution came to a node. One that a cancel closed before says nothing. */
function reached(n: NodeState | undefined): boolean {
  if (n === undefined) return false;
  if (n.gate) return true;
  if (n.status === "CREATED") return n.retryAt !== undefined || n.attempt > 0;
  return n.status !== "CANCELED" || n.attempt > 0;
}
