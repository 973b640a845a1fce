import { useEffect, useMemo, useState } from "react";
import { useRead } from "../../api";
import { Legend, readRange, Timeline, TimelineTable, writeRange, type Range } from "../../draw/timeline";
import { attemptsOf } from "../../flow/attempts";
import { timeline } from "../../flow/bars";
import { blocksOf } from "../../flow/fold";
import { lateUntil } from "../../flow/refused";
import { Button, CopyAs, Empty, ErrorBox, Loading, Segmented, useNow } from "../../kit";
import { useSearch } from "../../router";
import { flag, oneOf, text as textParam } from "../../search";
import { useLocale, usePageWords, useWords } from "../../words";
import { useExecutionContext, type Graph } from "./context";
import "./timeline.css";
import { text } from "./timelineWords";
import { useLog } from "./useLog";

const spec = {
  group: oneOf(["node", "branch", "worker"], "node"),
  failed: flag(),
  hide: flag(),
  critical: flag(),
  range: textParam(),
};

const again = 1_000;
const writeAfter = 300;

/** When each attempt of each node was ready, ran and waited. */
export default function TimelineTab() {
  const { id, now, execution, graph, selected, select } = useExecutionContext();
  const t = usePageWords(text);
  const w = useWords();
  const locale = useLocale();
  const [search, setSearch] = useSearch(spec);
  const read = useRead("/executions/{executionId}/attempts", { path: { executionId: id } }, { keep: true });
  const behind = read.data !== undefined && read.data.seq < now.seq;
  const { refetch } = read;
  useEffect(() => {
    if (!behind) return;
    const timer = setTimeout(() => void refetch({ cancelRefetch: false }), again / 5);
    return () => clearTimeout(timer);
  }, [behind, now.seq, refetch]);

  const past = execution.seq < now.seq;
  const log = useLog(past);
  const active = now.status === "ACTIVE";
  const second = useNow();
  const clock = active ? second : 0;
  const branches = useMemo(() => branchesOf(graph), [graph]);
  const options = useMemo(
    () => ({
      groupBy: search.group,
      onlyFailed: search.failed,
      hideSucceeded: search.hide,
      branches,
    }),
    [search.group, search.failed, search.hide, branches],
  );
  const nodes = read.data?.nodes;
  const all = useMemo(
    () => nodes && timeline(nodes, now, graph, { ...options, now: clock }),
    [nodes, now, graph, options, clock],
  );
  const event = past ? log.events[execution.seq - 1] : undefined;
  const moment = event && Date.parse(event.occurredAt);
  const before = useMemo(() => {
    if (!past || moment === undefined) return undefined;
    const state = { ...execution, lateResults: lateUntil(log.ticks, execution.seq) };
    return timeline(attemptsOf(log.events, execution.seq), state, graph, {
      groupBy: options.groupBy,
      branches: options.branches,
      now: moment,
    });
  }, [past, moment, execution, log.events, log.ticks, graph, options]);

  // What is shown follows the pointer at once, and the URL when it rests.
  const [zoomed, setZoomed] = useState<{ range: Range | undefined }>();
  useEffect(() => {
    if (!zoomed || !all) return;
    const timer = setTimeout(() => setSearch({ range: writeRange(zoomed.range, all) }), writeAfter);
    return () => clearTimeout(timer);
  }, [zoomed, all, setSearch]);
  const range = zoomed ? zoomed.range : all && readRange(search.range, all);

  if (read.error && !all) return <ErrorBox error={read.error} onRetry={() => void refetch()} />;
  if (!all || !nodes) return <Loading label={w.page.loading} lines={8} />;
  if (nodes.length === 0) return <Empty title={t.nothing}>{t.nothingHint}</Empty>;
  const check = (name: "failed" | "hide" | "critical", label: string) => (
    <label className="exe-check">
      <input
        type="checkbox"
        checked={search[name]}
        onChange={(e) => setSearch({ [name]: e.target.checked } as Partial<typeof search>)}
      />
      {label}
    </label>
  );
  const filtered = all.rows.length < nodes.length;
  const n = (value: number) => value.toLocaleString(locale);
  const grouped = search.group !== "node";
  return (
    <div className="timeline">
      <div className="timeline-bar">
        <Segmented
          label={t.groupBy}
          hideLabel
          value={search.group}
          options={(["node", "branch", "worker"] as const).map((g) => ({ value: g, label: t.groups[g] }))}
          onChange={(group) => setSearch({ group })}
        />
        {check("failed", t.onlyFailed)}
        {check("hide", t.hideSucceeded)}
        {check("critical", t.critical)}
        <span className="muted" role="status">
          {filtered && t.rows(n(all.rows.length), n(nodes.length))}
        </span>
        <CopyAs method="GET" path={`executions/${id}/attempts`} cli={`renga execution attempts ${id}`} />
      </div>
      {read.data?.complete === false && <p className="muted">{t.partly}</p>}
      {(read.error ?? log.error) && (
        <ErrorBox error={read.error ?? log.error} onRetry={read.error ? () => void refetch() : log.retry} />
      )}
      {all.rows.length === 0 ? (
        <Empty
          title={t.noneFits}
          action={<Button onClick={() => setSearch({ failed: false, hide: false })}>{t.showAll}</Button>}
        >
          {t.noneFitsHint}
        </Empty>
      ) : (
        <>
          <Timeline
            timeline={all}
            past={before}
            moment={past ? moment : undefined}
            grouped={grouped}
            critical={search.critical}
            range={range}
            onRange={(r) => setZoomed({ range: r })}
            selected={selected}
            onSelect={select}
          />
          <Legend late={all.rows.some((r) => r.late.length > 0)} fence={all.fence !== undefined} />
          <TimelineTable timeline={past && before ? before : all} grouped={grouped} onSelect={select} />
        </>
      )}
    </div>
  );
}

/** By node, the branch of the outermost Fork that it stands in. */
function branchesOf(graph: Graph | undefined): ReadonlyMap<string, string> {
  const out = new Map<string, string>();
  for (const block of graph ? [...blocksOf(graph)].sort((a, b) => b.depth - a.depth) : []) {
    for (const branch of block.branches) {
      for (const node of branch.nodes) out.set(node, `${block.fork} › ${branch.head}`);
    }
  }
  return out;
}
