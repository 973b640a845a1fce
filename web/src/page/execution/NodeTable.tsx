import { StateBadge, Table, Time, type Column } from "../../kit";
import { useLocale, usePageWords } from "../../words";
import { useExecutionContext, type NodeState } from "./context";
import { text } from "./words";

/** The same as the graph, for those who read it rather than see it. */
export function NodeTable() {
  const { execution, graph, select } = useExecutionContext();
  const t = usePageWords(text);
  const locale = useLocale();
  const next = new Map<string, string[]>();
  for (const e of graph?.edges ?? []) next.set(e.from, [...(next.get(e.from) ?? []), e.to]);
  const columns: Column<NodeState>[] = [
    {
      id: "node",
      head: t.node,
      width: "minmax(8rem, 1.2fr)",
      cell: (n) => (
        <button type="button" className="link" onClick={() => select(n.nodeId)}>
          {n.nodeId}
        </button>
      ),
    },
    { id: "type", head: t.type, width: "6rem", from: 420, cell: (n) => n.type },
    {
      id: "status",
      head: t.status,
      width: "minmax(9rem, 1fr)",
      cell: (n) => <StateBadge state={n.status} note={n.error?.code} />,
    },
    {
      id: "attempt",
      head: t.attempt,
      number: true,
      width: "5rem",
      from: 560,
      cell: (n) => (n.attempt > 0 ? n.attempt.toLocaleString(locale) : ""),
    },
    { id: "worker", head: t.worker, width: "minmax(6rem, 1fr)", from: 760, cell: (n) => n.workerId ?? "" },
    {
      id: "until",
      head: t.until,
      width: "15rem",
      from: 900,
      cell: (n) => {
        const at = n.retryAt ?? n.leaseUntil ?? n.waitUntil;
        return at === undefined ? "" : <Time at={at} />;
      },
    },
    {
      id: "next",
      head: t.next,
      from: 1000,
      cell: (n) => (next.get(n.nodeId) ?? []).join(", "),
    },
  ];
  return (
    <Table
      label={t.nodes}
      columns={columns}
      count={execution.nodes.length}
      row={(i) => execution.nodes[i]}
      rowKey={(n) => n.nodeId}
      onOpen={(n) => select(n.nodeId)}
    />
  );
}
