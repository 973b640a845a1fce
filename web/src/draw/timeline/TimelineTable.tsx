import { useMemo } from "react";
import type { Row, Timeline } from "../../flow/bars";
import { showDuration, StateBadge, Table, Time, type Column } from "../../kit";
import { usePrefs } from "../../prefs";
import { useLocale, usePageWords, useWords } from "../../words";
import { spansOf, type Spans } from "./lines";
import { text } from "./words";

interface TimelineTableProps {
  timeline: Timeline;
  grouped: boolean;
  onSelect: (nodeId: string) => void;
}

/** The twin of the drawing: the same rows, as a table. */
export function TimelineTable({ timeline, grouped, onSelect }: TimelineTableProps) {
  const t = usePageWords(text);
  const w = useWords();
  const { language, zone } = usePrefs();
  const locale = useLocale();
  const rows = useMemo(
    () => timeline.groups.flatMap((g) => g.rows).map((row) => ({ row, spans: spansOf(row) })),
    [timeline],
  );
  type Line = { row: Row; spans: Spans };
  const span = (name: keyof Spans, head: string, from: number): Column<Line> => ({
    id: name,
    head,
    width: "7rem",
    number: true,
    from,
    cell: ({ spans }) => (spans[name] > 0 ? showDuration(spans[name], language) : "–"),
  });
  const columns: Column<Line>[] = [
    {
      id: "node",
      head: t.node,
      cell: ({ row }) => (
        <button type="button" className="link" onClick={() => onSelect(row.nodeId)}>
          {row.nodeId}
        </button>
      ),
    },
    ...(grouped
      ? [{ id: "group", head: t.group, from: 700, cell: ({ row }: Line) => row.group || t.noGroup }]
      : []),
    {
      id: "outcome",
      head: t.outcome,
      width: "8.5rem",
      cell: ({ row }) =>
        row.outcome ? <StateBadge state={row.outcome} /> : <span className="muted">{t.goesOn}</span>,
    },
    {
      id: "attempts",
      head: t.count,
      width: "6rem",
      number: true,
      cell: ({ row }) => row.attempts.toLocaleString(locale),
    },
    {
      id: "from",
      head: `${t.from} (${w.zone[zone]})`,
      width: "8.5rem",
      from: 640,
      cell: ({ row }) => <Time at={new Date(row.from).toISOString()} ms timeOnly bare />,
    },
    span("ready", t.ready, 820),
    span("attempt", t.ran, 420),
    span("wait", t.waited, 560),
    span("backoff", t.backoff, 900),
  ];
  return (
    <Table
      label={t.table}
      columns={columns}
      count={rows.length}
      row={(i) => rows[i]}
      rowKey={({ row }) => row.nodeId}
      onOpen={({ row }) => onSelect(row.nodeId)}
      height={`${Math.min(420, 34 + Math.max(2, rows.length) * 36 + 2)}px`}
    />
  );
}
