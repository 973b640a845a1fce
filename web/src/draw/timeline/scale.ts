// Time on a line: pure functions. A range is in milliseconds since the epoch.

export interface Range {
  from: number;
  to: number;
}

/** The shortest range that is shown, in milliseconds. */
const shortest = 5;

/** Keeps a range within the whole, and as long as it was, if that is possible. */
export function within(r: Range, whole: Range): Range {
  const long = Math.max(shortest, Math.min(r.to - r.from, whole.to - whole.from));
  const from = Math.max(whole.from, Math.min(r.from, whole.to - long));
  return { from, to: from + long };
}

/** Shows less (factor below 1) or more around an instant, which stays where it is. */
export function zoom(r: Range, factor: number, around: number, whole: Range): Range {
  const long = Math.max(shortest, (r.to - r.from) * factor);
  const share = (around - r.from) / Math.max(1e-9, r.to - r.from);
  const from = around - long * share;
  return within({ from, to: from + long }, whole);
}

/** Moves by a share of what is shown. */
export function pan(r: Range, share: number, whole: Range): Range {
  const by = (r.to - r.from) * share;
  return within({ from: r.from + by, to: r.to + by }, whole);
}

export function xOf(at: number, r: Range, width: number): number {
  return ((at - r.from) / Math.max(1e-9, r.to - r.from)) * width;
}

export function timeOf(x: number, r: Range, width: number): number {
  return r.from + (x / Math.max(1, width)) * (r.to - r.from);
}

const second = 1_000;
const minute = 60 * second;
const hour = 60 * minute;
const day = 24 * hour;
const steps = [
  ...[1, 2, 5, 10, 20, 50, 100, 200, 500],
  ...[1, 2, 5, 10, 15, 30].map((n) => n * second),
  ...[1, 2, 5, 10, 15, 30].map((n) => n * minute),
  ...[1, 2, 3, 6, 12].map((n) => n * hour),
  ...[1, 2, 7, 14, 30, 90, 365].map((n) => n * day),
];

export interface AxisTicks {
  step: number;
  /** What a label must say: milliseconds, seconds, or a day. */
  detail: "ms" | "s" | "day";
  at: number[];
}

/** Round instants, at least so many pixels apart. Days begin at midnight of a zone that is so far from UTC. */
export function axisTicks(r: Range, width: number, apart: number, offset = 0): AxisTicks {
  const least = ((r.to - r.from) / Math.max(1, width)) * apart;
  const step = steps.find((s) => s >= least) ?? (steps.at(-1) as number) * Math.ceil(least / (365 * day));
  const at: number[] = [];
  for (let t = Math.ceil((r.from + offset) / step) * step - offset; t <= r.to; t += step) at.push(t);
  return { step, detail: step < second ? "ms" : step < day ? "s" : "day", at };
}

/** A range as it stands in a URL: milliseconds after the beginning. */
export function writeRange(r: Range | undefined, whole: Range): string {
  return r === undefined ? "" : `${Math.round(r.from - whole.from)}-${Math.round(r.to - whole.from)}`;
}

export function readRange(s: string, whole: Range): Range | undefined {
  const [, from, to] = /^(\d{1,15})-(\d{1,15})$/.exec(s) ?? [];
  if (from === undefined || to === undefined || Number(to) <= Number(from)) return undefined;
  return within({ from: whole.from + Number(from), to: whole.from + Number(to) }, whole);
}
