// PURE: the buckets of the strip of time above the list.

const lengths = [
  1, 5, 10, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10_800, 21_600, 43_200, 86_400, 604_800,
];

export interface Window {
  /** Milliseconds; the first bucket begins at `from`, the last ends at `to`. */
  from: number;
  to: number;
  /** Seconds. */
  bucket: number;
}

/** The window of the strip: `span` seconds up to now, and back to `since` when that is earlier. */
export function windowOf(now: number, span: number, since?: number, most = 96): Window {
  const start = Math.min(now - span * 1000, since ?? Infinity);
  const seconds = (now - start) / 1000;
  const bucket = lengths.find((l) => seconds / l <= most) ?? Math.ceil(seconds / most / 604_800) * 604_800;
  const ms = bucket * 1000;
  return { from: Math.floor(start / ms) * ms, to: Math.ceil((now + 1) / ms) * ms, bucket };
}

/** The buckets that a range touches, clipped to the window; undefined outside of it. */
export function touched(w: Window, from: number, to: number): [number, number] | undefined {
  const ms = w.bucket * 1000;
  const last = (w.to - w.from) / ms - 1;
  const a = Math.max(0, Math.floor((from - w.from) / ms));
  const b = Math.min(last, Math.ceil((to - w.from) / ms) - 1);
  return a > last || b < 0 || b < a ? undefined : [a, b];
}

/** The range of the buckets a to b. */
export function rangeOf(w: Window, a: number, b: number): { from: string; to: string } {
  const at = (i: number) => new Date(w.from + i * w.bucket * 1000).toISOString();
  return { from: at(Math.min(a, b)), to: at(Math.max(a, b) + 1) };
}
