// The attempts of nodes from a log, as GET /executions/{id}/attempts computes them: for live views and for the slider,
// which show a part of the log.

import type { Attempt, Failure, FlowEvent, NodeAttempts } from "./types";

type Open = { -readonly [K in keyof Attempt]: Attempt[K] } & {
  waits?: { since: string; until?: string; waitKey?: string }[] | undefined;
};

interface Payload {
  nodeId?: string;
  attempt?: number;
  workerId?: string;
  waitKey?: string;
  reminder?: number;
  error?: Failure;
}

/** The attempts up to an event; all of the log unless one is given. Nodes are in the order in which they were ready. */
export function attemptsOf(events: readonly FlowEvent[], upTo = Infinity): NodeAttempts[] {
  const nodes = new Map<string, Open[]>();
  for (const ev of events) {
    if (ev.seq > upTo) break;
    const p = (ev.payload ?? {}) as Payload;
    if (p.nodeId !== undefined) add(nodes, ev, p.nodeId, p);
  }
  return [...nodes].map(([nodeId, attempts]) => ({ nodeId, attempts }));
}

function add(nodes: Map<string, Open[]>, ev: FlowEvent, id: string, p: Payload): void {
  const last = nodes.get(id)?.at(-1);
  switch (ev.type) {
    case "NODE_READY":
      begin(nodes, id, Math.max(p.attempt ?? 0, 1)).readyAt = ev.occurredAt;
      return;
    case "NODE_STARTED": {
      const at = last === undefined || last.endedAt !== undefined ? begin(nodes, id, p.attempt ?? 1) : last;
      at.startedAt = ev.occurredAt;
      if (p.workerId) at.workerId = p.workerId;
      return;
    }
    case "NODE_WAITING":
      if (last === undefined || p.reminder) return;
      last.waits = [
        ...(last.waits ?? []),
        { since: ev.occurredAt, ...(p.waitKey ? { waitKey: p.waitKey } : {}) },
      ];
      return;
    case "NODE_RESUMED":
      if (last) goOn(last, ev.occurredAt);
      return;
    case "NODE_SUCCEEDED":
      return end(last, ev, "SUCCEEDED");
    case "NODE_FAIL_REPORTED":
    case "NODE_FAILED":
      return end(last, ev, "FAILED", p.error);
    case "NODE_CANCELED":
      return end(last, ev, "CANCELED");
  }
}

function begin(nodes: Map<string, Open[]>, id: string, attempt: number): Open {
  const of = nodes.get(id) ?? [];
  if (of.length === 0) nodes.set(id, of);
  const next: Open = { attempt };
  of.push(next);
  return next;
}

function end(last: Open | undefined, ev: FlowEvent, outcome: string, error?: Failure): void {
  if (last === undefined || last.endedAt !== undefined) return;
  goOn(last, ev.occurredAt);
  last.endedAt = ev.occurredAt;
  last.outcome = outcome;
  if (error !== undefined) last.error = error;
}

/** Ends a wait. */
function goOn(a: Open, at: string): void {
  const wait = a.waits?.at(-1);
  if (wait && wait.until === undefined) wait.until = at;
}
