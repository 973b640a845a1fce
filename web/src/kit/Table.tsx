import { useVirtualizer } from "@tanstack/react-virtual";
import { useEffect, useRef, useState, type KeyboardEvent, type ReactNode } from "react";
import { usePrefs } from "../prefs";
import { useWords } from "../words";
import { cx } from "./cx";

export interface Column<R> {
  id: string;
  head: ReactNode;
  cell: (row: R) => ReactNode;
  /** A CSS grid track: `12rem`, `minmax(8rem, 1fr)`. */
  width?: string;
  /** Right-aligned, tabular digits. */
  number?: boolean;
  /** Left out below this many CSS pixels of the table's width. */
  from?: number;
}

export interface TableProps<R> {
  label: string;
  columns: readonly Column<R>[];
  /** How many rows there are in all; rows that are not loaded yet are undefined. */
  count: number;
  row: (index: number) => R | undefined;
  rowKey: (row: R) => string;
  /** Enter, or a click that hits nothing else. */
  onOpen?: (row: R) => void;
  /** Which rows are on screen, for pages that load as one scrolls. */
  onRange?: (first: number, last: number) => void;
  selected?: ReadonlySet<string>;
  onSelect?: (keys: ReadonlySet<string>) => void;
  empty?: ReactNode;
  /** The height of the scrolling part; by default what the window leaves. */
  height?: string;
}

/** A virtual table with a sticky head. ↑ ↓ PageUp PageDown Home End move, Enter opens, Space selects. */
export function Table<R>(p: TableProps<R>) {
  const { columns, count, row, rowKey, onRange } = p;
  const w = useWords();
  const { density } = usePrefs();
  const rowHeight = density === "compact" ? 28 : 36;
  const scroller = useRef<HTMLDivElement>(null);
  const [width, setWidth] = useState(1200);
  const [current, setCurrent] = useState(0);

  useEffect(() => {
    const el = scroller.current;
    if (!el) return;
    const watch = new ResizeObserver(([e]) => setWidth(e?.contentRect.width ?? 1200));
    watch.observe(el);
    return () => watch.disconnect();
  }, []);

  // The virtualizer keeps mutable state; the compiler must not memoize over it.
  // eslint-disable-next-line react-hooks/incompatible-library
  const virtual = useVirtualizer({
    count,
    getScrollElement: () => scroller.current,
    estimateSize: () => rowHeight,
    overscan: 12,
  });
  useEffect(() => virtual.measure(), [rowHeight, virtual]);
  const items = virtual.getVirtualItems();
  const first = items[0]?.index ?? 0;
  const last = items[items.length - 1]?.index ?? 0;
  useEffect(() => {
    if (count > 0) onRange?.(first, last);
  }, [first, last, count, onRange]);

  const shown = columns.filter((c) => c.from === undefined || width >= c.from);
  const template = [...(p.onSelect ? ["32px"] : []), ...shown.map((c) => c.width ?? "minmax(0, 1fr)")].join(
    " ",
  );
  const at = Math.min(current, Math.max(0, count - 1));

  const toggle = (r: R) => {
    if (!p.onSelect) return;
    const next = new Set(p.selected);
    if (!next.delete(rowKey(r))) next.add(rowKey(r));
    p.onSelect(next);
  };
  const keys = (e: KeyboardEvent) => {
    if (e.target !== e.currentTarget || e.nativeEvent.isComposing) return;
    const pageRows = Math.max(1, Math.floor((scroller.current?.clientHeight ?? 400) / rowHeight) - 2);
    const to = {
      ArrowDown: at + 1,
      ArrowUp: at - 1,
      PageDown: at + pageRows,
      PageUp: at - pageRows,
      Home: 0,
      End: count - 1,
    }[e.key];
    const r = row(at);
    if (to !== undefined) {
      const next = Math.max(0, Math.min(count - 1, to));
      setCurrent(next);
      virtual.scrollToIndex(next);
    } else if (e.key === "Enter" && r) p.onOpen?.(r);
    else if (e.key === " " && r) toggle(r);
    else return;
    e.preventDefault();
  };

  return (
    <div className="table" role="table" aria-label={p.label} aria-rowcount={count + 1}>
      <div
        ref={scroller}
        className="table-scroll"
        style={p.height ? { height: p.height } : undefined}
        tabIndex={0}
        onKeyDown={keys}
        aria-label={p.label}
        role="rowgroup"
      >
        <div className="table-head table-row" role="row" style={{ gridTemplateColumns: template }}>
          {p.onSelect && <span role="columnheader" />}
          {shown.map((c) => (
            <span key={c.id} role="columnheader" className={cx(c.number && "num")}>
              {c.head}
            </span>
          ))}
        </div>
        {count === 0 && <div className="table-empty">{p.empty ?? w.table.none}</div>}
        <div className="table-body" style={{ height: `${virtual.getTotalSize()}px` }}>
          {items.map((item) => {
            const r = row(item.index);
            const key = r === undefined ? `#${item.index}` : rowKey(r);
            const style = {
              gridTemplateColumns: template,
              height: `${item.size}px`,
              transform: `translateY(${item.start}px)`,
            };
            return (
              <div
                key={key}
                role="row"
                aria-rowindex={item.index + 2}
                className={cx(
                  "table-row",
                  item.index === at && "current",
                  r !== undefined && p.onOpen && "opens",
                )}
                aria-selected={p.onSelect ? (p.selected?.has(key) ?? false) : undefined}
                style={style}
                onClick={(e) => {
                  setCurrent(item.index);
                  if (r === undefined || (e.target as Element).closest("a,button,input,label")) return;
                  if (getSelection()?.toString() === "") p.onOpen?.(r);
                }}
              >
                {p.onSelect && (
                  <span role="cell">
                    {r !== undefined && (
                      <input
                        type="checkbox"
                        tabIndex={-1}
                        aria-label={key}
                        checked={p.selected?.has(key) ?? false}
                        onChange={() => toggle(r)}
                      />
                    )}
                  </span>
                )}
                {shown.map((c) => (
                  <span key={c.id} role="cell" className={cx(c.number && "num")}>
                    {r === undefined ? <span className="bar" /> : c.cell(r)}
                  </span>
                ))}
              </div>
            );
          })}
        </div>
      </div>
    </div>
  );
}
