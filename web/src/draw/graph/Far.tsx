import { memo } from "react";
import type { Folded } from "../../flow/fold";
import type { Layout } from "../../flow/layout";
import type { NodeState } from "../../flow/types";

/** Nodes from afar: a path for each status. Ten thousand nodes are eight elements. */
export const Far = memo(function Far({
  folded,
  layout,
  states,
}: {
  folded: Folded;
  layout: Layout;
  states: ReadonlyMap<string, NodeState>;
}) {
  return (
    <g className="gfar">
      {[...farPaths(folded, layout, states)].map(([status, d]) => (
        <path key={status} className={`is-${status.toLowerCase()}`} data-far={status} d={d} />
      ))}
    </g>
  );
});

/** For each status the rectangles of its nodes; a box of folded branches has the status that matters most in it. */
export function farPaths(
  folded: Folded,
  layout: Layout,
  states: ReadonlyMap<string, NodeState>,
): Map<string, string> {
  const paths = new Map<string, string[]>();
  for (const n of folded.nodes) {
    const at = layout.byId.get(n.id);
    if (!at) continue;
    const status = n.box ? foldStatus(n.box.counts) : (states.get(n.id)?.status ?? "none");
    const d = `M${at.x - at.width / 2} ${at.y - at.height / 2}h${at.width}v${at.height}h${-at.width}Z`;
    const list = paths.get(status);
    if (list) list.push(d);
    else paths.set(status, [d]);
  }
  return new Map([...paths].map(([status, list]) => [status, list.join("")]));
}

function foldStatus(c: NonNullable<Folded["boxes"][number]>["counts"]): string {
  if (c.waiting > 0) return "WAITING";
  if (c.running > 0) return "RUNNING";
  if (c.ready > 0) return "READY";
  if (c.canceled > 0) return "CANCELED";
  return c.created > 0 ? "CREATED" : "SUCCEEDED";
}
