import { useCallback, useLayoutEffect, useRef, useState, type RefObject, type UIEvent } from "react";

/** A browser draws no element higher than about 17 (Firefox) to 33 million pixels: what is longer is scaled. */
const highest = 16_000_000;
const head = 34;
const overscan = 8;

export interface Box {
  /** Where it is scrolled to. */
  top: number;
  /** The height of what is visible, without the head. */
  view: number;
}

/** Where the rows of a list are in a box: PURE. `first` is the row at the top, with its fraction. */
export function place(count: number, rowHeight: number, box: Box, exact?: { top: number; first: number }) {
  const whole = count * rowHeight;
  const height = Math.min(whole, highest);
  const maxTop = Math.max(0, height - box.view);
  const maxFirst = Math.max(0, count - box.view / rowHeight);
  const scaled = whole > height;
  let first = box.top / rowHeight;
  if (scaled) first = exact?.top === box.top ? exact.first : (box.top / maxTop) * maxFirst;
  first = Math.min(first, maxFirst);
  const y = (i: number) => (scaled ? box.top + (i - first) * rowHeight : i * rowHeight);
  const topOf = (f: number) => {
    const at = Math.max(0, Math.min(f, maxFirst));
    return { first: at, top: scaled ? (at / maxFirst) * maxTop : at * rowHeight };
  };
  return { height, first, rows: box.view / rowHeight, y, topOf };
}

/** The row at the top after row `i` was brought into view: at the top, or by the shortest way. */
export function bring(i: number, first: number, rows: number, to: "top" | "near"): number {
  if (to === "top" || i < first) return i;
  return i + 1 > first + rows ? i + 1 - rows : first;
}

export interface Rows {
  scroller: RefObject<HTMLDivElement | null>;
  onScroll: (e: UIEvent<HTMLDivElement>) => void;
  width: number;
  height: number;
  /** The rows on screen. */
  first: number;
  last: number;
  /** How many a page key moves. */
  page: number;
  drawn: { index: number; y: number }[];
  scrollTo: (index: number, to: "top" | "near") => void;
}

/** Which rows of a list of any length are drawn, and where. All rows are equally high. */
export function useRows(count: number, rowHeight: number): Rows {
  const scroller = useRef<HTMLDivElement>(null);
  const [size, setSize] = useState({ width: 1200, view: 400 });
  const [at, setAt] = useState<{ top: number; exact?: { top: number; first: number } }>({ top: 0 });
  const exact = useRef<{ top: number; first: number }>(undefined);
  useLayoutEffect(() => {
    const el = scroller.current;
    if (!el) return;
    const measure = () =>
      setSize({ width: el.clientWidth, view: Math.max(rowHeight, el.clientHeight - head) });
    const watch = new ResizeObserver(measure);
    watch.observe(el);
    measure();
    return () => watch.disconnect();
  }, [rowHeight]);

  const p = place(count, rowHeight, { top: at.top, view: size.view }, at.exact);
  const scrollTo = useCallback(
    (index: number, to: "top" | "near") => {
      const el = scroller.current;
      if (!el) return;
      const was = place(count, rowHeight, { top: el.scrollTop, view: size.view }, exact.current);
      const goal = was.topOf(bring(index, was.first, was.rows, to));
      el.scrollTop = goal.top;
      exact.current = { top: el.scrollTop, first: goal.first };
      setAt({ top: el.scrollTop, exact: exact.current });
    },
    [count, rowHeight, size.view],
  );
  const onScroll = useCallback((e: UIEvent<HTMLDivElement>) => {
    const { scrollTop } = e.currentTarget;
    setAt((now) => (now.top === scrollTop ? now : { top: scrollTop }));
  }, []);

  const first = Math.max(0, Math.floor(p.first));
  const last = Math.max(first, Math.min(count, Math.ceil(p.first + p.rows)) - 1);
  const drawn = [];
  const end = Math.min(count - 1, last + overscan);
  for (let i = Math.max(0, first - overscan); i <= end; i++) drawn.push({ index: i, y: p.y(i) });
  const page = Math.max(1, Math.floor(p.rows) - 1);
  return { scroller, onScroll, width: size.width, height: p.height, first, last, page, drawn, scrollTo };
}
