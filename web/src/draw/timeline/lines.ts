import type { Bar, Group, Row, Timeline } from "../../flow/bars";

/** A line of the drawing: the name of a group, or a node with its bars. */
export type Line = { kind: "group"; group: Group } | { kind: "row"; row: Row; past: Row | undefined };

/** The lines of a timeline. `past` is the timeline of a moment before, of the same execution. */
export function linesOf(all: Timeline, past: Timeline | undefined, grouped: boolean): Line[] {
  const then = new Map(past?.rows.map((r) => [r.nodeId, r]));
  const lines: Line[] = [];
  for (const group of all.groups) {
    if (grouped) lines.push({ kind: "group", group });
    for (const row of group.rows) lines.push({ kind: "row", row, past: then.get(row.nodeId) });
  }
  return lines;
}

/** The bar of a row at an instant, or the nearest one within some milliseconds: short bars can be met, too. */
export function barAt(row: Row, at: number, near: number): Bar | undefined {
  let best: Bar | undefined;
  let least = near;
  for (const bar of row.bars) {
    const off = at < bar.from ? bar.from - at : at > bar.to ? at - bar.to : 0;
    // Of two that touch, the later one.
    if (off > least) continue;
    best = bar;
    least = off;
  }
  return best;
}

export interface Spans {
  ready: number;
  attempt: number;
  wait: number;
  backoff: number;
}

/** How long a node was ready, at work, waiting, and between attempts. */
export function spansOf(row: Row): Spans {
  const out: Spans = { ready: 0, attempt: 0, wait: 0, backoff: 0 };
  for (const bar of row.bars) out[bar.kind] += bar.to - bar.from;
  return out;
}
