import { useSyncExternalStore } from "react";
import { usePrefs } from "../prefs";
import { useWords } from "../words";
import { showAge, showDuration, showTime, showZone } from "./instant";

// One clock for all ages: it ticks once a second while something shows an age and the tab is visible.
const listeners = new Set<() => void>();
let now = Date.now();
let timer: ReturnType<typeof setInterval> | undefined;

function tick() {
  if (document.visibilityState === "hidden") return;
  now = Date.now();
  for (const l of listeners) l();
}

function subscribe(l: () => void) {
  listeners.add(l);
  if (timer === undefined) {
    now = Date.now();
    timer = setInterval(tick, 1000);
  }
  return () => {
    listeners.delete(l);
    if (listeners.size === 0) {
      clearInterval(timer);
      timer = undefined;
    }
  };
}

/** The present, in milliseconds; renders again every second. */
export function useNow(): number {
  return useSyncExternalStore(
    subscribe,
    () => now,
    () => now,
  );
}

export interface TimeProps {
  at: string | null | undefined;
  ms?: boolean;
  timeOnly?: boolean;
  /** Show the age beside it. */
  age?: boolean;
  /** Leave the zone out: the head of the column says it. */
  bare?: boolean;
}

/** A time in the chosen zone. Its tooltip shows all three zones and the age. */
export function Time({ at, ms = false, timeOnly = false, age = false, bare = false }: TimeProps) {
  const { zone } = usePrefs();
  if (!at) return <span className="muted">–</span>;
  return (
    <span className="time">
      <Stamp at={at} text={showTime(at, zone, { ms, timeOnly, bare })} />
      {age && (
        <>
          {" "}
          <Age at={at} />
        </>
      )}
    </span>
  );
}

function Stamp({ at, text }: { at: string; text: string }) {
  const { language } = usePrefs();
  const w = useWords();
  const hover = (e: { currentTarget: HTMLElement }) => {
    const all = (["local", "utc", "jst"] as const).map(
      (z) => `${w.zone[z]}: ${showTime(at, z, { ms: true })}`,
    );
    e.currentTarget.title = [...all, showAge(at, Date.now(), w, language)].join("\n");
  };
  return (
    <time dateTime={at} onPointerEnter={hover} onFocus={hover}>
      {text}
    </time>
  );
}

/** The name of the chosen zone, for the head of a column of bare times. */
export function useZoneName(): string {
  return showZone(usePrefs().zone);
}

/** How long ago, or how soon. */
export function Age({ at }: { at: string }) {
  const at0 = useNow();
  const { language } = usePrefs();
  return <span className="age">{showAge(at, at0, useWords(), language)}</span>;
}

/** A span of time; without an end it runs. */
export function Duration({ ms, from, to }: { ms?: number; from?: string; to?: string | null | undefined }) {
  const { language } = usePrefs();
  if (ms !== undefined) return <span className="num">{showDuration(ms, language)}</span>;
  if (!from) return <span className="muted">–</span>;
  if (!to) return <Running from={from} />;
  return <span className="num">{showDuration(Date.parse(to) - Date.parse(from), language)}</span>;
}

function Running({ from }: { from: string }) {
  const at = useNow();
  const { language } = usePrefs();
  const whole = Math.floor((at - Date.parse(from)) / 1000) * 1000;
  return <span className="num">{showDuration(whole, language)}</span>;
}
