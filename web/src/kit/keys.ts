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

/** The keys that the page listens to now, and what each does: for the list on `?`. */
const listening = new Map<object, { key: string; does: string }>();

export function pageKeys(): { does: string; keys: string[] }[] {
  const by = new Map<string, string[]>();
  for (const { key, does } of listening.values()) by.set(does, [...new Set([...(by.get(does) ?? []), key])]);
  return [...by].map(([does, keys]) => ({ does, keys }));
}

/**
 * A key of a page, and what the list on `?` says of it: `usePageKey("f", fit, t.fit)`. Silent where somebody types and
 * while a dialog is open.
 */
export function usePageKey(key: string, run: () => void, does: string) {
  const on = useEffectEvent(run);
  useEffect(() => {
    const me = {};
    listening.set(me, { key, does });
    return () => void listening.delete(me);
  }, [key, does]);
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
