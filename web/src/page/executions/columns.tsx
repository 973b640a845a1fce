import { Duration, StateBadge, Time, type Column } from "../../kit";
import { Link } from "../../router";
import type { Execution } from "./listed";
import { NowAt } from "./NowAt";
import type { text } from "./words";

type Text = (typeof text)["en"];

/** The columns of the list; narrow ones leave some out, and none of them is ever needed to tell rows apart. */
export function columns(
  t: Text,
  o: { every: number | undefined; zone: string; moving: boolean; onGraph: (id: string) => void },
): Column<Execution>[] {
  const kind = (e: Execution) => e.errorCode ?? e.outcome;
  const now: Column<Execution> = {
    id: "now",
    head: t.nowAt,
    from: 620,
    width: "minmax(6rem, 1fr)",
    cell: (e) => (e.status === "ACTIVE" ? <NowAt id={e.executionId} every={o.every} /> : null),
  };
  return [
    {
      id: "id",
      head: t.id,
      width: "5.5rem",
      cell: (e) => (
        <Link to="execution" params={{ id: e.executionId }} title={e.executionId}>
          <code>{e.executionId.slice(-8)}</code>
        </Link>
      ),
    },
    {
      id: "status",
      head: t.status,
      width: "minmax(7rem, 1.5fr)",
      cell: (e) => (
        <>
          <StateBadge state={e.status} note={kind(e)} />
          {e.archivedAt !== null && <span className="muted"> {t.archived}</span>}
        </>
      ),
    },
    {
      id: "graph",
      head: t.graph,
      from: 330,
      width: "minmax(5rem, 1fr)",
      cell: (e) => (
        <>
          <button type="button" className="link" title={t.filterKey} onClick={() => o.onGraph(e.graphId)}>
            {e.graphId}
          </button>
          <span className="muted"> · {e.graphVersion}</span>
        </>
      ),
    },
    {
      id: "key",
      head: t.key,
      from: 700,
      width: "minmax(6rem, 1.2fr)",
      cell: (e) => (
        <span title={e.correlationId}>
          {e.businessKey ?? <span className="muted">{e.correlationId ?? ""}</span>}
        </span>
      ),
    },
    ...(o.moving ? [now] : []),
    {
      id: "labels",
      head: t.labels,
      from: 1100,
      width: "minmax(5rem, 1fr)",
      cell: (e) => {
        const all = Object.entries(e.labels ?? {}).map(([name, v]) => `${name}:${v}`);
        return (
          <span className="muted" title={all.join("\n")}>
            {all.join(" ")}
          </span>
        );
      },
    },
    {
      id: "created",
      head: t.createdZone(o.zone),
      width: "11.5rem",
      from: 860,
      cell: (e) => <Time at={e.createdAt} bare />,
    },
    {
      id: "took",
      head: t.took,
      width: "6.5rem",
      number: true,
      from: 520,
      cell: (e) => <Duration from={e.createdAt} to={e.endedAt} />,
    },
  ];
}
