import { useCallback, useMemo, useState } from "react";
import { useRead, type Answer } from "../../api";
import {
  CopyAs,
  Duration,
  Empty,
  ErrorBox,
  FilterBar,
  Id,
  Page,
  StateBadge,
  Table,
  Time,
  useZoneName,
} from "../../kit";
import type { Column, FilterField } from "../../kit";
import { go, Link, useSearch } from "../../router";
import { flag, list, text as textParam } from "../../search";
import { useLocale, usePageWords, useWords } from "../../words";
import { text } from "./words";

type Execution = Answer<"/executions">["items"][number];

const statuses = ["ACTIVE", "COMPLETED", "FAILED", "CANCELED"] as const;
const pageSize = 100;

// What the URL holds; the filters of the list are the same words as those of the API.
const spec = {
  status: list(statuses),
  graphId: textParam(),
  correlationId: textParam(),
  businessKey: textParam(),
  errorCode: textParam(),
  waiting: flag(),
};

/** Which runs, in which state? */
export default function Executions() {
  const w = useWords();
  const t = usePageWords(text);
  const locale = useLocale();
  const zone = useZoneName();
  const [search, setSearch] = useSearch(spec);
  const [page, setPage] = useState(1);
  const query = useMemo(
    () => ({
      ...(search.status.length > 0 ? { status: search.status } : {}),
      ...(search.graphId ? { graphId: search.graphId } : {}),
      ...(search.correlationId ? { correlationId: search.correlationId } : {}),
      ...(search.businessKey ? { businessKey: search.businessKey } : {}),
      ...(search.errorCode ? { errorCode: search.errorCode } : {}),
      ...(search.waiting ? { waiting: true as const } : {}),
    }),
    [search],
  );
  const read = useRead(
    "/executions",
    { query: { ...query, page, page_size: pageSize } },
    { every: 2_000, keep: true },
  );
  const shown = read.data;
  const first = ((shown?.page ?? 1) - 1) * pageSize;
  const onRange = useCallback(
    (from: number, to: number) => setPage(Math.floor((from + to) / 2 / pageSize) + 1),
    [],
  );

  const columns: Column<Execution>[] = [
    {
      id: "id",
      head: t.id,
      width: "9rem",
      cell: (e) => (
        <>
          <Link to="execution" params={{ id: e.executionId }}>
            <code>{e.executionId.slice(-8)}</code>
          </Link>{" "}
          <Id id={e.executionId} mark />
        </>
      ),
    },
    {
      id: "status",
      head: t.status,
      width: "9rem",
      cell: (e) => <StateBadge state={e.status} note={e.errorCode} />,
    },
    { id: "graph", head: t.graph, cell: (e) => `${e.graphId} · ${e.graphVersion}` },
    { id: "key", head: t.key, from: 760, cell: (e) => e.businessKey ?? e.correlationId ?? "" },
    {
      id: "created",
      head: `${t.created} · ${zone}`,
      width: "11rem",
      from: 560,
      cell: (e) => <Time bare at={e.createdAt} />,
    },
    {
      id: "took",
      head: t.took,
      width: "8rem",
      number: true,
      from: 900,
      cell: (e) => <Duration from={e.createdAt} to={e.endedAt} />,
    },
  ];
  const fields: FilterField[] = [
    {
      id: "status",
      label: t.status,
      many: true,
      options: statuses.map((s) => ({ value: s, label: w.status[s] ?? s })),
    },
    { id: "graphId", label: t.graph },
    { id: "businessKey", label: t.businessKey },
    { id: "correlationId", label: t.correlation },
    { id: "errorCode", label: t.errorCode },
    { id: "waiting", label: t.waiting, options: [{ value: "1", label: t.waitingYes }] },
  ];
  const one = (s: string) => (s === "" ? [] : [s]);
  const values = {
    status: search.status,
    graphId: one(search.graphId),
    correlationId: one(search.correlationId),
    businessKey: one(search.businessKey),
    errorCode: one(search.errorCode),
    waiting: search.waiting ? ["1"] : [],
  };
  const change = (field: string, v: string[]) => {
    setPage(1);
    if (field === "status") setSearch({ status: statuses.filter((s) => v.includes(s)) });
    else if (field === "waiting") setSearch({ waiting: v.length > 0 });
    else setSearch({ [field]: v[0] ?? "" } as Partial<typeof search>);
  };
  const params = new URLSearchParams(location.search);
  const flags = [...params]
    .map(([k, v]) => ` --${k.replace(/[A-Z]/g, (c) => `-${c.toLowerCase()}`)} ${v}`)
    .join("");

  return (
    <Page
      title={w.nav.executions}
      subtitle={shown && t.total(shown.total.toLocaleString(locale))}
      actions={
        <CopyAs method="GET" path={`executions${location.search}`} cli={`renga execution list${flags}`} />
      }
    >
      <FilterBar fields={fields} values={values} onChange={change} />
      {read.error && <ErrorBox error={read.error} onRetry={() => void read.refetch()} />}
      <Table
        label={w.nav.executions}
        columns={columns}
        count={shown?.total ?? 0}
        row={(i) => shown?.items[i - first]}
        rowKey={(e) => e.executionId}
        onOpen={(e) => go({ to: "execution", params: { id: e.executionId } })}
        onRange={onRange}
        empty={
          shown && (
            <Empty title={t.emptyTitle} command="renga execution create order --start">
              {t.empty}
            </Empty>
          )
        }
      />
    </Page>
  );
}
