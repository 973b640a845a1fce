import { useRead } from "../../api";
import { useLocale, usePageWords } from "../../words";
import { text } from "./words";

export interface Running {
  /** How many executions of a version are ACTIVE, for people. */
  of: (version: number) => string;
  /** The number of each version that has some. */
  byVersion: ReadonlyMap<number, number>;
  /** Whether these are all of them. */
  whole: boolean;
}

/** Which versions of a graph its ACTIVE executions run: counted among the newest hundred. */
export function useRunning(graphId: string): Running {
  const t = usePageWords(text);
  const locale = useLocale();
  const list = useRead(
    "/executions",
    { query: { graphId, status: ["ACTIVE"], page_size: 100 } },
    { every: 5_000 },
  );
  const byVersion = new Map<number, number>();
  for (const e of list.data?.items ?? [])
    byVersion.set(e.graphVersion, (byVersion.get(e.graphVersion) ?? 0) + 1);
  const whole = list.data !== undefined && (list.data.total ?? 0) <= list.data.items.length;
  const of = (version: number) => {
    if (!list.data) return "…";
    const n = (byVersion.get(version) ?? 0).toLocaleString(locale);
    return whole ? n : t.among(n, list.data.items.length.toLocaleString(locale));
  };
  return { of, byVersion, whole };
}
