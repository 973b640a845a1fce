import { useEffect, useImperativeHandle, useRef, useState, type KeyboardEvent, type Ref } from "react";
import type { ReactNode } from "react";
import { usePrefs } from "../prefs";
import { useWords } from "../words";
import { cx } from "./cx";
import { useRows } from "./rows";

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

/** What a page may ask of its table. */
export interface TableControl {
  /** Bring a row to the top. */
  scrollTo: (index: number) => void;
}

export interface TableProps<R> {
  label: string;
  control?: Ref<TableControl>;
  columns: readonly Column<R>[];
  /** How many rows there are in all; rows that are not loaded yet are undefined. */
  count: number;
  row: (index: number) => R | undefined;
  rowKey: (row: R) => string;
  /** Enter, or a click that hits nothing else. */
  onOpen?: (row: R) => void;
  /** Which rows are on screen, for pages that load as one scrolls. Its identity may not change with each render. */
  onRange?: (first: number, last: number) => void;
  selected?: ReadonlySet<string>;
  onSelect?: (keys: ReadonlySet<string>) => void;
  empty?: ReactNode;
  /** The height of the scrolling part; by default what the window leaves. */
  height?: string;
}

/**
 * A virtual table with a sticky head. ↑ ↓ PageUp PageDown Home End move, Enter opens, Space selects; with Shift the
 * selection goes from the row that was chosen last to this one.
 */
export function Table<R>(p: TableProps<R>) {
  const { columns, count, row, rowKey, onRange } = p;
  const w = useWords();
  const { density } = usePrefs();
  const rowHeight = density === "compact" ? 28 : 36;
  const [current, setCurrent] = useState(0);
  const chosen = useRef(0);
  const rows = useRows(count, rowHeight);
  const { scroller, width, first, last, scrollTo } = rows;
  useImperativeHandle(
    p.control,
    () => ({
      scrollTo: (index) => {
        setCurrent(index);
        scrollTo(index, "top");
      },
    }),
    [scrollTo],
  );
  useEffect(() => {
    if (count > 0) onRange?.(first, last);
  }, [first, last, count, onRange]);

  const shown = columns.filter((c) => c.from === undefined || width >= c.from);
  const template = [...(p.onSelect ? ["32px"] : []), ...shown.map((c) => c.width ?? "minmax(0, 1fr)")].join(
    " ",
  );
  const at = Math.min(current, Math.max(0, count - 1));

  const toggle = (index: number, span: boolean) => {
    const r = row(index);
    if (!p.onSelect || r === undefined) return;
    const next = new Set(p.selected);
    const on = !next.has(rowKey(r));
    const from = span ? Math.min(chosen.current, index) : index;
    const to = span ? Math.max(chosen.current, index) : index;
    for (let i = from; i <= to; i++) {
      const one = row(i);
      if (one === undefined) continue;
      if (on) next.add(rowKey(one));
      else next.delete(rowKey(one));
    }
    chosen.current = index;
    p.onSelect(next);
  };
  const keys = (e: KeyboardEvent) => {
    if (e.target !== e.currentTarget || e.nativeEvent.isComposing) return;
    const to = {
      ArrowDown: at + 1,
      ArrowUp: at - 1,
      PageDown: at + rows.page,
      PageUp: at - rows.page,
      Home: 0,
      End: count - 1,
    }[e.key];
    const r = row(at);
    if (to !== undefined) {
      const next = Math.max(0, Math.min(count - 1, to));
      setCurrent(next);
      scrollTo(next, "near");
    } else if (e.key === "Enter" && r) p.onOpen?.(r);
    else if (e.key === " " && r) toggle(at, e.shiftKey);
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
        onScroll={rows.onScroll}
        aria-label={p.label}
        role="rowgroup"
      >
        <div className="table-head table-row" role="row" style={{ gridTemplateColumns: template }}>
          {p.onSelect && (
            <span role="columnheader">
              <span className="unseen">{w.table.selected}</span>
            </span>
          )}
          {shown.map((c) => (
            <span key={c.id} role="columnheader" className={cx(c.number && "num")}>
              {c.head}
            </span>
          ))}
        </div>
        {count === 0 && <div className="table-empty">{p.empty ?? w.table.none}</div>}
        <div className="table-body" style={{ height: `${rows.height}px` }}>
          {rows.drawn.map(({ index, y }) => {
            const r = row(index);
            const key = r === undefined ? `#${index}` : rowKey(r);
            const style = {
              gridTemplateColumns: template,
              height: `${rowHeight}px`,
              transform: `translateY(${y}px)`,
            };
            return (
              <div
                key={key}
                role="row"
                aria-rowindex={index + 2}
                className={cx("table-row", index === at && "current", r !== undefined && p.onOpen && "opens")}
                aria-selected={p.onSelect ? (p.selected?.has(key) ?? false) : undefined}
                style={style}
                onClick={(e) => {
                  setCurrent(index);
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
                        onChange={(e) => toggle(index, (e.nativeEvent as MouseEvent).shiftKey)}
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
