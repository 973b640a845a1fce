import { usePages, type Answer } from "../../api";
import { ErrorBox, Loading, Table, Time, useZoneName, type Column } from "../../kit";
import { Link, useSearch } from "../../router";
import { usePageWords, useWords } from "../../words";
import { Compare } from "./Compare";
import { spec, useGraphContext } from "./context";
import { text } from "./words";

type Version = Answer<"/graphs/{graphId}/versions">["items"][number];

/** Every version, who still runs it, and what changed from one to another. */
export default function VersionsTab() {
  const { id, graph, running } = useGraphContext();
  const w = useWords();
  const t = usePageWords(text);
  const zone = useZoneName();
  const [search, setSearch] = useSearch(spec);
  const list = usePages(
    "/graphs/{graphId}/versions",
    (page) => ({ path: { graphId: id }, query: page }),
    5_000,
  );
  const columns: Column<Version>[] = [
    {
      id: "version",
      head: t.version,
      width: "6rem",
      cell: (v) => (
        <Link to="graph" params={{ id }} search={{ tab: "versions", version: String(v.version) }}>
          {t.v(String(v.version))}
        </Link>
      ),
    },
    {
      id: "active",
      head: t.active,
      width: "minmax(7rem, 1fr)",
      number: true,
      cell: (v) => running.of(v.version),
    },
    {
      id: "stored",
      head: t.storedIn(zone),
      width: "12rem",
      from: 400,
      cell: (v) => <Time at={v.createdAt} bare />,
    },
    {
      id: "digest",
      head: t.digest,
      width: "minmax(8rem, 1fr)",
      from: 640,
      cell: (v) => <code>{v.digest.replace("sha256:", "").slice(0, 16)}</code>,
    },
  ];
  const total = list.total ?? 0;
  const rows = Math.min(6, Math.max(1, total));
  return (
    <div className="graph-versions">
      {list.error && <ErrorBox error={list.error} onRetry={list.retry} />}
      {list.total === undefined && !list.error && <Loading label={w.page.loading} />}
      {total > 0 && (
        <Table
          label={t.tabs.versions}
          columns={columns}
          count={total}
          row={list.row}
          rowKey={(v) => String(v.version)}
          onOpen={(v) => setSearch({ version: v.version, with: 0 }, { push: true })}
          onRange={list.onRange}
          height={`${rows * 36 + 36}px`}
        />
      )}
      {graph && total === 1 && <p className="muted">{t.onlyOne}</p>}
      {graph && total > 1 && <Compare key={id} after={graph} last={total} with={search.with} />}
    </div>
  );
}
