import { useCallback, useEffect, useRef, useState } from "react";
import { fit, grow, holds, keepInSight, sight, textScale } from "./view";
import type { Area, Rect, View } from "./view";

/** What is drawn in full: a part around what is in sight, and whether texts can be read. */
export interface Frame {
  part: Rect;
  texts: boolean;
  /** The scale when the frame was made. */
  k: number;
}

export interface ViewControl {
  container: React.RefObject<HTMLDivElement | null>;
  world: React.RefObject<SVGGElement | null>;
  frame: Frame | undefined;
  /** The present view; undefined before the first one. */
  view: () => View | undefined;
  area: () => Area;
  set: (next: View) => void;
  /** Shows the whole drawing, and again when the room changes, until somebody moves it. */
  fitAll: () => void;
  move: (change: (v: View) => View) => void;
  /** Called after each change, without a render. */
  onView: (listener: (v: View, area: Area) => void) => () => void;
}

/** Pan and zoom change one attribute; only when other nodes come into sight is there a render. */
export function useView(drawing: Area | undefined): ViewControl {
  const container = useRef<HTMLDivElement>(null);
  const world = useRef<SVGGElement>(null);
  const current = useRef<View>(undefined);
  const shown = useRef<Frame>(undefined);
  const size = useRef<Area | undefined>(drawing);
  const whole = useRef(false);
  /** The room when the view was made. */
  const room = useRef<Area>(undefined);
  const listeners = useRef(new Set<(v: View, area: Area) => void>());
  const [frame, setFrame] = useState<Frame>();

  useEffect(() => {
    size.current = drawing;
  }, [drawing]);

  const area = useCallback((): Area => {
    const el = container.current;
    return { width: el?.clientWidth || 800, height: el?.clientHeight || 400 };
  }, []);

  const apply = useCallback(() => {
    const v = current.current;
    if (!v) return;
    const a = area();
    room.current = a;
    const k = Math.round(v.k * 1e4) / 1e4;
    world.current?.setAttribute("transform", `translate(${v.x.toFixed(1)} ${v.y.toFixed(1)}) scale(${k})`);
    const seen = sight(v, a);
    const old = shown.current;
    const texts = v.k >= textScale;
    const stale = !old || old.texts !== texts || !holds(old.part, seen) || (texts && v.k > old.k * 2);
    if (stale) {
      shown.current = { part: grow(seen, texts ? 0.5 : 2), texts, k: v.k };
      setFrame(shown.current);
    }
    for (const l of listeners.current) l(v, a);
  }, [area]);

  const set = useCallback(
    (next: View) => {
      const old = current.current;
      current.current = size.current ? keepInSight(next, size.current, area()) : next;
      if (!old || !same(old, current.current)) whole.current = false;
      apply();
    },
    [apply, area],
  );

  const fitAll = useCallback(() => {
    if (!size.current) return;
    current.current = fit(size.current, area());
    whole.current = true;
    apply();
  }, [apply, area]);

  useEffect(() => {
    const el = container.current;
    if (!el) return;
    const watch = new ResizeObserver(() => {
      const [v, was, is] = [current.current, room.current, area()];
      if (whole.current) fitAll();
      // What was in the middle stays there.
      else if (v && was)
        set({ ...v, x: v.x + (is.width - was.width) / 2, y: v.y + (is.height - was.height) / 2 });
    });
    watch.observe(el);
    return () => watch.disconnect();
  }, [area, fitAll, set]);

  const view = useCallback(() => current.current, []);
  const move = useCallback(
    (change: (v: View) => View) => {
      if (current.current) set(change(current.current));
    },
    [set],
  );
  const onView = useCallback(
    (listener: (v: View, area: Area) => void) => {
      listeners.current.add(listener);
      if (current.current) listener(current.current, area());
      return () => void listeners.current.delete(listener);
    },
    [area],
  );
  return { container, world, frame, view, area, set, fitAll, move, onView };
}

function same(a: View, b: View): boolean {
  return a.x === b.x && a.y === b.y && a.k === b.k;
}
