// Two of a kind beside each other: two executions, aligned by node, with the node and edge at which they part; and two
// versions of a graph, with the nodes and edges that were added, removed and changed.

import type { Change } from "./diff";
import { diff, equal } from "./diff";
import type { ExecutionState, Graph, GraphEdge, GraphNode, NodeAttempts, NodeState } from "./types";

export interface ComparedNode {
  nodeId: string;
  a?: Side | undefined;
  b?: Side | undefined;
  /** That status and attempts are the same. */
  same: boolean;
  /** How much longer it took in b, in milliseconds; nothing when it has not ended in both. */
  slower?: number | undefined;
}

export interface Side {
  status: string;
  attempts: number;
  /** From the first time that it was ready to the end of its last attempt. */
  took?: number | undefined;
  errorCode?: string | undefined;
}

/** Where two executions part: the last node that both went through, and where each went from there. */
export interface Parting {
  node: string;
  a: GraphEdge[];
  b: GraphEdge[];
}

export interface Comparison {
  nodes: ComparedNode[];
  partings: Parting[];
  input: Change[];
  result: Change[];
  took: { a?: number | undefined; b?: number | undefined };
}

export interface Run {
  state: Pick<ExecutionState, "status" | "startedAt" | "endedAt" | "input" | "result" | "nodes">;
  graph: Graph;
  attempts?: readonly NodeAttempts[] | undefined;
}

/** Compares two executions, also of different versions of a graph. Nodes come in the order of a, then of b. */
export function compareRuns(a: Run, b: Run): Comparison {
  const [sideA, sideB] = [sidesOf(a), sidesOf(b)];
  const ids = new Set([...sideA.keys(), ...sideB.keys()]);
  return {
    nodes: [...ids].map((nodeId): ComparedNode => {
      const x = sideA.get(nodeId);
      const y = sideB.get(nodeId);
      const same = x !== undefined && y !== undefined && x.status === y.status && x.attempts === y.attempts;
      const slower = x?.took === undefined || y?.took === undefined ? undefined : y.took - x.took;
      return { nodeId, a: x, b: y, same, slower };
    }),
    partings: partings(a, b),
    input: diff(a.state.input, b.state.input),
    result: diff(a.state.result, b.state.result),
    took: { a: span(a.state.startedAt, a.state.endedAt), b: span(b.state.startedAt, b.state.endedAt) },
  };
}

function sidesOf(r: Run): Map<string, Side> {
  const attempts = new Map(r.attempts?.map((n) => [n.nodeId, n.attempts]));
  return new Map(
    r.state.nodes.map((n) => {
      const of = attempts.get(n.nodeId);
      const took = span(of?.[0]?.readyAt ?? of?.[0]?.startedAt, of?.at(-1)?.endedAt);
      return [n.nodeId, { status: n.status, attempts: n.attempt, took, errorCode: n.error?.code }];
    }),
  );
}

function span(from: string | undefined, to: string | undefined): number | undefined {
  return from === undefined || to === undefined ? undefined : Date.parse(to) - Date.parse(from);
}

/** The edges that an execution went along: from a node that ended so, to a node that was reached. */
export function takenEdges(graph: Graph, nodes: readonly NodeState[]): Set<number> {
  const states = new Map(nodes.map((n) => [n.nodeId, n]));
  const taken = new Set<number>();
  const left = new Set<string>(); // nodes whose one edge is found; a Fork has many
  const kind = new Map(graph.nodes.map((n) => [n.nodeId, n.type]));
  graph.edges.forEach((e, i) => {
    const from = states.get(e.from);
    const to = states.get(e.to);
    if (from === undefined || to === undefined || left.has(e.from) || !reached(to)) return;
    const side = from.status === "SUCCEEDED" ? "success" : from.status === "FAILED" ? "failure" : undefined;
    const on = e.on ?? "success";
    if (on !== side && !(on === "timeout" && from.error?.code === "ERR_TIMEOUT")) return;
    if (from.branchIds !== undefined && !from.branchIds.includes(e.to)) return;
    taken.add(i);
    if (kind.get(e.from) !== "Fork") left.add(e.from);
  });
  return taken;
}

/** Reports whether a path led to a node. A cancel also ends nodes that were never reached. */
function reached(n: NodeState): boolean {
  if (n.status === "CANCELED") return n.attempt > 0 || n.waitKey !== undefined || n.gate !== undefined;
  return n.status !== "CREATED" || n.retryAt !== undefined || n.gate !== undefined;
}

/** The nodes that both executions left along different edges, in the order of the graph of a. */
function partings(a: Run, b: Run): Parting[] {
  const [inA, inB] = [byNode(a), byNode(b)];
  const out: Parting[] = [];
  for (const n of a.graph.nodes) {
    const x = inA.get(n.nodeId);
    const y = inB.get(n.nodeId);
    if (!x || !y) continue;
    const targets = (edges: GraphEdge[]) => edges.map((e) => e.to).sort();
    if (!equal(targets(x), targets(y))) out.push({ node: n.nodeId, a: x, b: y });
  }
  return out;
}

function byNode(r: Run): Map<string, GraphEdge[]> {
  const taken = takenEdges(r.graph, r.state.nodes);
  const out = new Map<string, GraphEdge[]>();
  r.graph.edges.forEach((e, i) => {
    if (taken.has(i)) out.set(e.from, [...(out.get(e.from) ?? []), e]);
  });
  return out;
}

export interface GraphDiff {
  nodes: { added: GraphNode[]; removed: GraphNode[]; changed: ChangedNode[] };
  edges: { added: GraphEdge[]; removed: GraphEdge[]; changed: ChangedEdge[] };
  /** That nothing of the above happened, but the order of edges did: the first one that holds is taken. */
  reordered: boolean;
}

export interface ChangedNode {
  nodeId: string;
  changes: Change[];
}

export interface ChangedEdge {
  before: GraphEdge;
  after: GraphEdge;
}

/** Compares two versions of a graph. An edge is changed when its condition is; otherwise it is another one. */
export function compareGraphs(before: Graph, after: Graph): GraphDiff {
  const old = new Map(before.nodes.map((n) => [n.nodeId, n]));
  const now = new Map(after.nodes.map((n) => [n.nodeId, n]));
  const changed = after.nodes.flatMap((n): ChangedNode[] => {
    const was = old.get(n.nodeId);
    const changes = was === undefined ? [] : diff(was, n);
    return changes.length === 0 ? [] : [{ nodeId: n.nodeId, changes }];
  });
  const edges = compareEdges(before.edges, after.edges);
  const nodes = {
    added: after.nodes.filter((n) => !old.has(n.nodeId)),
    removed: before.nodes.filter((n) => !now.has(n.nodeId)),
    changed,
  };
  const none = [...Object.values(nodes), ...Object.values(edges)].every((list) => list.length === 0);
  return { nodes, edges, reordered: none && !equal(before.edges.map(edgeKey), after.edges.map(edgeKey)) };
}

function compareEdges(before: readonly GraphEdge[], after: readonly GraphEdge[]): GraphDiff["edges"] {
  const rest = new Map<string, GraphEdge[]>();
  for (const e of before) rest.set(edgeKey(e), [...(rest.get(edgeKey(e)) ?? []), e]);
  const left = after.filter((e) => !rest.get(edgeKey(e))?.shift());
  const gone = before.filter((e) => rest.get(edgeKey(e))?.includes(e) === true);
  const changed: ChangedEdge[] = [];
  const added = left.filter((e) => {
    const i = gone.findIndex(
      (g) => g.from === e.from && g.to === e.to && (g.on ?? "success") === (e.on ?? "success"),
    );
    const was = gone[i];
    if (was === undefined) return true;
    gone.splice(i, 1);
    changed.push({ before: was, after: e });
    return false;
  });
  return { added, removed: gone, changed };
}

function edgeKey(e: GraphEdge): string {
  return JSON.stringify([e.from, e.to, e.on ?? "success", e.when ?? ""]);
}
