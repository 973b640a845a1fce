import { memo, useMemo } from "react";
import type { Folded, FoldedEdge } from "../../flow/fold";
import type { Layout } from "../../flow/layout";
import type { Point, Route } from "../../flow/route";
import type { Tone } from "../../flow/versions";
import { usePageWords } from "../../words";
import { clip, labelWidth } from "./shape";
import type { Direction } from "./useLayout";
import { overlaps, type Rect } from "./view";
import type { Way } from "./ways";
import { text } from "./words";

interface LinesProps {
  folded: Folded;
  layout: Layout;
  direction: Direction;
  ways: readonly Way[];
  /** Of versions that are compared: what became of an edge. */
  tones: ReadonlyMap<number, Tone> | undefined;
  part: Rect;
  texts: boolean;
}

/** The edges: one path for all of a kind, so that thousands cost little. What was not taken is faint. */
export const Lines = memo(function Lines(p: LinesProps) {
  const { folded, layout, direction, ways, tones, part, texts } = p;
  const boxes = useMemo(() => layout.routes.map(boundsOf), [layout]);
  const shown = layout.routes.filter((_, i) => overlaps(boxes[i] as Rect, part));
  const paths = new Map<string, { lines: string; heads: string }>();
  for (const r of shown) {
    const edge = folded.edges[r.index];
    if (!edge) continue;
    const kind = kindOf(edge, ways, tones);
    const p = paths.get(kind) ?? { lines: "", heads: "" };
    p.lines += r.path;
    if (!r.merged && texts) p.heads += head(r.points.at(-1) as Point, direction);
    paths.set(kind, p);
  }
  const drawn = [...paths].sort(([a], [b]) => order(a) - order(b));
  return (
    <g className="glines">
      {drawn.map(([kind, p]) => (
        <g key={kind} className={kind}>
          <path className="gline" d={p.lines} />
          {p.heads !== "" && <path className="ghead" d={p.heads} />}
        </g>
      ))}
      {texts &&
        shown.map((r) => (
          <Label
            key={r.index}
            at={labelAt(r, direction)}
            edge={folded.edges[r.index]}
            ways={ways}
            tone={tones?.get(folded.edges[r.index]?.index ?? -1)}
            middle={direction === "down"}
          />
        ))}
    </g>
  );
});

function order(kind: string): number {
  return kind.includes("taken") || kind.includes("tone") ? 2 : kind.includes("open") ? 1 : 0;
}

/** How an edge is drawn: by what became of it, and dashed when it is for a failure. */
function kindOf(e: FoldedEdge, ways: readonly Way[], tones: LinesProps["tones"]): string {
  const way = ways[e.index] ?? "open";
  const passed = way === "taken" ? "taken" : way === "open" || way === "unknown" ? "open" : "untaken";
  const tone = tones?.get(e.index);
  return [passed, e.on === "success" ? "" : "on-failure", tone ? `tone-${tone}` : ""]
    .filter(Boolean)
    .join(" ");
}

/** Near the end of the first gap, where edges that leave one node have parted. */
function labelAt(r: Route, direction: Direction): Point {
  const a = r.points[0] as Point;
  const b = r.points[1] as Point;
  if (direction === "down") return { x: a.x + (b.x - a.x) * 0.8, y: b.y - 22 };
  return { x: a.x + 14, y: a.y + (b.y - a.y) * 0.85 - 6 };
}

interface LabelProps {
  at: Point;
  edge: FoldedEdge | undefined;
  ways: readonly Way[];
  tone: Tone | undefined;
  middle: boolean;
}

/** The condition of an edge and what it was, for which end of its node it is, and what became of it in a version. */
function Label({ at, edge, ways, tone, middle }: LabelProps) {
  const t = usePageWords(text);
  if (!edge) return null;
  const on = t.on[edge.on];
  if (edge.when === undefined && on === undefined && tone === undefined) return null;
  const way = ways[edge.index] ?? "open";
  const was = tone ? t.tones[tone] : edge.when === undefined ? undefined : t.was[way];
  const whole = [on, edge.when].filter((s) => s !== undefined).join(": ");
  return (
    <text
      className={tone ? `glabel tone-${tone}` : `glabel way-${way}`}
      x={at.x}
      y={at.y}
      textAnchor={middle ? "middle" : "start"}
      data-edge={`${edge.from}→${edge.to}`}
      data-way={way}
      data-tone={tone}
    >
      <title>{[whole, was].filter(Boolean).join("\n")}</title>
      {whole !== "" && (
        <tspan x={at.x} dy={was ? 0 : 6} className={edge.when ? "gwhen" : ""}>
          {clip(whole, labelWidth, 11)}
        </tspan>
      )}
      {was && (
        <tspan x={at.x} dy={whole === "" ? 6 : 12} className="gwas">
          {was}
        </tspan>
      )}
    </text>
  );
}

function boundsOf(r: Route): Rect {
  let [left, top, right, bottom] = [Infinity, Infinity, -Infinity, -Infinity];
  for (const p of r.points) {
    left = Math.min(left, p.x);
    right = Math.max(right, p.x);
    top = Math.min(top, p.y);
    bottom = Math.max(bottom, p.y);
  }
  return { x: left - 1, y: top - 1, width: right - left + 2, height: bottom - top + 2 };
}

function head(p: Point, direction: Direction): string {
  return direction === "down" ? `M${p.x} ${p.y}l-4 -7h8Z` : `M${p.x} ${p.y}l-7 -4v8Z`;
}
