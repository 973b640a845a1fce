// Walking a graph with the keyboard: along edges to the next and the previous node, and across to its neighbours in
// the rank and on to the next rank, so that every node can be reached. The way back is the way that one came, as long
// as one does not turn off.

import type { Layout, Link } from "./layout";

export type Step = "next" | "previous" | "left" | "right" | "first" | "last";

/** Where one is, and the way that led there. */
export interface Place {
  id: string;
  trail: readonly string[];
}

export interface Guide {
  /** Where a walk begins: at the first node of the first rank. */
  start(): Place | undefined;
  /** The place after a step; the same one when there is no way. */
  step(from: Place, step: Step): Place;
}

/** What an arrow key means, by the direction of the picture. */
export function stepOf(key: string, direction: "down" | "right"): Step | undefined {
  const down: Record<string, Step> = {
    ArrowDown: "next",
    ArrowUp: "previous",
    ArrowLeft: "left",
    ArrowRight: "right",
    Home: "first",
    End: "last",
  };
  const right: Record<string, Step> = {
    ...down,
    ArrowRight: "next",
    ArrowLeft: "previous",
    ArrowUp: "left",
    ArrowDown: "right",
  };
  const steps = direction === "down" ? down : right;
  return Object.hasOwn(steps, key) ? steps[key] : undefined;
}

/** A guide for a layout. Of several ways on it takes the one that is drawn most in the middle. */
export function guide(layout: Layout, links: readonly Link[]): Guide {
  const next = new Map<string, string[]>();
  const previous = new Map<string, string[]>();
  for (const { from, to } of links) {
    if (!layout.byId.has(from) || !layout.byId.has(to)) continue;
    add(next, from, to);
    add(previous, to, from);
  }
  const middle = (ids: readonly string[] | undefined): string | undefined => {
    const sorted = [...(ids ?? [])].sort((a, b) => orderOf(layout, a) - orderOf(layout, b));
    return sorted[(sorted.length - 1) >> 1];
  };
  const rows = layout.ranks.filter((r) => r.length > 0);
  const move = (from: Place, to: string | undefined): Place =>
    to === undefined || to === from.id ? from : { id: to, trail: [...from.trail, from.id] };
  const turn = (from: Place, to: string | undefined): Place =>
    to === undefined || to === from.id ? from : { id: to, trail: [] };
  return {
    start() {
      const id = rows[0]?.[0];
      return id === undefined ? undefined : { id, trail: [] };
    },
    step(from, step) {
      const row = layout.ranks[layout.byId.get(from.id)?.rank ?? -1] ?? [];
      const at = row.indexOf(from.id);
      switch (step) {
        case "next":
          return move(from, middle(next.get(from.id)));
        case "previous": {
          const back = from.trail.at(-1);
          if (back !== undefined && previous.get(from.id)?.includes(back)) {
            return { id: back, trail: from.trail.slice(0, -1) };
          }
          return turn(from, middle(previous.get(from.id)));
        }
        case "left":
          return turn(from, at > 0 ? row[at - 1] : rows[rows.indexOf(row) - 1]?.at(-1));
        case "right":
          return turn(from, at < 0 ? undefined : (row[at + 1] ?? rows[rows.indexOf(row) + 1]?.[0]));
        case "first":
          return turn(from, rows[0]?.[0]);
        case "last":
          return turn(from, rows.at(-1)?.[0]);
      }
    },
  };
}

function orderOf(layout: Layout, id: string): number {
  return layout.byId.get(id)?.order ?? 0;
}

function add(to: Map<string, string[]>, key: string, id: string): void {
  const list = to.get(key);
  if (list) list.push(id);
  else to.set(key, [id]);
}
