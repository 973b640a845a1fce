import { useCallback, useEffect, useEffectEvent, useRef, useState } from "react";

/** A canvas that is painted once a frame: after each render, when its size or the theme changes, and when asked. */
export function useCanvas(paint: (c: CanvasRenderingContext2D, width: number, height: number) => void) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const [width, setWidth] = useState(0);
  const frame = useRef(0);
  const draw = useEffectEvent(() => {
    const el = canvas.current;
    const c = el?.getContext("2d");
    if (!el || !c || el.clientWidth === 0) return;
    const ratio = devicePixelRatio || 1;
    const [w, h] = [Math.round(el.clientWidth * ratio), Math.round(el.clientHeight * ratio)];
    if (el.width !== w) el.width = w;
    if (el.height !== h) el.height = h;
    c.setTransform(ratio, 0, 0, ratio, 0, 0);
    paint(c, el.clientWidth, el.clientHeight);
  });
  const paintNow = useEffectEvent(() => {
    frame.current = 0;
    draw();
  });
  const next = useRef<(() => void) | undefined>(undefined);
  const redraw = useCallback(() => next.current?.(), []);
  useEffect(() => {
    next.current = () => {
      if (frame.current === 0) frame.current = requestAnimationFrame(() => paintNow());
    };
    const el = canvas.current;
    if (!el) return;
    const size = new ResizeObserver(() => {
      setWidth(el.clientWidth);
      redraw();
    });
    size.observe(el);
    const theme = new MutationObserver(redraw);
    theme.observe(document.documentElement, { attributes: true, attributeFilter: ["data-theme"] });
    return () => {
      size.disconnect();
      theme.disconnect();
      cancelAnimationFrame(frame.current);
      frame.current = 0;
    };
  }, [redraw]);
  useEffect(() => redraw());
  return { canvas, width, redraw };
}
