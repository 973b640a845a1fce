import { useQueries } from "@tanstack/react-query";
import { useCallback, useState } from "react";
import { read, readKey, type Answer, type ReadParams } from "./query";

type Lists = "/bulks" | "/bulks/{bulkId}/items" | "/graphs" | "/graphs/{graphId}/versions";
type Item<P extends Lists> = Answer<P> extends { items: (infer T)[] } ? T : never;

export interface Pages<T> {
  /** In all; undefined before the first answer. */
  total: number | undefined;
  row: (index: number) => T | undefined;
  /** Which rows are on screen: those are loaded, and a page before and after them. */
  onRange: (first: number, last: number) => void;
  error: Error | null;
  retry: () => void;
}

const size = 100;

/** A list of any length for a virtual table: loads the pages on screen, and asks for them again every so often. */
export function usePages<P extends Lists>(
  path: P,
  params: (page: { page: number; page_size: number }) => ReadParams<P>,
  every?: number,
): Pages<Item<P>> {
  const [range, setRange] = useState<readonly [number, number]>([0, 0]);
  const [known, setKnown] = useState<number>();
  const first = Math.floor(range[0] / size) + 1;
  const last = Math.floor(range[1] / size) + 1;
  const end = Math.max(1, Math.ceil((known ?? 0) / size));
  const numbers: number[] = [];
  for (let p = Math.max(1, Math.min(first, end) - 1); p <= Math.min(end, last + 1); p++) numbers.push(p);
  const pages = useQueries({
    queries: numbers.map((page) => {
      const of = params({ page, page_size: size });
      return {
        queryKey: readKey(path, of),
        queryFn: ({ signal }: { signal: AbortSignal }) => read(path, of, signal),
        refetchInterval: page >= Math.min(first, end) && page <= last ? (every ?? false) : false,
      } as const;
    }),
  });
  const loaded = pages.flatMap((p) => (p.data ? [p.data as unknown as Loaded<P>] : []));
  const newest = loaded[loaded.length - 1]?.total;
  if (newest !== undefined && newest !== known) setKnown(newest);
  return {
    total: newest ?? known,
    row: (index) => {
      const page = loaded.find((p) => p.page === Math.floor(index / size) + 1);
      return page?.items[index % size];
    },
    onRange: useCallback(
      (a: number, b: number) => setRange((now) => (now[0] === a && now[1] === b ? now : [a, b])),
      [],
    ),
    error: pages.find((p) => p.error)?.error ?? null,
    retry: () => {
      for (const p of pages) if (p.error) void p.refetch();
    },
  };
}

interface Loaded<P extends Lists> {
  items: Item<P>[];
  page: number;
  total: number;
}
