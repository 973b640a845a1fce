import { useEffect, useRef, type PointerEvent } from "react";
import type { Folded } from "../../flow/fold";
import type { Layout } from "../../flow/layout";
import type { NodeState } from "../../flow/types";
import { usePageWords } from "../../words";
import { Far } from "./Far";
import type { ViewControl } from "./useView";
import { centreOn, holds, sight } from "./view";
import { text } from "./words";

const most = { width: 168, height: 112 };

/** The whole graph, small, with a frame around what is in sight. A click or a drag goes there. */
export function Minimap({
  folded,
  layout,
  states,
  control,
}: {
  folded: Folded;
  layout: Layout;
  states: ReadonlyMap<string, NodeState>;
  control: ViewControl;
}) {
  const t = usePageWords(text);
  const box = useRef<SVGRectElement>(null);
  const { onView, move, area } = control;
  useEffect(
    () =>
      onView((v, a) => {
        const r = sight(v, a);
        const whole = { x: 0, y: 0, width: layout.width, height: layout.height };
        box.current?.ownerSVGElement?.classList.toggle("whole", holds(r, whole));
        const x = Math.max(0, Math.min(layout.width, r.x));
        const y = Math.max(0, Math.min(layout.height, r.y));
        box.current?.setAttribute("x", String(x));
        box.current?.setAttribute("y", String(y));
        box.current?.setAttribute("width", String(Math.max(0, Math.min(layout.width, r.x + r.width) - x)));
        box.current?.setAttribute("height", String(Math.max(0, Math.min(layout.height, r.y + r.height) - y)));
      }),
    [onView, layout],
  );
  const k = Math.min(most.width / layout.width, most.height / layout.height);
  const go = (e: PointerEvent<SVGSVGElement>) => {
    const r = e.currentTarget.getBoundingClientRect();
    const p = { x: (e.clientX - r.left) / k, y: (e.clientY - r.top) / k };
    move((v) => centreOn(p, v.k, area()));
  };
  return (
    <svg
      className="graph-map"
      width={Math.max(24, layout.width * k)}
      height={Math.max(16, layout.height * k)}
      viewBox={`0 0 ${layout.width} ${layout.height}`}
      preserveAspectRatio="xMidYMid meet"
      role="img"
      aria-label={t.map}
      onPointerDown={(e) => {
        e.currentTarget.setPointerCapture(e.pointerId);
        go(e);
      }}
      onPointerMove={(e) => {
        if (e.currentTarget.hasPointerCapture(e.pointerId)) go(e);
      }}
    >
      <Far folded={folded} layout={layout} states={states} />
      <rect ref={box} className="graph-map-sight" />
    </svg>
  );
}
