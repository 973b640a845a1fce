import { useQueries } from "@tanstack/react-query";
import { useCallback, useState } from "react";
import { read, readKey, useRead, type Answer } from "../../api";
import type { Query } from "./filters";

export type Execution = Answer<"/executions">["items"][number];
type Page = Answer<"/executions">;

export const pageSize = 100;
const params = (query: Query, page: number) => ({ query: { ...query, page, page_size: pageSize } });

export interface Listed {
  /** How many rows are shown; undefined before the first answer. */
  count: number | undefined;
  row: (index: number) => Execution | undefined;
  /** How many came since: they are shown when somebody asks for them. */
  fresh: number;
  showFresh: () => void;
  /** What is shown is that of the filters before. */
  old: boolean;
  error: Error | null;
  retry: () => void;
  onRange: (first: number, last: number) => void;
}

/**
 * Rows over exact pages, of which only those on screen are loaded. New executions do not push the rows down: the rows
 * count from the total that was shown, and each page knows by its own total how far it has moved since.
 */
export function useListed(query: Query, every: number | undefined): Listed {
  const key = JSON.stringify(query);
  const [range, setRange] = useState<readonly [number, number]>([0, 0]);
  const [shown, setShown] = useState<{ key: string; query: Query; base: number }>();
  const head = useRead("/executions", params(query, 1), { every });
  const total = head.data?.total;
  // The first answer for other filters replaces what is shown, and a list that shrank is followed at once.
  if (total !== undefined && (shown?.key !== key || total < shown.base || (shown.base === 0 && total > 0)))
    setShown({ key, query, base: total });

  const base = shown?.base ?? 0;
  const moved = shown?.key === key && total !== undefined ? Math.max(0, total - base) : 0;
  const firstPage = Math.floor((range[0] + moved) / pageSize) + 1;
  const lastPage = Math.floor((range[1] + moved) / pageSize) + 1;
  const numbers: number[] = [];
  const end = Math.max(1, Math.ceil((base + moved) / pageSize));
  for (let p = Math.max(1, firstPage - 1); p <= Math.min(end, lastPage + 1); p++) numbers.push(p);
  const pages = useQueries({
    queries: (shown ? numbers : []).map((page) => {
      const of = params(shown?.query ?? {}, page);
      const visible = page >= firstPage && page <= lastPage;
      return {
        queryKey: readKey("/executions", of),
        queryFn: ({ signal }: { signal: AbortSignal }) => read("/executions", of, signal),
        refetchInterval: visible && page > 1 && shown?.key === key ? (every ?? false) : false,
      } as const;
    }),
  });

  const loaded = pages.flatMap((p) => (p.data ? [p.data as Page] : []));
  const row = (index: number) => {
    for (const p of loaded) {
      const at = index + Math.max(0, p.total - base) - (p.page - 1) * pageSize;
      if (at >= 0 && at < pageSize) return p.items[at];
    }
    return undefined;
  };
  const onRange = useCallback(
    (first: number, last: number) =>
      setRange((now) => (now[0] === first && now[1] === last ? now : [first, last])),
    [],
  );
  return {
    count: shown?.base,
    row,
    fresh: moved,
    showFresh: () => total !== undefined && setShown({ key, query, base: total }),
    old: shown !== undefined && shown.key !== key,
    error: head.error ?? pages.find((p) => p.error)?.error ?? null,
    retry: () => {
      void head.refetch();
      for (const p of pages) if (p.error) void p.refetch();
    },
    onRange,
  };
}
