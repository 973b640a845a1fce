import { prefs, usePrefs, type Language } from "../prefs";
import { en, type Words } from "./en";
import { ja } from "./ja";

export type { Words } from "./en";

const catalogues: Record<Language, Words> = { en, ja };

/** The words that every page uses, in the language of the person. */
export function useWords(): Words {
  return catalogues[usePrefs().language];
}

/** The same, outside of a component. */
export function words(): Words {
  return catalogues[prefs().language];
}

export type Shape<T> = T extends string
  ? string
  : T extends (...args: infer A) => string
    ? (...args: A) => string
    : { [K in keyof T]: Shape<T[K]> };

/** A page's catalogue: `export const text = catalogue({ title: "Queues" }, { title: "キュー" })`. */
export function catalogue<T>(enWords: T, jaWords: Shape<NoInfer<T>>): Record<Language, Shape<T>> {
  return { en: enWords as Shape<T>, ja: jaWords as Shape<T> };
}

/** The page's words, in the language of the person: `const w = usePageWords(text)`. */
export function usePageWords<T>(c: Record<Language, T>): T {
  return c[usePrefs().language];
}

/** A number, for people, with its noun: "1 node", "1,200 nodes". Only English has two forms. */
export function counted(n: string, one: string, many: string): string {
  return `${n} ${n === "1" ? one : many}`;
}

/** Numbers, lists and names by locale. */
export function useLocale(): string {
  return usePrefs().language === "ja" ? "ja-JP" : "en-GB";
}
