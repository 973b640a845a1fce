import { useMemo, useRef, useState, type KeyboardEvent, type PointerEvent } from "react";
import { useRead } from "../../api";
import { Segmented, showTime, stateColour, useNow } from "../../kit";
import { usePrefs } from "../../prefs";
import { useLocale, usePageWords, useWords } from "../../words";
import { spans, statuses, type Span } from "./filters";
import { rangeOf, touched, windowOf } from "./strip";
import { text } from "./words";

const high = 44;
/** From the bottom: what failed is where the eye is. */
const order = ["FAILED", "CANCELED", "ACTIVE", "COMPLETED"] as const;

export interface HistogramProps {
  graphId: string;
  status: readonly string[];
  span: Span;
  onSpan: (s: Span) => void;
  createdFrom: string;
  createdTo: string;
  onRange: (from: string, to: string) => void;
}

/** How many were created over time, by their present status; dragging over it filters by that time. */
export function Histogram(p: HistogramProps) {
  const t = usePageWords(text);
  const w = useWords();
  const locale = useLocale();
  const { zone } = usePrefs();
  const box = useRef<HTMLDivElement>(null);
  const [drag, setDrag] = useState<[number, number]>();
  const [cursor, setCursor] = useState<number>();
  const now = useNow();
  const since = p.createdFrom === "" ? undefined : Date.parse(p.createdFrom);
  // A new bucket begins where the last ends: between two of them the window stays.
  const { from, to, bucket } = windowOf(now, spans[p.span], since);
  const win = useMemo(() => ({ from, to, bucket }), [from, to, bucket]);
  const read = useRead(
    "/executions/histogram",
    {
      query: {
        from: new Date(from).toISOString(),
        to: new Date(to).toISOString(),
        bucket: `${bucket}s`,
        ...(p.graphId === "" ? {} : { graphId: p.graphId }),
      },
    },
    { every: 10_000, keep: true },
  );
  const shown = statuses.filter((s) => p.status.length === 0 || p.status.includes(s));
  const items = read.data?.items ?? [];
  const sum = (i: number) => shown.reduce((n, s) => n + (items[i]?.counts[s] ?? 0), 0);
  const n = Math.round((to - from) / bucket / 1000);
  const top = Math.max(1, ...items.map((_, i) => sum(i)));
  const chosen =
    p.createdFrom === "" && p.createdTo === ""
      ? undefined
      : touched(win, since ?? from, p.createdTo === "" ? to : Date.parse(p.createdTo));
  const marked = drag ? ([Math.min(...drag), Math.max(...drag)] as const) : chosen;

  const bucketAt = (e: PointerEvent) => {
    const r = box.current?.getBoundingClientRect();
    if (!r) return 0;
    return Math.max(0, Math.min(n - 1, Math.floor(((e.clientX - r.left) / r.width) * n)));
  };
  const choose = (a: number, b: number) => {
    const r = rangeOf(win, a, b);
    // Up to now means: what will be created belongs to it.
    p.onRange(r.from, Math.max(a, b) === n - 1 ? "" : r.to);
    setDrag(undefined);
  };
  const keys = (e: KeyboardEvent) => {
    const step = { ArrowLeft: -1, ArrowRight: 1, PageUp: -10, PageDown: 10, Home: -n, End: n }[e.key];
    if (step !== undefined) {
      const was = cursor ?? n - 1;
      const next = Math.max(0, Math.min(n - 1, was + step));
      setCursor(next);
      if (e.shiftKey) setDrag([drag?.[0] ?? was, next]);
      else setDrag(undefined);
    } else if (e.key === "Enter" && cursor !== undefined) choose(drag?.[0] ?? cursor, drag?.[1] ?? cursor);
    else if (e.key === "Escape" && (drag || chosen)) {
      setDrag(undefined);
      p.onRange("", "");
    } else return;
    e.preventDefault();
  };

  const complete =
    read.data && Date.parse(read.data.completeFrom) > from ? read.data.completeFrom : undefined;
  const at = cursor !== undefined && cursor < n ? cursor : undefined;
  const said = at === undefined ? undefined : rangeOf(win, drag ? drag[0] : at, drag ? drag[1] : at);
  const count = (a: number, b: number) => {
    let all = 0;
    for (let i = Math.min(a, b); i <= Math.max(a, b); i++) all += sum(i);
    return all;
  };
  const span = (a: string, b: string) => `${showTime(a, zone, { bare: true })} – ${showTime(b, zone)}`;
  const caption = () => {
    if (said === undefined || at === undefined) {
      if (complete) return t.partial(showTime(complete, zone));
      return span(new Date(from).toISOString(), new Date(to).toISOString());
    }
    const all = count(drag?.[0] ?? at, drag?.[1] ?? at).toLocaleString(locale);
    const parts = [span(said.from, said.to), t.createdIn(all)];
    for (const s of drag ? [] : order) {
      const of = items[at]?.counts[s] ?? 0;
      if (of > 0) parts.push(`${w.status[s]} ${of.toLocaleString(locale)}`);
    }
    return parts.join(" · ");
  };
  return (
    <div className="histogram">
      <div
        ref={box}
        className="histogram-box"
        role="group"
        aria-label={t.histogram}
        aria-description={t.histogramHint}
        tabIndex={0}
        onKeyDown={keys}
        onBlur={() => setCursor(undefined)}
        onPointerLeave={() => !drag && setCursor(undefined)}
        onPointerDown={(e) => {
          if (e.button !== 0) return;
          e.currentTarget.setPointerCapture(e.pointerId);
          const i = bucketAt(e);
          setDrag([i, i]);
          setCursor(i);
        }}
        onPointerMove={(e) => {
          const i = bucketAt(e);
          setCursor(i);
          if (drag && e.buttons === 1) setDrag([drag[0], i]);
        }}
        onPointerUp={() => drag && choose(drag[0], drag[1])}
        onPointerCancel={() => setDrag(undefined)}
      >
        <svg viewBox={`0 0 ${n} ${high}`} preserveAspectRatio="none" aria-hidden>
          {marked && (
            <rect
              className="histogram-range"
              x={marked[0]}
              width={marked[1] - marked[0] + 1}
              y={0}
              height={high}
            />
          )}
          {items.map((item, i) => {
            let y = high;
            return order.map((s) => {
              const c = shown.includes(s) ? (item.counts[s] ?? 0) : 0;
              if (c === 0) return null;
              const h = Math.max(1, (c / top) * (high - 4));
              y -= h;
              return (
                <rect key={`${i} ${s}`} x={i + 0.12} width={0.76} y={y} height={h} fill={stateColour(s)} />
              );
            });
          })}
          {at !== undefined && <rect className="histogram-cursor" x={at} width={1} y={0} height={high} />}
        </svg>
      </div>
      <div className="histogram-foot">
        <span className="muted small-text time" aria-live="polite">
          {caption()}
        </span>
        <Segmented
          label={t.span}
          hideLabel
          value={p.span}
          options={(Object.keys(spans) as Span[]).map((s) => ({ value: s, label: t.spanOf[s] ?? s }))}
          onChange={p.onSpan}
        />
      </div>
    </div>
  );
}
