import {
  useEffect,
  useImperativeHandle,
  useMemo,
  useRef,
  useState,
  type KeyboardEvent,
  type ReactNode,
  type Ref,
  type UIEvent,
} from "react";
import { cx } from "../../kit";
import { useRows } from "../../kit/rows";
import { usePrefs } from "../../prefs";
import { usePageWords, useWords } from "../../words";
import { CommandCells, EventCells } from "./LogCells";
import type { LogRow } from "./logRows";
import { text } from "./logWords";

export interface LogListControl {
  toEnd: () => void;
  /** Bring an event into view. */
  show: (seq: number) => void;
}

interface LogListProps {
  control: Ref<LogListControl>;
  rows: readonly LogRow[];
  selected: number | undefined;
  onSelect: (seq: number) => void;
  /** Somebody scrolled back: what follows the end stops. */
  onScrollUp: () => void;
  empty: ReactNode;
}

/** The log as a virtual list. ↑ ↓ PageUp PageDown Home End move, Enter opens an event. */
export function LogList({ control, rows, selected, onSelect, onScrollUp, empty }: LogListProps) {
  const t = usePageWords(text);
  const w = useWords();
  const { density, zone } = usePrefs();
  const rowHeight = density === "compact" ? 24 : 30;
  const list = useRows(rows.length, rowHeight);
  const { scroller, scrollTo } = list;
  const [current, setCurrent] = useState(0);
  const at = Math.min(current, Math.max(0, rows.length - 1));
  const places = useMemo(() => {
    const out = new Map<number, number>();
    rows.forEach((r, i) => r.kind === "event" && out.set(r.event.seq, i));
    return out;
  }, [rows]);
  useImperativeHandle(
    control,
    () => ({
      toEnd: () => scrollTo(rows.length - 1, "near"),
      show: (seq) => {
        const place = places.get(seq);
        if (place === undefined) return;
        setCurrent(place);
        scrollTo(place, "near");
      },
    }),
    [rows.length, places, scrollTo],
  );
  // The event that a link names is brought into view once, when it has been read.
  const brought = useRef<number>(undefined);
  const linked = selected === undefined ? undefined : places.get(selected);
  useEffect(() => {
    if (selected === undefined) brought.current = undefined;
    if (linked === undefined || brought.current !== undefined) return;
    brought.current = selected;
    scrollTo(Math.max(0, linked - 3), "top");
  }, [selected, linked, scrollTo]);

  const last = useRef({ top: 0, height: 0 });
  const onScroll = (e: UIEvent<HTMLDivElement>) => {
    const { scrollTop: top, scrollHeight: height } = e.currentTarget;
    if (top < last.current.top - 2 && height >= last.current.height) onScrollUp();
    last.current = { top, height };
    list.onScroll(e);
  };
  const open = (row: LogRow | undefined) => {
    if (row?.kind === "event") onSelect(row.event.seq);
    else if (row?.command.firstSeq !== undefined) onSelect(row.command.firstSeq);
  };
  const keys = (e: KeyboardEvent) => {
    if (e.target !== e.currentTarget || e.nativeEvent.isComposing) return;
    const to = {
      ArrowDown: at + 1,
      ArrowUp: at - 1,
      PageDown: at + list.page,
      PageUp: at - list.page,
      Home: 0,
      End: rows.length - 1,
    }[e.key];
    if (to !== undefined) {
      const next = Math.max(0, Math.min(rows.length - 1, to));
      setCurrent(next);
      scrollTo(next, "near");
    } else if (e.key === "Enter") open(rows[at]);
    else return;
    e.preventDefault();
  };
  const active = rows[at];
  const drawn = list.drawn.some((d) => d.index === at);
  return (
    <div className="log-list">
      <div
        ref={scroller}
        className="log-scroll"
        role="grid"
        aria-label={t.log}
        aria-rowcount={rows.length + 1}
        aria-activedescendant={active && drawn ? `log-${active.key}` : undefined}
        tabIndex={0}
        onKeyDown={keys}
        onScroll={onScroll}
      >
        <div className="log-head log-row" role="row">
          <span role="columnheader" className="num">
            {t.number}
          </span>
          <span role="columnheader" className="log-time">
            {t.time(w.zone[zone])}
          </span>
          <span role="columnheader">{t.event}</span>
          <span role="columnheader">{t.node}</span>
          <span role="columnheader" className="log-what">
            {t.what}
          </span>
        </div>
        {rows.length === 0 && empty}
        <div className="log-rows" style={{ height: `${list.height}px` }}>
          {list.drawn.map(({ index, y }) => {
            const row = rows[index];
            if (!row) return null;
            const mine = row.kind === "event" && row.event.seq === selected;
            return (
              <div
                key={row.key}
                id={`log-${row.key}`}
                role="row"
                aria-rowindex={index + 2}
                aria-selected={mine || undefined}
                className={cx("log-row", `log-${row.kind}`, index === at && "current", mine && "selected")}
                style={{ height: `${rowHeight}px`, transform: `translateY(${y}px)` }}
                onClick={() => {
                  if (getSelection()?.toString() !== "") return;
                  setCurrent(index);
                  open(row);
                }}
              >
                {row.kind === "event" ? <EventCells event={row.event} /> : <CommandCells row={row} />}
              </div>
            );
          })}
        </div>
      </div>
    </div>
  );
}
