import type { Bar, Row } from "../../flow/bars";
import type { Colours } from "./colours";
import { xOf, type Range } from "./scale";

// How bars look: thin is ready, solid an attempt, hatched a wait, a dotted line a backoff; a hollow diamond is a result
// that came too late. A failed attempt has a cross, a canceled one is hollow, one that goes on has an open end.

export interface Brush {
  c: CanvasRenderingContext2D;
  colours: Colours;
  hatch: CanvasPattern | null;
  range: Range;
  /** The width of the part with the bars. */
  width: number;
  /** All in one colour: what is still to come. */
  grey: boolean;
}

/** The state whose colour a bar has. */
export function barState(bar: Bar): keyof Colours["state"] {
  if (bar.kind === "ready") return "READY";
  if (bar.kind === "wait") return "WAITING";
  if (bar.outcome === "FAILED" || bar.outcome === "CANCELED" || bar.outcome === "SUCCEEDED")
    return bar.outcome;
  return "RUNNING";
}

/** Draws the bars of a row between y and y + height. */
export function drawRow(b: Brush, row: Row, y: number, height: number): void {
  // Several bars within one pixel are one stroke: only what is drawn last can be seen.
  let shown = -Infinity;
  for (const bar of row.bars) {
    const x0 = xOf(bar.from, b.range, b.width);
    const x1 = xOf(bar.to, b.range, b.width);
    if (x1 < -2 || x0 > b.width + 2) continue;
    if (x1 < shown + 0.5 && bar.outcome !== "FAILED" && bar.kind !== "attempt") continue;
    drawBar(b, bar, Math.max(-4, x0), Math.min(b.width + 4, x1), y, height);
    shown = x1;
  }
  if (b.grey) return;
  for (const late of row.late) diamond(b, xOf(late.at, b.range, b.width), y + height / 2, height / 4);
}

function drawBar(b: Brush, bar: Bar, x0: number, x1: number, y: number, height: number): void {
  const { c, colours } = b;
  const colour = b.grey ? colours.line : colours.state[barState(bar)];
  const width = Math.max(bar.kind === "attempt" ? 2 : 1, x1 - x0);
  const mid = y + height / 2;
  switch (bar.kind) {
    case "ready":
      c.fillStyle = colour;
      c.fillRect(x0, mid - 1.5, width, 3);
      return;
    case "backoff":
      c.fillStyle = b.grey ? colours.line : colours.muted;
      for (let x = x0 + 2; x < x1 - 1; x += 5) c.fillRect(x, mid - 0.5, 2, 1);
      return;
    case "wait":
      wait(b, colour, x0, y + 4, width, height - 8);
      return;
    case "attempt":
      attempt(b, bar, colour, x0, y + 3, width, height - 6);
  }
}

function wait(b: Brush, colour: string, x: number, y: number, width: number, height: number): void {
  const { c } = b;
  if (b.hatch && !b.grey) {
    c.fillStyle = b.hatch;
    c.fillRect(x, y, width, height);
  }
  c.strokeStyle = colour;
  c.lineWidth = 1;
  c.strokeRect(x + 0.5, y + 0.5, Math.max(0.5, width - 1), height - 1);
}

function attempt(
  b: Brush,
  bar: Bar,
  colour: string,
  x: number,
  y: number,
  width: number,
  height: number,
): void {
  const { c, colours } = b;
  c.fillStyle = colour;
  if (bar.outcome === "CANCELED" && width > 3 && !b.grey) {
    c.globalAlpha *= 0.25;
    c.fillRect(x, y, width, height);
    c.globalAlpha /= 0.25;
    c.strokeStyle = colour;
    c.lineWidth = 1.5;
    c.strokeRect(x + 0.75, y + 0.75, width - 1.5, height - 1.5);
  } else {
    c.fillRect(x, y, width, height);
  }
  if (b.grey) return;
  if (bar.open && width > 8) {
    // It goes on: an open end.
    c.fillStyle = colours.panel;
    for (let i = 0; i < 3; i++) c.fillRect(x + width - 3 - i * 4, y, 1.5, height);
  }
  if (bar.outcome === "FAILED" && width >= 12) cross(b, x + 6, y + height / 2, 3);
  const label = bar.outcome === "FAILED" ? (bar.errorCode ?? "") : (bar.workerId ?? "");
  if (width > 60 && label !== "") text(b, bar, label, x, y, width, height);
}

function text(b: Brush, bar: Bar, label: string, x: number, y: number, width: number, height: number): void {
  const { c, colours } = b;
  const left = x + (bar.outcome === "FAILED" ? 14 : 6);
  c.save();
  c.beginPath();
  c.rect(Math.max(x, 0), y, width - 4, height);
  c.clip();
  c.fillStyle = bar.outcome === "CANCELED" ? colours.text : colours.onFailed;
  c.font = `11px ${colours.font}`;
  c.textBaseline = "middle";
  c.fillText(label, Math.max(4, left), y + height / 2 + 0.5);
  c.restore();
}

function cross(b: Brush, x: number, y: number, r: number): void {
  const { c } = b;
  c.strokeStyle = b.colours.onFailed;
  c.lineWidth = 1.5;
  c.beginPath();
  c.moveTo(x - r, y - r);
  c.lineTo(x + r, y + r);
  c.moveTo(x + r, y - r);
  c.lineTo(x - r, y + r);
  c.stroke();
}

function diamond(b: Brush, x: number, y: number, r: number): void {
  const { c, colours } = b;
  c.beginPath();
  c.moveTo(x, y - r);
  c.lineTo(x + r, y);
  c.lineTo(x, y + r);
  c.lineTo(x - r, y);
  c.closePath();
  c.fillStyle = colours.panel;
  c.fill();
  c.strokeStyle = colours.state.CANCELED;
  c.lineWidth = 1.5;
  c.stroke();
}

/** The pattern of waits. */
export function hatchOf(c: CanvasRenderingContext2D, colour: string): CanvasPattern | null {
  const tile = new OffscreenCanvas(6, 6);
  const t = tile.getContext("2d");
  if (!t) return null;
  t.strokeStyle = colour;
  t.lineWidth = 1.2;
  for (const d of [-6, 0, 6]) {
    t.moveTo(d, 6);
    t.lineTo(d + 6, 0);
  }
  t.stroke();
  return c.createPattern(tile, "repeat");
}
