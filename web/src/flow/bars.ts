// The timeline: attempts as bars. A thin bar is the time in which an attempt was ready, a solid one the attempt, a
// hatched one a wait; the gap before a retry is a backoff. A flag is the fence of a cancel, a hollow mark a result that
// came too late. Times are milliseconds since the epoch, so that a canvas only has to scale them.

import type { Attempt, ExecutionState, Graph, LateResult, NodeAttempts } from "./types";

export type BarKind = "ready" | "attempt" | "wait" | "backoff";

export interface Bar {
  kind: BarKind;
  from: number;
  /** Now, of what has not ended. */
  to: number;
  open: boolean;
  attempt: number;
  outcome?: string | undefined;
  workerId?: string | undefined;
  errorCode?: string | undefined;
  waitKey?: string | undefined;
}

export interface Row {
  nodeId: string;
  group: string;
  bars: Bar[];
  /** Results of this node that came too late. */
  late: { at: number; guard: string; attempt?: number | undefined }[];
  from: number;
  to: number;
  /** How its last attempt ended; none while it goes on. */
  outcome?: string | undefined;
  attempts: number;
  critical: boolean;
}

export interface Group {
  name: string;
  rows: Row[];
  from: number;
  to: number;
}

export interface Timeline {
  groups: Group[];
  rows: Row[];
  from: number;
  to: number;
  /** Where cancel won. */
  fence?: { at: number; seq: number } | undefined;
  /** The nodes of the critical path, first to last. */
  critical: string[];
}

export type GroupBy = "node" | "branch" | "worker";

export interface TimelineOptions {
  now: number;
  groupBy?: GroupBy | undefined;
  /** Only nodes of which an attempt failed. */
  onlyFailed?: boolean | undefined;
  /** Without nodes whose last attempt succeeded. */
  hideSucceeded?: boolean | undefined;
  /** By node, the name of its branch; for groupBy "branch". */
  branches?: ReadonlyMap<string, string> | undefined;
}

/** What of an execution the timeline shows beside the attempts. */
export type TimelineState = Pick<
  ExecutionState,
  "createdAt" | "startedAt" | "endedAt" | "cancelRequestedAt"
> & {
  cancel?: { seq: number } | undefined;
  lateResults?: readonly LateResult[] | undefined;
};

/** The timeline of an execution. */
export function timeline(
  nodes: readonly NodeAttempts[],
  state: TimelineState,
  graph: Graph | undefined,
  options: TimelineOptions,
): Timeline {
  const late = new Map<string, LateResult[]>();
  for (const l of state.lateResults ?? []) late.set(l.nodeId, [...(late.get(l.nodeId) ?? []), l]);
  const all = nodes.map((n) => rowOf(n, late.get(n.nodeId) ?? [], options.now));
  const critical = graph === undefined ? [] : criticalPath(all, graph);
  const on = new Set(critical);
  for (const row of all) row.critical = on.has(row.nodeId);
  const rows = all.filter((row) => wanted(row, options));
  const from = Date.parse(state.startedAt ?? state.createdAt);
  const end = state.endedAt === undefined ? options.now : Date.parse(state.endedAt);
  return {
    groups: group(rows, options),
    rows,
    from: all.reduce((t, r) => Math.min(t, r.from), from),
    to: all.reduce((t, r) => Math.max(t, r.to, r.late.at(-1)?.at ?? 0), end),
    fence:
      state.cancel && state.cancelRequestedAt !== null
        ? { at: Date.parse(state.cancelRequestedAt), seq: state.cancel.seq }
        : undefined,
    critical,
  };
}

function rowOf(n: NodeAttempts, late: LateResult[], now: number): Row {
  const bars: Bar[] = [];
  let before: number | undefined; // the end of the attempt before
  for (const a of n.attempts) {
    const begin = a.readyAt ?? a.startedAt;
    if (begin !== undefined && before !== undefined && Date.parse(begin) > before) {
      bars.push({ kind: "backoff", from: before, to: Date.parse(begin), open: false, attempt: a.attempt });
    }
    barsOf(a, now, bars);
    before = a.endedAt === undefined ? undefined : Date.parse(a.endedAt);
  }
  const last = n.attempts.at(-1);
  return {
    nodeId: n.nodeId,
    group: "",
    bars,
    late: late.map((l) => ({ at: Date.parse(l.receivedAt), guard: l.guard, attempt: l.attempt })),
    from: bars[0]?.from ?? now,
    to: bars.reduce((t, b) => Math.max(t, b.to), bars[0]?.from ?? now),
    outcome: last?.outcome,
    attempts: n.attempts.length,
    critical: false,
  };
}

/** The bars of one attempt: ready, then at work with its waits. */
function barsOf(a: Attempt, now: number, into: Bar[]): void {
  const end = a.endedAt === undefined ? undefined : Date.parse(a.endedAt);
  const waits = a.waits ?? [];
  const started = a.startedAt ?? waits[0]?.since; // a Wait waits without a start
  const begin = started === undefined ? undefined : Date.parse(started);
  const base = {
    attempt: a.attempt,
    outcome: a.outcome,
    workerId: a.workerId,
    errorCode: a.error?.code,
  };
  if (a.readyAt !== undefined) {
    const to = begin ?? end;
    into.push({
      ...base,
      kind: "ready",
      from: Date.parse(a.readyAt),
      to: to ?? Math.max(now, Date.parse(a.readyAt)),
      open: to === undefined,
    });
  }
  if (begin === undefined) return;
  let at = begin;
  for (const w of waits) {
    const since = Date.parse(w.since);
    if (since > at) into.push({ ...base, kind: "attempt", from: at, to: since, open: false });
    const until = w.until === undefined ? end : Date.parse(w.until);
    at = until ?? Math.max(now, since);
    into.push({ ...base, kind: "wait", from: since, to: at, open: until === undefined, waitKey: w.waitKey });
    if (until === undefined) return;
  }
  if (waits.length > 0 && end !== undefined && end <= at) return; // it ended with its wait
  into.push({ ...base, kind: "attempt", from: at, to: end ?? Math.max(now, at), open: end === undefined });
}

function wanted(row: Row, o: TimelineOptions): boolean {
  if (o.onlyFailed && !row.bars.some((b) => b.outcome === "FAILED")) return false;
  return !(o.hideSucceeded && row.outcome === "SUCCEEDED");
}

/** Puts rows into groups, in the order in which they were first ready. */
function group(rows: Row[], o: TimelineOptions): Group[] {
  const groups = new Map<string, Group>();
  for (const row of rows) {
    row.group = groupOf(row, o);
    let g = groups.get(row.group);
    if (g === undefined) {
      g = { name: row.group, rows: [], from: row.from, to: row.to };
      groups.set(row.group, g);
    }
    g.rows.push(row);
    g.from = Math.min(g.from, row.from);
    g.to = Math.max(g.to, row.to);
  }
  return [...groups.values()];
}

function groupOf(row: Row, o: TimelineOptions): string {
  switch (o.groupBy) {
    case "branch":
      return o.branches?.get(row.nodeId) ?? "";
    case "worker":
      return row.bars.findLast((b) => b.workerId !== undefined)?.workerId ?? "";
    default:
      return row.nodeId;
  }
}

/**
 * The way that determined when the execution ended: from the node that ended last back over the predecessor that ended
 * last before it was ready. Nodes that only route, such as a Fork, have no attempts and are passed through.
 */
export function criticalPath(rows: readonly Span[], graph: Graph): string[] {
  const byId = new Map(rows.map((r) => [r.nodeId, r]));
  const up = new Map<string, string[]>();
  for (const e of graph.edges) {
    const from = up.get(e.to);
    if (from) from.push(e.from);
    else up.set(e.to, [e.from]);
  }
  let at: Span | undefined;
  for (const r of rows) if (later(r, at)) at = r;
  const path: string[] = [];
  while (at !== undefined && path.length < rows.length) {
    path.push(at.nodeId);
    at = latestBefore(at, up, byId);
  }
  return path.reverse();
}

type Span = Pick<Row, "nodeId" | "from" | "to" | "outcome">;

/** Reports whether something ended after the best: of two at once, the one that was not cancelled or began later. */
function later(r: Span, best: Span | undefined): boolean {
  if (best === undefined || r.to !== best.to) return best === undefined || r.to > best.to;
  const dropped = r.outcome === "CANCELED";
  return dropped === (best.outcome === "CANCELED") ? r.from >= best.from : !dropped;
}

function latestBefore(of: Span, up: Map<string, string[]>, byId: Map<string, Span>): Span | undefined {
  let best: Span | undefined;
  const seen = new Set<string>(up.get(of.nodeId));
  for (const id of seen) {
    const row = byId.get(id);
    if (row === undefined) for (const from of up.get(id) ?? []) seen.add(from);
    else if (row.nodeId !== of.nodeId && row.to <= of.from && later(row, best)) best = row;
  }
  return best;
}
