import { useSyncExternalStore } from "react";

// What a person prefers. localStorage holds this and nothing else: theme, zone, language, density, columns and named
// views. No token, no data. Tenant and "act as" (mode none) belong to a tab and are in api/caller.ts.

export type Theme = "system" | "light" | "dark";
export type Zone = "local" | "utc" | "jst";
export type Language = "en" | "ja";
export type Density = "comfortable" | "compact";

export interface View {
  name: string;
  search: string;
}

export interface Prefs {
  theme: Theme;
  zone: Zone;
  language: Language;
  density: Density;
  /** The columns of a table that are shown, by the table's name. */
  columns: Record<string, string[]>;
  /** Named views of a page: a name and the search of the URL. */
  views: Record<string, View[]>;
}

const allowed: { [K in keyof Prefs]: (v: unknown) => v is Prefs[K] } = {
  theme: (v): v is Theme => v === "system" || v === "light" || v === "dark",
  zone: (v): v is Zone => v === "local" || v === "utc" || v === "jst",
  language: (v): v is Language => v === "en" || v === "ja",
  density: (v): v is Density => v === "comfortable" || v === "compact",
  columns: (v): v is Prefs["columns"] => isRecord(v) && Object.values(v).every(isStrings),
  views: (v): v is Prefs["views"] => isRecord(v) && Object.values(v).every(isViews),
};

function isRecord(v: unknown): v is Record<string, unknown> {
  return typeof v === "object" && v !== null && !Array.isArray(v);
}

function isStrings(v: unknown): v is string[] {
  return Array.isArray(v) && v.every((s) => typeof s === "string");
}

function isViews(v: unknown): v is View[] {
  return (
    Array.isArray(v) &&
    v.every((e) => isRecord(e) && typeof e.name === "string" && typeof e.search === "string")
  );
}

function defaults(): Prefs {
  const language = typeof navigator !== "undefined" && navigator.language.startsWith("ja") ? "ja" : "en";
  return { theme: "system", zone: "local", language, density: "comfortable", columns: {}, views: {} };
}

const names = Object.keys(allowed) as (keyof Prefs)[];

/** The keys of localStorage that the console writes. */
export const storageKeys = names.map((n) => `renga.${n}`);

function load(): Prefs {
  const prefs: Record<string, unknown> = { ...defaults() };
  if (typeof localStorage === "undefined") return defaults();
  for (const name of names) {
    try {
      const v: unknown = JSON.parse(localStorage.getItem(`renga.${name}`) ?? "null");
      if (allowed[name](v)) prefs[name] = v;
    } catch {
      // Not ours, or damaged: the default.
    }
  }
  return prefs as unknown as Prefs;
}

let current = load();
const listeners = new Set<() => void>();

export function prefs(): Prefs {
  return current;
}

export function setPref<K extends keyof Prefs>(name: K, value: Prefs[K]) {
  current = { ...current, [name]: value };
  try {
    localStorage.setItem(`renga.${name}`, JSON.stringify(value));
  } catch {
    // Storage is full or forbidden: the preference lasts as long as the document.
  }
  for (const l of listeners) l();
}

function subscribe(l: () => void) {
  listeners.add(l);
  return () => void listeners.delete(l);
}

export function usePrefs(): Prefs {
  return useSyncExternalStore(subscribe, prefs, prefs);
}

/** Another tab changed a preference: this one follows. */
if (typeof addEventListener !== "undefined") {
  addEventListener("storage", (e) => {
    if (e.key === null || storageKeys.includes(e.key)) {
      current = load();
      for (const l of listeners) l();
    }
  });
}
