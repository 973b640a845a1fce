import { Table, type Column } from "../../kit";
import type { Graph, GraphNode, NodeState } from "../../flow/types";
import { StateBadge } from "../../kit";
import { usePageWords } from "../../words";
import { text } from "./words";

/** The picture as a table: the same for everybody who does not see it. */
export function NodeList({ graph, states }: { graph: Graph; states?: readonly NodeState[] }) {
  const t = usePageWords(text);
  const out = new Map<string, string[]>();
  for (const e of graph.edges) {
    const how = [e.on === undefined || e.on === "success" ? "" : `on ${e.on}`, e.when ?? ""].filter(
      (s) => s !== "",
    );
    const said = how.length === 0 ? e.to : `${e.to} (${how.join(", ")})`;
    out.set(e.from, [...(out.get(e.from) ?? []), said]);
  }
  const status = new Map(states?.map((n) => [n.nodeId, n.status]));
  const columns: Column<GraphNode>[] = [
    { id: "node", head: t.node, width: "minmax(7rem, 1fr)", cell: (n) => n.nodeId },
    { id: "type", head: t.type, width: "6rem", cell: (n) => n.type },
    ...(states
      ? [
          {
            id: "status",
            head: t.state,
            width: "8rem",
            cell: (n: GraphNode) => <StateBadge state={status.get(n.nodeId) ?? "CREATED"} />,
          },
        ]
      : []),
    {
      id: "to",
      head: t.goesTo,
      width: "minmax(8rem, 2fr)",
      cell: (n) => (out.get(n.nodeId) ?? []).join(" · "),
    },
  ];
  return (
    <Table
      label={t.nodes}
      columns={columns}
      count={graph.nodes.length}
      row={(i) => graph.nodes[i]}
      rowKey={(n) => n.nodeId}
      height="min(420px, 60dvh)"
    />
  );
}
