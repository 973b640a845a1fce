// Two versions of a graph side by side: the union as one picture, and the lines of their texts.

import { equal } from "./diff";
import type { Graph, GraphEdge, GraphNode } from "./types";

export type Tone = "added" | "removed" | "changed";

export interface GraphDiff {
  /** The nodes and edges of both: those of after first, then what is gone. */
  union: Graph;
  /** What became of a node; nodes that are as they were are not in it. */
  tones: Map<string, Tone>;
  /** What became of edges, with the place of each in the union; one that changed is in it once, as it is now. */
  edges: EdgeDiff[];
}

export interface EdgeDiff {
  edge: GraphEdge;
  tone: Tone;
  index: number;
  /** What a changed edge was. */
  was?: GraphEdge;
}

/** What became of the nodes and edges of a graph. */
export function diffGraphs(before: Graph, after: Graph): GraphDiff {
  const old = new Map(before.nodes.map((n) => [n.nodeId, n]));
  const now = new Set(after.nodes.map((n) => n.nodeId));
  const tones = new Map<string, Tone>();
  for (const n of after.nodes) {
    const was = old.get(n.nodeId);
    if (!was) tones.set(n.nodeId, "added");
    else if (!equal(was, n)) tones.set(n.nodeId, "changed");
  }
  const gone: GraphNode[] = before.nodes.filter((n) => !now.has(n.nodeId));
  for (const n of gone) tones.set(n.nodeId, "removed");
  const left = new Map<string, GraphEdge[]>();
  for (const e of before.edges) left.set(edgeKey(e), [...(left.get(edgeKey(e)) ?? []), e]);
  const fresh: EdgeDiff[] = [];
  after.edges.forEach((edge, index) => {
    if (!left.get(edgeKey(edge))?.pop()) fresh.push({ edge, tone: "added", index });
  });
  // One that joins the same nodes as before, on another end or condition, has changed.
  const removed = [...left.values()].flat();
  const edges = fresh.map((e): EdgeDiff => {
    const at = removed.findIndex((r) => r.from === e.edge.from && r.to === e.edge.to);
    const was = removed[at];
    if (!was) return e;
    removed.splice(at, 1);
    return { ...e, tone: "changed", was };
  });
  removed.forEach((edge, i) => edges.push({ edge, tone: "removed", index: after.edges.length + i }));
  return {
    union: { nodes: [...after.nodes, ...gone], edges: [...after.edges, ...removed] },
    tones,
    edges,
  };
}

function edgeKey(e: GraphEdge): string {
  return JSON.stringify([e.from, e.to, e.on ?? "success", e.when ?? ""]);
}

export interface Line {
  kind: "same" | "added" | "removed";
  text: string;
  /** Its number in the text before and after. */
  before?: number;
  after?: number;
}

/** Above so many lines that differ, the middle is shown as replaced: the exact way takes the square of the time. */
const maxLines = 3_000;

/** The lines of two texts, as `diff` shows them. */
export function diffLines(before: string, after: string): Line[] {
  const a = linesOf(before);
  const b = linesOf(after);
  let head = 0;
  while (head < a.length && head < b.length && a[head] === b[head]) head++;
  let tail = 0;
  const most = Math.min(a.length, b.length) - head;
  while (tail < most && a[a.length - 1 - tail] === b[b.length - 1 - tail]) tail++;
  const out: Line[] = [];
  let [i, k] = [0, 0];
  const same = (to: number) => {
    for (; i < to; i++, k++) out.push({ kind: "same", text: a[i] ?? "", before: i + 1, after: k + 1 });
  };
  same(head);
  for (const step of steps(a.slice(head, a.length - tail), b.slice(head, b.length - tail))) {
    if (step === "same") same(i + 1);
    else if (step === "removed") out.push({ kind: step, text: a[i] ?? "", before: ++i });
    else out.push({ kind: step, text: b[k] ?? "", after: ++k });
  }
  same(a.length);
  return out;
}

function linesOf(text: string): string[] {
  const lines = text.split("\n");
  if (lines.at(-1) === "") lines.pop();
  return lines;
}

function steps(a: string[], b: string[]): Line["kind"][] {
  const all = (kind: "added" | "removed", n: number) => new Array<Line["kind"]>(n).fill(kind);
  if (a.length === 0 || b.length === 0 || Math.max(a.length, b.length) > maxLines)
    return [...all("removed", a.length), ...all("added", b.length)];
  const width = b.length + 1;
  const long = new Uint16Array((a.length + 1) * width);
  const at = (i: number, k: number) => long[i * width + k] ?? 0;
  for (let i = a.length - 1; i >= 0; i--)
    for (let k = b.length - 1; k >= 0; k--)
      long[i * width + k] = a[i] === b[k] ? at(i + 1, k + 1) + 1 : Math.max(at(i + 1, k), at(i, k + 1));
  const out: Line["kind"][] = [];
  let [i, k] = [0, 0];
  while (i < a.length && k < b.length) {
    if (a[i] === b[k]) {
      out.push("same");
      i++;
      k++;
    } else if (at(i + 1, k) >= at(i, k + 1)) {
      out.push("removed");
      i++;
    } else {
      out.push("added");
      k++;
    }
  }
  return [...out, ...all("removed", a.length - i), ...all("added", b.length - k)];
}
