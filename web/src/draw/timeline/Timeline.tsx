import { useEffect, useEffectEvent, useMemo, useRef, useState, type KeyboardEvent } from "react";
import type { Timeline as TimelineData } from "../../flow/bars";
import { Button, showTime } from "../../kit";
import { usePrefs } from "../../prefs";
import { useLocale, usePageWords, useWords } from "../../words";
import { coloursOf } from "./colours";
import { barAt, linesOf } from "./lines";
import { Overview } from "./Overview";
import { axisHeight, paint } from "./paint";
import { pan, timeOf, within, zoom, type AxisTicks, type Range } from "./scale";
import "./timeline.css";
import { Tip, type Hovered } from "./Tip";
import { useCanvas } from "./useCanvas";
import { usePinch } from "./usePinch";
import { text } from "./words";

export interface TimelineProps {
  timeline: TimelineData;
  /** Of a moment before: what came after it is grey. */
  past?: TimelineData | undefined;
  moment?: number | undefined;
  /** Groups have headings. */
  grouped: boolean;
  critical: boolean;
  /** The part that is shown; all of it unless given. */
  range: Range | undefined;
  onRange: (r: Range | undefined) => void;
  selected: string | undefined;
  onSelect: (nodeId: string) => void;
}

/** Attempts as bars, a row for each node: a canvas of what is in view. TimelineTable has the same for readers. */
export function Timeline(p: TimelineProps) {
  const { timeline, past, moment, grouped, onSelect } = p;
  const t = usePageWords(text);
  const w = useWords();
  const locale = useLocale();
  const { zone, density } = usePrefs();
  const rowHeight = density === "compact" ? 20 : 24;
  const whole = useMemo(() => within(timeline, timeline), [timeline]);
  const range = p.range ? within(p.range, whole) : whole;
  const onRange = (r: Range) => p.onRange(r.from <= whole.from && r.to >= whole.to ? undefined : r);
  const lines = useMemo(() => linesOf(timeline, past, grouped), [timeline, past, grouped]);
  const scroller = useRef<HTMLDivElement>(null);
  const [cursor, setCursor] = useState<number>();
  const [hovered, setHovered] = useState<Hovered>();

  const label = (at: number, detail: AxisTicks["detail"]) => {
    const iso = new Date(at).toISOString();
    if (detail === "day") return showTime(iso, zone, { bare: true }).slice(0, 10);
    return showTime(iso, zone, { ms: detail === "ms", timeOnly: true, bare: true });
  };
  const { canvas, width, redraw } = useCanvas((c, wide, high) => {
    const scene = {
      timeline,
      lines,
      range,
      moment,
      top: scroller.current?.scrollTop ?? 0,
      width: wide,
      height: high,
      gutter: gutterOf(wide),
      rowHeight,
      selected: p.selected,
      cursor,
      critical: p.critical,
      offset:
        zone === "jst"
          ? 9 * 3_600_000
          : zone === "utc"
            ? 0
            : -new Date(range.from).getTimezoneOffset() * 60_000,
      label,
      flag: t.fence((timeline.fence?.seq ?? 0).toLocaleString(locale)),
      groupName: (name: string) => (name === "" ? t.noGroup : name),
    };
    paint(c, scene, coloursOf(c.canvas));
  });
  const gutter = gutterOf(width);

  const place = (e: { clientX: number; clientY: number }) => {
    const box = canvas.current?.getBoundingClientRect();
    const x = e.clientX - (box?.left ?? 0);
    const y = e.clientY - (box?.top ?? 0);
    const index = Math.floor((y - axisHeight + (scroller.current?.scrollTop ?? 0)) / rowHeight);
    const line = y < axisHeight ? undefined : lines[index];
    return { x, y, index, line, at: timeOf(x - gutter, range, width - gutter) };
  };
  const zoomAt = (factor: number, clientX?: number) => {
    const box = canvas.current?.getBoundingClientRect();
    const x = clientX === undefined ? gutter + (width - gutter) / 2 : clientX - (box?.left ?? 0);
    onRange(zoom(range, factor, timeOf(Math.max(0, x - gutter), range, width - gutter), whole));
  };
  const wheel = useEffectEvent((e: WheelEvent) => {
    const onAxis = place(e).y < axisHeight;
    const sideways = Math.abs(e.deltaX) > Math.abs(e.deltaY) ? e.deltaX : e.shiftKey ? e.deltaY : 0;
    if (e.ctrlKey || onAxis) zoomAt(Math.exp(Math.max(-1, Math.min(1, e.deltaY / 240))), e.clientX);
    else if (sideways !== 0) onRange(pan(range, sideways / Math.max(1, width - gutter), whole));
    else return;
    e.preventDefault();
  });
  useEffect(() => {
    const el = scroller.current;
    const listen = (e: WheelEvent) => wheel(e);
    el?.addEventListener("wheel", listen, { passive: false });
    return () => el?.removeEventListener("wheel", listen);
  }, []);
  const pinch = usePinch({
    onPan: (px) => onRange(pan(range, -px / Math.max(1, width - gutter), whole)),
    onZoom: zoomAt,
  });

  const goTo = (index: number) => {
    const next = Math.max(0, Math.min(lines.length - 1, index));
    setCursor(next);
    const el = scroller.current;
    if (!el) return;
    const y = next * rowHeight;
    const view = el.clientHeight - axisHeight;
    if (y < el.scrollTop) el.scrollTop = y;
    else if (y + rowHeight > el.scrollTop + view) el.scrollTop = y + rowHeight - view;
  };
  const keys = (e: KeyboardEvent) => {
    if (e.nativeEvent.isComposing || e.ctrlKey || e.metaKey || e.altKey) return;
    const at = cursor ?? -1;
    const page = Math.floor((scroller.current?.clientHeight ?? 200) / rowHeight) - 2;
    const line = cursor === undefined ? undefined : lines[cursor];
    switch (e.key) {
      case "ArrowDown":
        goTo(at + 1);
        break;
      case "ArrowUp":
        goTo(at - 1);
        break;
      case "PageDown":
        goTo(at + page);
        break;
      case "PageUp":
        goTo(at - page);
        break;
      case "Home":
        goTo(0);
        break;
      case "End":
        goTo(lines.length - 1);
        break;
      case "ArrowLeft":
        onRange(pan(range, -0.2, whole));
        break;
      case "ArrowRight":
        onRange(pan(range, 0.2, whole));
        break;
      case "+":
      case "=":
        zoomAt(0.5);
        break;
      case "-":
        zoomAt(2);
        break;
      case "0":
        p.onRange(undefined);
        break;
      case "Enter":
        if (line?.kind === "row") onSelect(line.row.nodeId);
        break;
      default:
        return;
    }
    e.preventDefault();
  };
  const here = cursor === undefined ? undefined : lines[cursor];
  const attempts = timeline.rows.reduce((n, r) => n + r.attempts, 0);
  return (
    <div className="tl">
      <div className="tl-strip">
        <Overview
          timeline={timeline}
          range={range}
          whole={whole}
          onRange={onRange}
          label={(at) => label(at, "ms")}
        />
        <div className="tl-zoom" role="group" aria-label={t.overview}>
          <Button
            small
            kind="quiet"
            aria-label={t.zoomIn}
            title={`${t.zoomIn} (+)`}
            onClick={() => zoomAt(0.5)}
          >
            +
          </Button>
          <Button
            small
            kind="quiet"
            aria-label={t.zoomOut}
            title={`${t.zoomOut} (−)`}
            onClick={() => zoomAt(2)}
          >
            −
          </Button>
          <Button small kind="quiet" title={`${t.fit} (0)`} onClick={() => p.onRange(undefined)}>
            {t.fit}
          </Button>
        </div>
      </div>
      <div
        className="tl-frame"
        onPointerLeave={() => setHovered(undefined)}
        style={{ "--tl-rows": `${axisHeight + lines.length * rowHeight + 2}px` } as React.CSSProperties}
      >
        <div
          ref={scroller}
          className="tl-scroll"
          role="application"
          tabIndex={0}
          aria-label={`${t.timeline}: ${t.attempts(attempts.toLocaleString(locale))}`}
          aria-description={t.keys}
          data-rows={timeline.rows.length}
          data-attempts={attempts}
          data-from={Math.round(range.from - whole.from)}
          data-to={Math.round(range.to - whole.from)}
          onKeyDown={keys}
          onScroll={() => {
            redraw();
            setHovered(undefined);
          }}
          {...pinch.handlers}
          onPointerMove={(e) => {
            pinch.handlers.onPointerMove(e);
            const at = place(e);
            const row =
              at.line?.kind === "row" ? (moment === undefined ? at.line.row : at.line.past) : undefined;
            const near = ((range.to - range.from) / Math.max(1, width - gutter)) * 4;
            const bar = row && at.x >= gutter ? barAt(row, at.at, near) : undefined;
            if (row && bar) setHovered({ row, bar, x: at.x, y: at.y });
            else if (hovered) setHovered(undefined);
          }}
          onClick={(e) => {
            if (pinch.moved()) return;
            const { line, index } = place(e);
            if (line?.kind !== "row") return;
            setCursor(index);
            onSelect(line.row.nodeId);
          }}
        >
          <canvas ref={canvas} aria-hidden />
          <div style={{ height: `${lines.length * rowHeight}px` }} />
        </div>
        {hovered && <Tip at={hovered} wide={width} />}
        <span className="unseen" aria-live="polite">
          {here?.kind === "row" &&
            [
              here.row.nodeId,
              t.attempts(String(here.row.attempts)),
              here.row.outcome && w.status[here.row.outcome],
            ]
              .filter(Boolean)
              .join(", ")}
        </span>
      </div>
    </div>
  );
}

function gutterOf(width: number): number {
  return width < 520 ? 96 : 180;
}
