import { useState, type CSSProperties } from "react";
import type { ComparedNode, Comparison, Side } from "../../flow/compare";
import { diff, equal } from "../../flow/diff";
import type { NodeState } from "../../flow/types";
import { Section, showDuration, StateBadge, Table, type Column } from "../../kit";
import { usePrefs } from "../../prefs";
import { usePageWords } from "../../words";
import { Changes } from "./Changes";
import { text } from "./compareWords";
import type { Execution } from "./context";

interface CompareNodesProps {
  comparison: Comparison;
  a: Execution;
  b: Execution;
  all: boolean;
  onAll: (all: boolean) => void;
}

/** Both executions node by node; a node opens the difference of its data. */
export function CompareNodes({ comparison, a, b, all, onAll }: CompareNodesProps) {
  const t = usePageWords(text);
  const { language } = usePrefs();
  const [open, setOpen] = useState<string>();
  const [inA, inB] = [byId(a), byId(b)];
  const differs = (n: ComparedNode) =>
    !n.same || !equal(dataOf(inA.get(n.nodeId)), dataOf(inB.get(n.nodeId)));
  const rows = all ? comparison.nodes : comparison.nodes.filter(differs);
  const longest = Math.max(1, ...comparison.nodes.flatMap((n) => [n.a?.took ?? 0, n.b?.took ?? 0]));
  const took = (side: "a" | "b", name: string): Column<ComparedNode> => ({
    id: `took-${side}`,
    head: t.took(name),
    width: "7rem",
    number: true,
    from: 620,
    cell: (n) => {
      const ms = n[side]?.took;
      if (ms === undefined) return <span className="muted">–</span>;
      return (
        <span className="compare-heat" style={{ "--heat": ms / longest } as CSSProperties}>
          {showDuration(ms, language)}
        </span>
      );
    },
  });
  const columns: Column<ComparedNode>[] = [
    {
      id: "node",
      head: t.node,
      cell: (n) => (
        <button
          type="button"
          className="link"
          aria-expanded={open === n.nodeId}
          onClick={() => setOpen(open === n.nodeId ? undefined : n.nodeId)}
        >
          {n.nodeId}
        </button>
      ),
    },
    { id: "a", head: "A", cell: (n) => <OneSide side={n.a} /> },
    { id: "b", head: "B", cell: (n) => <OneSide side={n.b} /> },
    took("a", "A"),
    took("b", "B"),
    { id: "slower", head: t.slower, width: "9rem", from: 820, cell: (n) => <Slower ms={n.slower} /> },
  ];
  const changes = open === undefined ? [] : diff(dataOf(inA.get(open)), dataOf(inB.get(open)));
  return (
    <>
      <label className="exe-check">
        <input type="checkbox" checked={!all} onChange={(e) => onAll(!e.target.checked)} />
        {t.onlyDifferent}
      </label>
      <Table
        label={t.compare}
        columns={columns}
        count={rows.length}
        row={(i) => rows[i]}
        rowKey={(n) => n.nodeId}
        onOpen={(n) => setOpen(n.nodeId)}
        height={`${Math.min(440, 36 + Math.max(2, rows.length) * 36)}px`}
        empty={t.allSame}
      />
      {open !== undefined && (
        <Section title={t.outputOf(open)}>
          {changes.length === 0 ? <p className="muted">{t.noDifference}</p> : <Changes changes={changes} />}
          {changes.some((c) => String(c.path[0]).endsWith("Ref")) && <p className="muted">{t.large}</p>}
        </Section>
      )}
    </>
  );
}

function OneSide({ side }: { side: Side | undefined }) {
  const t = usePageWords(text);
  if (!side) return <span className="muted">{t.notThere}</span>;
  return (
    <>
      <StateBadge state={side.status} note={side.errorCode} />
      {side.attempts > 1 && <span className="muted"> {t.attempts(String(side.attempts))}</span>}
    </>
  );
}

function Slower({ ms }: { ms: number | undefined }) {
  const t = usePageWords(text);
  const { language } = usePrefs();
  if (ms === undefined) return <span className="muted">–</span>;
  if (ms === 0) return <span className="muted">{t.equal}</span>;
  return <span>{(ms > 0 ? t.longer : t.faster)(showDuration(Math.abs(ms), language))}</span>;
}

function byId(e: Execution): Map<string, NodeState> {
  return new Map(e.nodes.map((n) => [n.nodeId, n]));
}

/** What went into a node and came out of it; of large data its size, since where it stands says nothing. */
function dataOf(n: NodeState | undefined): object {
  const { input, output, error } = n ?? {};
  const sized = { inputRef: n?.inputRef?.size, outputRef: n?.outputRef?.size };
  return Object.fromEntries(
    Object.entries({ input, output, error, ...sized }).filter(([, v]) => v !== undefined),
  );
}
