import { useRef, type KeyboardEvent, type PointerEvent } from "react";
import type { Timeline } from "../../flow/bars";
import { usePageWords } from "../../words";
import { barState } from "./bar";
import { coloursOf } from "./colours";
import { timeOf, within, xOf, type Range } from "./scale";
import { useCanvas } from "./useCanvas";
import { text } from "./words";

interface OverviewProps {
  timeline: Timeline;
  range: Range;
  whole: Range;
  onRange: (r: Range) => void;
  label: (at: number) => string;
}

type Part = "from" | "to" | "move" | "draw";

/** All of the execution in a strip, and a brush over the part that is shown. */
export function Overview({ timeline, range, whole, onRange, label }: OverviewProps) {
  const t = usePageWords(text);
  const { canvas, width } = useCanvas((c, w, h) => {
    const colours = coloursOf(c.canvas);
    c.clearRect(0, 0, w, h);
    const { rows } = timeline;
    rows.forEach((row, i) => {
      const y = 2 + (i / Math.max(1, rows.length)) * (h - 4);
      const high = Math.max(1, Math.min(4, (h - 4) / rows.length - 0.5));
      for (const bar of row.bars) {
        if (bar.kind === "backoff") continue;
        c.fillStyle = colours.state[barState(bar)];
        const x = xOf(bar.from, whole, w);
        c.fillRect(x, y, Math.max(1, xOf(bar.to, whole, w) - x), high);
      }
    });
  });
  const drag = useRef<{ part: Part; x: number; range: Range }>(undefined);
  const at = (e: PointerEvent<HTMLElement>) => {
    const box = canvas.current?.getBoundingClientRect();
    return timeOf(e.clientX - (box?.left ?? 0), whole, box?.width ?? 1);
  };
  const down = (e: PointerEvent<HTMLElement>) => {
    if (e.button !== 0) return;
    e.stopPropagation();
    e.currentTarget.setPointerCapture(e.pointerId);
    const part = (e.currentTarget.dataset.part ?? "draw") as Part;
    drag.current = { part, x: at(e), range };
  };
  const move = (e: PointerEvent<HTMLElement>) => {
    const d = drag.current;
    if (!d) return;
    const now = at(e);
    const by = now - d.x;
    const least = (whole.to - whole.from) / 1_000;
    if (d.part === "draw") {
      if (Math.abs(by) > least) onRange(within({ from: Math.min(d.x, now), to: Math.max(d.x, now) }, whole));
    } else if (d.part === "move") {
      onRange(within({ from: d.range.from + by, to: d.range.to + by }, whole));
    } else {
      set(d.part, d.range[d.part] + by);
    }
  };
  const up = () => (drag.current = undefined);
  const set = (edge: "from" | "to", to: number) => {
    const least = (whole.to - whole.from) / 1_000;
    if (edge === "from")
      onRange({ from: Math.max(whole.from, Math.min(to, range.to - least)), to: range.to });
    else onRange({ from: range.from, to: Math.min(whole.to, Math.max(to, range.from + least)) });
  };
  const keys = (edge: "from" | "to") => (e: KeyboardEvent) => {
    const sign = { ArrowLeft: -1, ArrowDown: -1, ArrowRight: 1, ArrowUp: 1 }[e.key];
    if (sign === undefined) return;
    e.preventDefault();
    e.stopPropagation();
    set(edge, range[edge] + sign * (whole.to - whole.from) * (e.shiftKey ? 0.1 : 0.01));
  };
  const left = xOf(range.from, whole, width);
  const right = xOf(range.to, whole, width);
  const handle = (edge: "from" | "to", x: number) => (
    <div
      role="slider"
      tabIndex={0}
      className="tl-handle"
      style={{ left: `${x}px` }}
      aria-label={edge === "from" ? t.begin : t.end}
      aria-valuemin={0}
      aria-valuemax={Math.round(whole.to - whole.from)}
      aria-valuenow={Math.round(range[edge] - whole.from)}
      aria-valuetext={label(range[edge])}
      data-part={edge}
      onPointerDown={down}
      onPointerMove={move}
      onPointerUp={up}
      onPointerCancel={up}
      onKeyDown={keys(edge)}
    />
  );
  return (
    <div
      className="tl-overview"
      role="group"
      aria-label={t.overview}
      onPointerDown={down}
      onPointerMove={move}
      onPointerUp={up}
      onPointerCancel={up}
    >
      <canvas ref={canvas} aria-hidden />
      <div className="tl-shade" style={{ left: 0, width: `${Math.max(0, left)}px` }} />
      <div className="tl-shade" style={{ left: `${right}px`, right: 0 }} />
      <div
        className="tl-window"
        style={{ left: `${left}px`, width: `${Math.max(2, right - left)}px` }}
        data-part={range.from > whole.from || range.to < whole.to ? "move" : "draw"}
        onPointerDown={down}
        onPointerMove={move}
        onPointerUp={up}
        onPointerCancel={up}
      />
      {handle("from", left)}
      {handle("to", right)}
    </div>
  );
}
