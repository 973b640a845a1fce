import type { Timeline } from "../../flow/bars";
import { drawRow, hatchOf, type Brush } from "./bar";
import type { Colours } from "./colours";
import type { Line } from "./lines";
import { axisTicks, xOf, type AxisTicks, type Range } from "./scale";

export const axisHeight = 26;

export interface Scene {
  timeline: Timeline;
  lines: readonly Line[];
  range: Range;
  /** The instant that is shown; what comes after it is grey. */
  moment: number | undefined;
  top: number;
  width: number;
  height: number;
  gutter: number;
  rowHeight: number;
  selected: string | undefined;
  cursor: number | undefined;
  /** Rows that are not on the critical path are faint. */
  critical: boolean;
  offset: number;
  label: (at: number, detail: AxisTicks["detail"]) => string;
  flag: string;
  groupName: (name: string) => string;
}

/** Paints what is in view. */
export function paint(c: CanvasRenderingContext2D, s: Scene, colours: Colours): void {
  const width = s.width - s.gutter;
  c.clearRect(0, 0, s.width, s.height);
  const ticks = axisTicks(s.range, width, s.range.to - s.range.from > 3 * 86_400_000 ? 110 : 96, s.offset);
  grid(c, s, colours, ticks, width);
  const brush: Brush = {
    c,
    colours,
    hatch: hatchOf(c, colours.state.WAITING),
    range: s.range,
    width,
    grey: false,
  };
  const first = Math.max(0, Math.floor(s.top / s.rowHeight));
  const last = Math.min(s.lines.length - 1, Math.floor((s.top + s.height - axisHeight) / s.rowHeight));
  c.save();
  c.beginPath();
  c.rect(0, axisHeight, s.width, s.height - axisHeight);
  c.clip();
  for (let i = first; i <= last; i++) {
    const line = s.lines[i] as Line;
    const y = axisHeight + i * s.rowHeight - s.top;
    background(c, s, colours, line, i, y);
    label(c, s, colours, line, y);
    if (line.kind === "group") continue;
    c.save();
    c.beginPath();
    c.rect(s.gutter, y, width, s.rowHeight);
    c.clip();
    c.translate(s.gutter, 0);
    if (s.critical && !line.row.critical) c.globalAlpha = 0.3;
    if (s.moment === undefined) drawRow(brush, line.row, y, s.rowHeight);
    else {
      drawRow({ ...brush, grey: true }, line.row, y, s.rowHeight);
      if (line.past) drawRow(brush, line.past, y, s.rowHeight);
    }
    c.restore();
  }
  c.restore();
  marks(c, s, colours, width);
  axis(c, s, colours, ticks, width);
}

function grid(
  c: CanvasRenderingContext2D,
  s: Scene,
  colours: Colours,
  ticks: AxisTicks,
  width: number,
): void {
  c.fillStyle = colours.line;
  c.globalAlpha = 0.6;
  for (const at of ticks.at) {
    c.fillRect(Math.round(s.gutter + xOf(at, s.range, width)), axisHeight, 1, s.height - axisHeight);
  }
  c.globalAlpha = 1;
}

function background(
  c: CanvasRenderingContext2D,
  s: Scene,
  colours: Colours,
  line: Line,
  index: number,
  y: number,
): void {
  if (line.kind === "group") {
    c.fillStyle = colours.sunken;
    c.fillRect(0, y, s.width, s.rowHeight);
    return;
  }
  if (line.row.nodeId === s.selected) {
    c.fillStyle = colours.accentSoft;
    c.fillRect(0, y, s.width, s.rowHeight);
  }
  if (index === s.cursor) {
    c.strokeStyle = colours.accent;
    c.lineWidth = 1;
    c.strokeRect(0.5, y + 0.5, s.width - 1, s.rowHeight - 1);
  }
}

function label(c: CanvasRenderingContext2D, s: Scene, colours: Colours, line: Line, y: number): void {
  const group = line.kind === "group";
  const name = group ? s.groupName(line.group.name) : line.row.nodeId;
  c.save();
  c.beginPath();
  c.rect(0, y, group ? s.width : s.gutter - 8, s.rowHeight);
  c.clip();
  c.fillStyle = group ? colours.muted : colours.text;
  c.font = `${group || (line.row.critical && s.critical) ? "600 " : ""}12px ${colours.font}`;
  c.textBaseline = "middle";
  c.fillText(name, 10, y + s.rowHeight / 2 + 0.5);
  c.restore();
  if (!group && line.row.critical && s.critical) {
    c.fillStyle = colours.accent;
    c.fillRect(0, y + 2, 3, s.rowHeight - 4);
  }
}

/** The fence of a cancel as a flag, and the moment that is shown. */
function marks(c: CanvasRenderingContext2D, s: Scene, colours: Colours, width: number): void {
  const { fence } = s.timeline;
  if (s.moment !== undefined) {
    const x = xOf(s.moment, s.range, width);
    if (x < width) {
      c.fillStyle = colours.sunken;
      c.globalAlpha = 0.5;
      c.fillRect(s.gutter + Math.max(0, x), axisHeight, width - Math.max(0, x), s.height - axisHeight);
      c.globalAlpha = 1;
    }
    if (x >= 0 && x <= width) upright(c, s.gutter + x, s.height, colours.accent);
  }
  if (!fence || (s.moment !== undefined && fence.at > s.moment)) return;
  const x = xOf(fence.at, s.range, width);
  if (x < 0 || x > width) return;
  upright(c, s.gutter + x, s.height, colours.state.CANCELED);
  c.font = `600 11px ${colours.font}`;
  const long = c.measureText(s.flag).width + 12;
  const left = x + long > width;
  c.fillStyle = colours.state.CANCELED;
  const at = s.gutter + x + (left ? -long : 0);
  c.fillRect(at, axisHeight, long, 16);
  c.fillStyle = colours.onFailed;
  c.textBaseline = "middle";
  c.fillText(s.flag, at + 6, axisHeight + 8.5);
}

function upright(c: CanvasRenderingContext2D, x: number, height: number, colour: string): void {
  c.fillStyle = colour;
  c.fillRect(Math.round(x) - 0.75, axisHeight, 1.5, height - axisHeight);
}

function axis(
  c: CanvasRenderingContext2D,
  s: Scene,
  colours: Colours,
  ticks: AxisTicks,
  width: number,
): void {
  c.fillStyle = colours.panel;
  c.fillRect(0, 0, s.width, axisHeight);
  c.fillStyle = colours.line;
  c.fillRect(0, axisHeight - 1, s.width, 1);
  c.font = `11px ${colours.font}`;
  c.textBaseline = "middle";
  for (const at of ticks.at) {
    const x = s.gutter + xOf(at, s.range, width);
    const name = s.label(at, ticks.detail);
    const long = c.measureText(name).width;
    c.fillStyle = colours.line;
    c.fillRect(Math.round(x), axisHeight - 6, 1, 6);
    if (x + 4 + long > s.width) continue;
    c.fillStyle = colours.muted;
    c.fillText(name, x + 4, axisHeight / 2);
  }
}
