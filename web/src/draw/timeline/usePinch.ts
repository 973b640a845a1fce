import { useRef, type PointerEvent } from "react";

interface Pinch {
  /** The picture is dragged so many pixels to the right. */
  onPan: (px: number) => void;
  onZoom: (factor: number, clientX: number) => void;
}

/** Drag to pan, two fingers to zoom. */
export function usePinch({ onPan, onZoom }: Pinch) {
  const pointers = useRef(new Map<number, number>());
  const travelled = useRef(0);
  const onPointerDown = (e: PointerEvent<HTMLElement>) => {
    if (e.button !== 0) return;
    if (pointers.current.size === 0) travelled.current = 0;
    pointers.current.set(e.pointerId, e.clientX);
  };
  const onPointerMove = (e: PointerEvent<HTMLElement>) => {
    const all = pointers.current;
    const before = all.get(e.pointerId);
    if (before === undefined) return;
    const by = e.clientX - before;
    travelled.current += Math.abs(by);
    const others = [...all].filter(([id]) => id !== e.pointerId).map(([, x]) => x);
    const other = others[0];
    all.set(e.pointerId, e.clientX);
    if (other !== undefined) {
      const [was, is] = [Math.abs(before - other), Math.abs(e.clientX - other)];
      if (was > 4 && is > 4) onZoom(was / is, (e.clientX + other) / 2);
      return;
    }
    if (travelled.current < 4) return;
    if (e.pointerType === "mouse" && !e.currentTarget.hasPointerCapture(e.pointerId)) {
      e.currentTarget.setPointerCapture(e.pointerId);
    }
    if (by !== 0) onPan(by);
  };
  const end = (e: PointerEvent<HTMLElement>) => void pointers.current.delete(e.pointerId);
  return {
    handlers: { onPointerDown, onPointerMove, onPointerUp: end, onPointerCancel: end },
    /** Whether the pointer that went up had moved: then it was no click. */
    moved: () => travelled.current >= 4,
  };
}
