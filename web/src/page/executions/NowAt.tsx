import { useEffect, useState } from "react";
import { useRead, type Answer } from "../../api";
import { Icon, stateColour, stateIcon } from "../../kit";
import { usePageWords, useWords } from "../../words";
import { text } from "./words";

type Node = Answer<"/executions/{executionId}">["nodes"][number];

const rank: Record<string, number> = { WAITING: 0, RUNNING: 1, READY: 2 };

/** The nodes at which an execution is: what waits, what runs, what is ready, what will be tried again. PURE. */
export function atNodes(nodes: readonly Node[]): Node[] {
  const of = (n: Node) => rank[n.status] ?? (n.retryAt === undefined ? 9 : 3);
  return nodes.filter((n) => of(n) < 9).sort((a, b) => of(a) - of(b));
}

/** Where an ACTIVE execution is. Its state is read when its row has been on screen for a moment. */
export function NowAt({ id, every }: { id: string; every: number | undefined }) {
  const t = usePageWords(text);
  const w = useWords();
  const [rests, setRests] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => setRests(true), 150);
    return () => clearTimeout(timer);
  }, []);
  const params = { path: { executionId: id } };
  const state = useRead("/executions/{executionId}", params, { enabled: rests, every });
  if (!state.data) return null;
  const at = atNodes(state.data.nodes);
  const [first] = at;
  if (!first) return <span className="muted">–</span>;
  const word = w.status[first.status] ?? first.status;
  return (
    <span title={at.map((n) => `${n.nodeId}: ${w.status[n.status] ?? n.status}`).join("\n")}>
      <span style={{ color: stateColour(first.status) }} aria-hidden>
        <Icon name={stateIcon(first.status)} />
      </span>
      <span className="unseen">{word} </span> {first.nodeId}
      {at.length > 1 && <span className="muted"> {t.more(at.length - 1)}</span>}
    </span>
  );
}
