import { useState } from "react";
import { usePages, useRead, type Answer } from "../../api";
import {
  Button,
  CopyAs,
  Empty,
  ErrorBox,
  Loading,
  Page,
  Table,
  Time,
  useZoneName,
  type Column,
} from "../../kit";
import { go, Link } from "../../router";
import { useLocale, usePageWords, useWords } from "../../words";
import { NewGraph } from "./NewGraph";
import { text } from "./words";

type Graph = Answer<"/graphs">["items"][number];

interface Counts {
  active: number;
  total: number;
}

/** Which graphs are there, and how much do they run? */
export default function Graphs() {
  const w = useWords();
  const t = usePageWords(text);
  const locale = useLocale();
  const zone = useZoneName();
  const [making, setMaking] = useState(false);
  const list = usePages("/graphs", (page) => ({ query: page }), 10_000);
  const counts = useRead("/executions/counts", { query: { groupBy: "status,graphId" } }, { every: 5_000 });
  const by = byGraph(counts.data?.items ?? []);
  const number = (n: number | undefined) =>
    n !== undefined ? n.toLocaleString(locale) : counts.data && !counts.data.more ? "0" : "";
  const columns: Column<Graph>[] = [
    {
      id: "graph",
      head: t.graph,
      width: "minmax(9rem, 2fr)",
      cell: (g) => (
        <Link to="graph" params={{ id: g.graphId }}>
          {g.graphId}
        </Link>
      ),
    },
    { id: "version", head: t.newest, number: true, width: "7rem", cell: (g) => t.v(String(g.version)) },
    {
      id: "active",
      head: t.active,
      number: true,
      width: "7rem",
      cell: (g) => {
        const n = by.get(g.graphId)?.active;
        if (!n) return number(n);
        return (
          <Link to="executions" search={{ graphId: g.graphId, status: "ACTIVE" }}>
            {number(n)}
          </Link>
        );
      },
    },
    {
      id: "total",
      head: t.total,
      number: true,
      from: 560,
      width: "8rem",
      cell: (g) => number(by.get(g.graphId)?.total),
    },
    {
      id: "created",
      head: t.changed(zone),
      from: 640,
      width: "13rem",
      cell: (g) => <Time at={g.createdAt} bare />,
    },
  ];
  const create = (
    <Button kind="primary" scope="graphs:write" onClick={() => setMaking(true)}>
      {t.create}
    </Button>
  );
  return (
    <Page
      title={w.nav.graphs}
      subtitle={t.subtitle}
      actions={
        <>
          <CopyAs method="GET" path="graphs" cli="renga graph list" />
          {list.total !== 0 && create}
        </>
      }
    >
      {list.error && <ErrorBox error={list.error} onRetry={list.retry} />}
      {list.total === undefined && !list.error && <Loading label={w.page.loading} />}
      {list.total === 0 && (
        <Empty title={t.emptyTitle} command="renga graph apply examples/order.yaml" action={create}>
          {t.empty}
        </Empty>
      )}
      {list.total !== undefined && list.total > 0 && (
        <Table
          label={w.nav.graphs}
          columns={columns}
          count={list.total}
          row={list.row}
          rowKey={(g) => g.graphId}
          onOpen={(g) => go({ to: "graph", params: { id: g.graphId } })}
          onRange={list.onRange}
        />
      )}
      {making && <NewGraph onClose={() => setMaking(false)} />}
    </Page>
  );
}

function byGraph(items: Answer<"/executions/counts">["items"]): Map<string, Counts> {
  const out = new Map<string, Counts>();
  for (const { graphId, status, count } of items) {
    if (graphId === undefined) continue;
    const now = out.get(graphId) ?? { active: 0, total: 0 };
    const active = now.active + (status === "ACTIVE" ? count : 0);
    out.set(graphId, { active, total: now.total + count });
  }
  return out;
}
