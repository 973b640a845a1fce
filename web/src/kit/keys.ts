import { useEffect, useEffectEvent } from "react";
import type { PageName } from "../routes";

/** `g` and then a letter: where it goes. */
export const jumps = {
  o: "overview",
  e: "executions",
  w: "waiting",
  b: "bulks",
  g: "graphs",
  q: "queues",
  s: "settings",
} as const satisfies Record<string, PageName>;

/** Keys belong to whoever types: nothing fires in a control, and nothing while an IME composes. */
export function typing(e: KeyboardEvent): boolean {
  if (e.isComposing || e.keyCode === 229) return true;
  const t = e.target;
  if (!(t instanceof Element)) return false;
  if (t.closest("input:not([type=checkbox], [type=radio]), textarea, select, [contenteditable]")) return true;
  // An editor in a shadow root.
  return e.composedPath().some((n) => n instanceof HTMLElement && n.isContentEditable);
}

export interface Keys {
  palette: () => void;
  help: () => void;
  go: (page: PageName) => void;
}

const within = 1_500;

/** The keys that work everywhere. */
export function useShellKeys(keys: Keys) {
  const on = useEffectEvent((e: KeyboardEvent, leader: boolean): boolean => {
    if (e.isComposing || e.keyCode === 229) return false;
    if ((e.metaKey || e.ctrlKey) && !e.altKey && !e.shiftKey && e.key.toLowerCase() === "k") {
      e.preventDefault();
      keys.palette();
      return false;
    }
    if (e.metaKey || e.ctrlKey || e.altKey || typing(e) || document.querySelector("dialog[open]"))
      return false;
    if (leader) {
      const page = (jumps as Record<string, PageName>)[e.key];
      if (page) {
        e.preventDefault();
        keys.go(page);
      }
      return false;
    }
    if (e.key === "?") {
      e.preventDefault();
      keys.help();
    }
    return e.key === "g";
  });
  useEffect(() => {
    let leaderAt = -Infinity;
    const listen = (e: KeyboardEvent) => {
      if (["Shift", "Control", "Meta", "Alt"].includes(e.key)) return;
      leaderAt = on(e, e.timeStamp - leaderAt < within) ? e.timeStamp : -Infinity;
    };
    addEventListener("keydown", listen);
    return () => removeEventListener("keydown", listen);
  }, []);
}

/** A key of a page: `usePageKey("f", fit)`. Silent where somebody types and while a dialog is open. */
export function usePageKey(key: string, run: () => void) {
  const on = useEffectEvent(run);
  useEffect(() => {
    const listen = (e: KeyboardEvent) => {
      if (e.key !== key || e.metaKey || e.ctrlKey || e.altKey || typing(e)) return;
      if (document.querySelector("dialog[open]")) return;
      e.preventDefault();
      on();
    };
    addEventListener("keydown", listen);
    return () => removeEventListener("keydown", listen);
  }, [key]);
}
