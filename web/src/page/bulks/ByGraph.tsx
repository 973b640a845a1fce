import { useQueries } from "@tanstack/react-query";
import { Fragment } from "react";
import { read, readKey, useRead } from "../../api";
import { useLocale, usePageWords } from "../../words";
import { listOf } from "./filter";
import type { Bulk } from "./State";
import { text } from "./words";

const most = 8;

/** How the set is spread over graphs. The API has a bulk's items by id alone: the lists of its filter are counted. */
export function ByGraph({ bulk }: { bulk: Bulk }) {
  const t = usePageWords(text);
  const locale = useLocale();
  const status =
    bulk.command === "cancel" ? (["ACTIVE"] as const) : (["COMPLETED", "FAILED", "CANCELED"] as const);
  const counts = useRead("/executions/counts", { query: { groupBy: "status,graphId" } });
  const sums = new Map<string, number>();
  for (const g of counts.data?.items ?? []) {
    if (g.graphId === undefined || !(status as readonly string[]).includes(g.status ?? "")) continue;
    if (bulk.filter.graphId !== undefined && bulk.filter.graphId !== g.graphId) continue;
    sums.set(g.graphId, (sums.get(g.graphId) ?? 0) + g.count);
  }
  const graphs = [...sums].sort((a, b) => b[1] - a[1]).slice(0, most * 2);
  const of = (graphId: string) => ({
    query: { ...listOf(bulk, status), graphId, page: 1, page_size: 10 },
  });
  const lists = useQueries({
    queries: graphs.map(([graphId]) => ({
      queryKey: readKey("/executions", of(graphId)),
      queryFn: ({ signal }: { signal: AbortSignal }) => read("/executions", of(graphId), signal),
      staleTime: 60_000,
    })),
  });
  const rows = graphs
    .map(([graphId], i) => ({ graphId, n: lists[i]?.data?.total ?? 0 }))
    .filter((r) => r.n > 0)
    .sort((a, b) => b.n - a.n)
    .slice(0, most);
  if (rows.length === 0 || lists.some((l) => l.isPending)) return null;
  const rest = Math.max(0, bulk.total - rows.reduce((n, r) => n + r.n, 0));
  const top = Math.max(...rows.map((r) => r.n), rest, 1);
  if (rest > 0 && graphs.length > rows.length) rows.push({ graphId: t.otherGraphs, n: rest });
  return (
    <div className="bulk-by">
      <h2>{t.byGraph}</h2>
      <p className="muted small-text">{t.byGraphNow}</p>
      <div className="bulk-graphs">
        {rows.map((r) => (
          <Fragment key={r.graphId}>
            <span>{r.graphId}</span>
            <span style={{ width: `${(r.n / top) * 100}%` }} />
            <span className="num">{r.n.toLocaleString(locale)}</span>
          </Fragment>
        ))}
      </div>
    </div>
  );
}
