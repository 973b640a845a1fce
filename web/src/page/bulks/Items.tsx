import { usePages } from "../../api";
import { ErrorBox, Table, type Column } from "../../kit";
import { go, Link } from "../../router";
import { useLocale, usePageWords, useWords } from "../../words";
import { ItemState, moves, results, type Bulk, type BulkItem } from "./State";
import { text } from "./words";

export type ItemStatus = BulkItem["status"];

/** A result for each execution of the set, oldest first. */
export function Items({
  bulk,
  status,
  onStatus,
}: {
  bulk: Bulk;
  status: ItemStatus | "";
  onStatus: (s: ItemStatus | "") => void;
}) {
  const t = usePageWords(text);
  const locale = useLocale();
  const list = usePages(
    "/bulks/{bulkId}/items",
    (page) => ({
      path: { bulkId: bulk.bulkId },
      query: { ...page, ...(status === "" ? {} : { status }) },
    }),
    moves(bulk) ? 1_500 : undefined,
  );
  const columns: Column<BulkItem>[] = [
    {
      id: "id",
      head: t.execution,
      width: "6rem",
      cell: (i) => (
        <Link to="execution" params={{ id: i.executionId }} title={i.executionId}>
          <code>{i.executionId.slice(-8)}</code>
        </Link>
      ),
    },
    { id: "status", head: t.status, width: "7.5rem", cell: (i) => <ItemState status={i.status} /> },
    { id: "result", head: t.result, cell: (i) => <Result item={i} command={bulk.command} /> },
  ];
  const n = (x: number) => x.toLocaleString(locale);
  return (
    <>
      <div className="bulk-tabs" role="group" aria-label={t.results}>
        <button type="button" aria-pressed={status === ""} onClick={() => onStatus("")}>
          {t.all} <b>{n(bulk.total)}</b>
        </button>
        {results.map((r) => (
          <button
            key={r.id}
            type="button"
            title={t.hints[r.id]}
            aria-pressed={status === r.id}
            onClick={() => onStatus(status === r.id ? "" : r.id)}
          >
            {t.items[r.id]} <b>{n(bulk.counts[r.count])}</b>
          </button>
        ))}
      </div>
      {list.error && <ErrorBox error={list.error} onRetry={list.retry} />}
      <Table
        label={t.results}
        columns={columns}
        count={list.total ?? 0}
        row={list.row}
        rowKey={(i) => i.executionId}
        onOpen={(i) => go({ to: "execution", params: { id: i.executionId } })}
        onRange={list.onRange}
        height="max(240px, calc(100dvh - 480px))"
        empty={list.total === undefined ? " " : status === "" ? t.emptySet : t.noItems}
      />
    </>
  );
}

/** What the command was answered, as a sentence. */
function Result({ item, command }: { item: BulkItem; command: Bulk["command"] }) {
  const t = usePageWords(text);
  const w = useWords();
  const r = item.result;
  switch (item.status) {
    case "PENDING":
      return <span className="muted">{t.waitsTurn}</span>;
    case "APPLIED":
      return (
        <>{command === "archive" ? t.archivedNow : r?.cancelSeq === undefined ? "" : t.wonAt(r.cancelSeq)}</>
      );
    case "ALREADY":
      return (
        <>{command === "archive" || r?.cancelSeq === undefined ? t.archivedBefore : t.wasWon(r.cancelSeq)}</>
      );
    case "REFUSED": {
      const at = r?.state?.execution;
      if (at === "ACTIVE") return <>{t.stillActive}</>;
      if (at !== undefined) return <>{t.endedAs(w.status[at] ?? at)}</>;
      return <>{t.refusedBy(r?.guard ?? "")}</>;
    }
    default:
      return (
        <>
          <code>{r?.code}</code> {r?.message}
        </>
      );
  }
}
