// Walking a drawing by keys: along edges, and between those that stand side by side.

import type { Layout } from "../../flow/layout";

export type Step = "next" | "back" | "before" | "after";

/** Which step an arrow key means, when the flow goes down or to the right. */
export function stepOf(key: string, direction: "down" | "right"): Step | undefined {
  const down: Record<string, Step> = {
    ArrowDown: "next",
    ArrowUp: "back",
    ArrowLeft: "before",
    ArrowRight: "after",
  };
  const right: Record<string, Step> = {
    ArrowRight: "next",
    ArrowLeft: "back",
    ArrowUp: "before",
    ArrowDown: "after",
  };
  return (direction === "down" ? down : right)[key];
}

interface Link {
  from: string;
  to: string;
}

/** The node that a step leads to, or nothing at an end. Of several neighbours, the one that stands nearest. */
export function walk(layout: Layout, links: readonly Link[], at: string, step: Step): string | undefined {
  const here = layout.byId.get(at);
  if (!here) return undefined;
  if (step === "before" || step === "after") {
    const rank = layout.ranks[here.rank] ?? [];
    return rank[rank.indexOf(at) + (step === "after" ? 1 : -1)];
  }
  let best: string | undefined;
  let least = Infinity;
  for (const l of links) {
    const other = step === "next" ? (l.from === at ? l.to : "") : l.to === at ? l.from : "";
    const there = other === "" ? undefined : layout.byId.get(other);
    if (!there) continue;
    const distance = Math.hypot(there.x - here.x, there.y - here.y);
    if (distance < least) {
      least = distance;
      best = other;
    }
  }
  return best;
}
