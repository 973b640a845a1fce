import type { Tick } from "../../flow/refused";

// Where the slider rests: PURE. Steps are the last events of commands; where the commands are not read yet, each event
// is one.

/** The rest that is so many commands away from an event, at most the last event. */
export function step(ticks: readonly Tick[], from: number, by: number, last: number): number {
  if (ticks.length === 0) return clamp(from + by, last);
  // The first tick at or after `from`: one back from within a command goes to the end of the command before it.
  const here = firstFrom(ticks, from);
  const inside = ticks[here]?.seq !== from;
  const target = by > 0 ? here + by - (inside ? 1 : 0) : here + by;
  const tick = ticks[Math.max(0, target)];
  return tick === undefined ? last : clamp(tick.seq, last);
}

/** The rest that is nearest to an event. */
export function nearest(ticks: readonly Tick[], seq: number, last: number): number {
  const after = firstFrom(ticks, seq);
  const next = ticks[after]?.seq ?? last;
  const before = ticks[after - 1]?.seq;
  return clamp(before !== undefined && seq - before <= next - seq ? before : next, last);
}

/** The command whose state is shown after an event. */
export function tickAt(ticks: readonly Tick[], seq: number): Tick | undefined {
  const tick = ticks[firstFrom(ticks, seq)];
  return tick !== undefined && tick.firstSeq <= seq ? tick : undefined;
}

function firstFrom(ticks: readonly Tick[], seq: number): number {
  let low = 0;
  let high = ticks.length;
  while (low < high) {
    const mid = (low + high) >> 1;
    if ((ticks[mid] as Tick).seq < seq) low = mid + 1;
    else high = mid;
  }
  return low;
}

function clamp(seq: number, last: number): number {
  return Math.max(1, Math.min(last, seq));
}
