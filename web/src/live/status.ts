import { useSyncExternalStore } from "react";

// What the status line says about the streams of this tab.

export type State =
  | { kind: "live" }
  | { kind: "connecting" }
  | { kind: "polling" }
  | { kind: "paused" }
  | { kind: "reconnecting"; at: number }
  | { kind: "behind"; ms: number };

const streams = new Map<symbol, State>();
const listeners = new Set<() => void>();
let worst: State | undefined;

const order = ["live", "polling", "paused", "connecting", "behind", "reconnecting"];

export function report(id: symbol, s: State | undefined) {
  if (s) streams.set(id, s);
  else streams.delete(id);
  worst = [...streams.values()].sort((a, b) => order.indexOf(b.kind) - order.indexOf(a.kind))[0];
  for (const l of listeners) l();
}

/** The worst state of the streams that are held; undefined without streams. */
export function useLiveState(): State | undefined {
  return useSyncExternalStore(
    (l) => {
      listeners.add(l);
      return () => void listeners.delete(l);
    },
    () => worst,
    () => undefined,
  );
}
