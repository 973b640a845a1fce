import { useEffect, useEffectEvent } from "react";
import type { ViewControl } from "./useView";
import { panBy, zoomAt } from "./view";

/** Drag moves, wheel moves, wheel with Ctrl or a pinch zooms, a click that does not drag is told. */
export function usePointer(v: ViewControl, onClick: (at: { x: number; y: number }, target: Element) => void) {
  const click = useEffectEvent(onClick);
  const { container, move } = v;

  useEffect(() => {
    const el = container.current;
    if (!el) return;
    const local = (e: { clientX: number; clientY: number }) => {
      const box = el.getBoundingClientRect();
      return { x: e.clientX - box.left, y: e.clientY - box.top };
    };
    const down = new Map<number, { x: number; y: number }>();
    let travelled = 0;

    const onDown = (e: PointerEvent) => {
      if (e.button !== 0 || (e.target as Element).closest("button, input, .graph-map, .graph-find")) return;
      down.set(e.pointerId, local(e));
      travelled = 0;
    };
    const onMove = (e: PointerEvent) => {
      const from = down.get(e.pointerId);
      if (!from) return;
      const to = local(e);
      const others = [...down.entries()].filter(([id]) => id !== e.pointerId);
      const other = others[0]?.[1];
      if (other) {
        const before = Math.hypot(from.x - other.x, from.y - other.y);
        const after = Math.hypot(to.x - other.x, to.y - other.y);
        if (before > 0) move((view) => zoomAt(view, other, after / before));
      } else move((view) => panBy(view, to.x - from.x, to.y - from.y));
      travelled += Math.hypot(to.x - from.x, to.y - from.y);
      if (travelled > 4 && !el.hasPointerCapture(e.pointerId)) el.setPointerCapture(e.pointerId);
      down.set(e.pointerId, to);
    };
    const onUp = (e: PointerEvent) => {
      if (!down.delete(e.pointerId)) return;
      if (travelled <= 4 && e.type === "pointerup" && e.target instanceof Element) click(local(e), e.target);
    };
    const onWheel = (e: WheelEvent) => {
      // A page that scrolls under the pointer keeps scrolling: only with Ctrl, or sideways, or when it has the focus.
      if (e.ctrlKey || e.metaKey) {
        e.preventDefault();
        move((view) => zoomAt(view, local(e), Math.exp(-e.deltaY * (e.deltaMode === 1 ? 0.05 : 0.0025))));
      } else if (el.contains(document.activeElement) || Math.abs(e.deltaX) > Math.abs(e.deltaY)) {
        e.preventDefault();
        const unit = e.deltaMode === 1 ? 16 : 1;
        move((view) => panBy(view, -e.deltaX * unit, -e.deltaY * unit));
      }
    };

    el.addEventListener("pointerdown", onDown);
    el.addEventListener("pointermove", onMove);
    el.addEventListener("pointerup", onUp);
    el.addEventListener("pointercancel", onUp);
    el.addEventListener("wheel", onWheel, { passive: false });
    return () => {
      el.removeEventListener("pointerdown", onDown);
      el.removeEventListener("pointermove", onMove);
      el.removeEventListener("pointerup", onUp);
      el.removeEventListener("pointercancel", onUp);
      el.removeEventListener("wheel", onWheel);
    };
  }, [container, move]);
}
