// Folding: a Fork with many branches is drawn as one box with counts, so that a graph of thousands can be read.
// Branches that failed are never folded away. Forks may stand in forks: an inner one folds by itself when the branch
// that it stands in is shown.

import type { Graph, GraphNode, NodeState, NodeStatus } from "./types";
import { nodeLive } from "./types";

/** From more branches than these on a Fork is folded by itself. */
export const foldOver = 12;

/** The id of the box that stands for the folded branches of a Fork; no node can be named so. */
export function foldId(fork: string): string {
  return `fold:${fork}`;
}

/** A Fork with the Join that waits for its branches. */
export interface Block {
  fork: string;
  join: string;
  branches: Branch[];
  /** How many forks it stands in. */
  depth: number;
}

/** A branch, named by its first node, with all nodes in it, also those of forks in it. */
export interface Branch {
  head: string;
  nodes: string[];
}

/** How the branches of a folded box are getting on. A branch has the first of these that applies. */
export interface FoldCounts {
  branches: number;
  failed: number;
  waiting: number;
  running: number;
  ready: number;
  canceled: number;
  succeeded: number;
  created: number;
}

export interface FoldBox {
  id: string;
  fork: string;
  join: string;
  counts: FoldCounts;
  /** The first nodes of the branches in it. */
  heads: string[];
}

/** A node or a box of the folded graph, in the order of the graph. */
export interface FoldedNode {
  id: string;
  node?: GraphNode;
  box?: FoldBox;
}

export interface FoldedEdge {
  from: string;
  to: string;
  on: string;
  when?: string | undefined;
  /** Its place in the graph; of an edge of a box, that of the first one that it stands for. */
  index: number;
}

export interface Folded {
  nodes: FoldedNode[];
  edges: FoldedEdge[];
  boxes: FoldBox[];
  /** By node, the box that it is in. */
  hidden: Map<string, string>;
}

/** What somebody wants otherwise than it is by itself. */
export interface FoldChoice {
  /** Forks whose branches are all shown. */
  unfolded?: ReadonlySet<string> | undefined;
  /** Forks that are folded although they have few branches. */
  folded?: ReadonlySet<string> | undefined;
}

/** Finds the Forks with their Joins and branches, outer ones first. */
export function blocksOf(graph: Graph): Block[] {
  const next = new Map<string, string[]>();
  for (const e of graph.edges) {
    const to = next.get(e.from);
    if (to) to.push(e.to);
    else next.set(e.from, [e.to]);
  }
  const kind = new Map(graph.nodes.map((n) => [n.nodeId, n.type]));
  const joins = pairForks(graph, next, kind);
  const blocks = graph.nodes.flatMap((n) => {
    const join = joins.get(n.nodeId);
    if (n.type !== "Fork" || join === undefined) return [];
    const heads = [...new Set(next.get(n.nodeId) ?? [])].filter((id) => kind.has(id));
    const branches = heads.map((head) => ({ head, nodes: branchFrom(head, join, next, kind) }));
    return [{ fork: n.nodeId, join, branches, depth: 0 }];
  });
  const around = new Map<string, number>();
  for (const b of blocks) {
    for (const branch of b.branches) {
      for (const id of branch.nodes) around.set(id, (around.get(id) ?? 0) + 1);
    }
  }
  for (const b of blocks) b.depth = around.get(b.fork) ?? 0;
  return blocks.sort((a, b) => a.depth - b.depth);
}

/**
 * Pairs each Fork with its Join: along the edges every node has a stack of the forks that it stands in; a Join closes
 * the last one. Graphs that the server has taken are nested properly; in a draft a Fork may stay alone.
 */
function pairForks(
  graph: Graph,
  next: Map<string, string[]>,
  kind: Map<string, string>,
): Map<string, string> {
  interface Frame {
    fork: string;
    around: Frame | undefined;
  }
  const pairs = new Map<string, string>();
  const seen = new Set<string>();
  const todo: { id: string; frame: Frame | undefined }[] = [];
  const into = new Set(graph.edges.map((e) => e.to));
  for (const n of graph.nodes) if (!into.has(n.nodeId)) todo.push({ id: n.nodeId, frame: undefined });
  for (let step = todo.pop(); step; step = todo.pop()) {
    let frame = step.frame;
    if (seen.has(step.id)) continue;
    seen.add(step.id);
    if (kind.get(step.id) === "Join" && frame) {
      pairs.set(frame.fork, step.id);
      frame = frame.around;
    }
    if (kind.get(step.id) === "Fork") frame = { fork: step.id, around: frame };
    for (const id of next.get(step.id) ?? []) todo.push({ id, frame });
  }
  return pairs;
}

/** What stands between the first node of a branch and the Join. What ends an execution is of no branch. */
function branchFrom(
  head: string,
  join: string,
  next: Map<string, string[]>,
  kind: Map<string, string>,
): string[] {
  const seen = new Set([head]);
  for (const id of seen) {
    for (const to of next.get(id) ?? []) {
      const type = kind.get(to);
      if (to !== join && type !== undefined && !ends.has(type)) seen.add(to);
    }
  }
  return [...seen];
}

const ends = new Set(["Success", "Failed", "Canceled"]);

/** The graph as it is drawn: with boxes for what is folded. States may be missing, of a graph that does not run. */
export function fold(
  graph: Graph,
  nodes: readonly NodeState[] = [],
  choice: FoldChoice = {},
  blocks: readonly Block[] = blocksOf(graph),
): Folded {
  const states = new Map(nodes.map((n) => [n.nodeId, n]));
  const hidden = new Map<string, string>();
  const boxes = new Map<string, FoldBox>(); // by Fork
  for (const b of blocks) {
    if (hidden.has(b.fork) || !isFolded(b, choice)) continue;
    const statuses = b.branches.map((branch) => branchStatus(branch, states));
    const inside = b.branches.filter((_, i) => statuses[i] !== "failed");
    if (inside.length < 2) continue; // a box for one branch says less than the branch
    const box: FoldBox = {
      id: foldId(b.fork),
      fork: b.fork,
      join: b.join,
      counts: count(statuses),
      heads: inside.map((branch) => branch.head),
    };
    boxes.set(b.fork, box);
    for (const branch of inside) for (const id of branch.nodes) hidden.set(id, box.id);
  }
  const shown: FoldedNode[] = [];
  for (const n of graph.nodes) {
    if (!hidden.has(n.nodeId)) shown.push({ id: n.nodeId, node: n });
    const box = boxes.get(n.nodeId);
    if (box) shown.push({ id: box.id, box });
  }
  return { nodes: shown, edges: foldEdges(graph, hidden), boxes: [...boxes.values()], hidden };
}

function isFolded(b: Block, choice: FoldChoice): boolean {
  if (choice.unfolded?.has(b.fork)) return false;
  return b.branches.length > foldOver || choice.folded?.has(b.fork) === true;
}

type BranchStatus = Exclude<keyof FoldCounts, "branches">;

/** How a branch is getting on: what a person would want to know of it first. */
function branchStatus(branch: Branch, states: Map<string, NodeState>): BranchStatus {
  const has = new Set<NodeStatus | "RETRY">();
  for (const id of branch.nodes) {
    const n = states.get(id);
    if (n === undefined) continue;
    has.add(n.status === "CREATED" && nodeLive(n) ? "RETRY" : n.status);
  }
  if (has.has("FAILED")) return "failed";
  if (has.has("WAITING")) return "waiting";
  if (has.has("RUNNING")) return "running";
  if (has.has("READY") || has.has("RETRY")) return "ready";
  if (has.has("CANCELED")) return "canceled";
  return has.has("SUCCEEDED") ? "succeeded" : "created";
}

function count(statuses: BranchStatus[]): FoldCounts {
  const counts: FoldCounts = {
    branches: statuses.length,
    failed: 0,
    waiting: 0,
    running: 0,
    ready: 0,
    canceled: 0,
    succeeded: 0,
    created: 0,
  };
  for (const status of statuses) counts[status]++;
  return counts;
}

/** The edges between what is shown; several that a box makes equal are one. */
function foldEdges(graph: Graph, hidden: Map<string, string>): FoldedEdge[] {
  const edges: FoldedEdge[] = [];
  const known = new Set<string>();
  graph.edges.forEach((e, index) => {
    const from = hidden.get(e.from) ?? e.from;
    const to = hidden.get(e.to) ?? e.to;
    const on = e.on ?? "success";
    if (from === e.from && to === e.to) {
      edges.push({ from, to, on, when: e.when, index });
      return;
    }
    const key = JSON.stringify([from, to, on]);
    if (from === to || known.has(key)) return;
    known.add(key);
    edges.push({ from, to, on, index });
  });
  return edges;
}

/** The Forks to unfold so that a node is shown: those of the boxes around it, outer ones first. */
export function pathTo(node: string, blocks: readonly Block[]): string[] {
  return blocks.filter((b) => b.branches.some((br) => br.nodes.includes(node))).map((b) => b.fork);
}
