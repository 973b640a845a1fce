import { usePages } from "../../api";
import { CopyAs, Empty, ErrorBox, Loading, Page, Table, Time, useZoneName, type Column } from "../../kit";
import { go, Link } from "../../router";
import { useLocale, usePageWords, useWords } from "../../words";
import { Bar, BulkState, type Bulk } from "./State";
import { text } from "./words";
import "./bulks.css";

/** What was done to many? */
export default function Bulks() {
  const w = useWords();
  const t = usePageWords(text);
  const locale = useLocale();
  const zone = useZoneName();
  const list = usePages("/bulks", (page) => ({ query: page }), 2_000);
  const number = (n: number) => n.toLocaleString(locale);
  const columns: Column<Bulk>[] = [
    {
      id: "what",
      head: t.what,
      width: "minmax(10rem, 1.6fr)",
      cell: (b) => (
        <Link to="bulk" params={{ id: b.bulkId }}>
          {t.title[b.command](number(b.total), b.total === 1)}
        </Link>
      ),
    },
    {
      id: "status",
      head: t.status,
      width: "minmax(7rem, 8rem)",
      cell: (b) => <BulkState status={b.status} />,
    },
    {
      id: "progress",
      head: t.progress,
      width: "minmax(8rem, 1fr)",
      from: 620,
      cell: (b) => <Bar bulk={b} label={t.progress} />,
    },
    {
      id: "graph",
      head: t.selects,
      width: "minmax(6rem, 1fr)",
      from: 820,
      cell: (b) => (b.named ? t.named : (b.filter.graphId ?? <Filter bulk={b} none={t.everything} />)),
    },
    { id: "reason", head: t.reason, width: "minmax(6rem, 1fr)", from: 960, cell: (b) => b.reason ?? "" },
    {
      id: "created",
      head: t.created(zone),
      width: "11.5rem",
      from: 480,
      cell: (b) => <Time at={b.createdAt} bare />,
    },
  ];
  return (
    <Page
      title={w.nav.bulks}
      subtitle={t.subtitle}
      actions={<CopyAs method="GET" path="bulks" cli="renga bulk list" />}
    >
      {list.error && <ErrorBox error={list.error} onRetry={list.retry} />}
      {list.total === undefined && !list.error && <Loading label={w.page.loading} />}
      {list.total === 0 && (
        <Empty
          title={t.emptyTitle}
          command='renga bulk cancel --graph order --reason "the shop is closed"'
          action={<Link to="executions">{t.toList}</Link>}
        >
          {t.empty}
        </Empty>
      )}
      {list.total !== undefined && list.total > 0 && (
        <Table
          label={w.nav.bulks}
          columns={columns}
          count={list.total}
          row={list.row}
          rowKey={(b) => b.bulkId}
          onOpen={(b) => go({ to: "bulk", params: { id: b.bulkId } })}
          onRange={list.onRange}
        />
      )}
    </Page>
  );
}

/** The filter of a bulk in one line. */
function Filter({ bulk, none }: { bulk: Bulk; none: string }) {
  const parts = Object.entries(bulk.filter).map(([name, v]) => `${name}: ${shown(v)}`);
  return <span title={parts.join("\n")}>{parts.length === 0 ? none : parts.join(", ")}</span>;
}

function shown(v: unknown): string {
  if (Array.isArray(v)) return v.join(", ");
  return typeof v === "object" && v !== null
    ? Object.entries(v)
        .map(([n, x]) => `${n}:${String(x)}`)
        .join(" ")
    : String(v);
}
