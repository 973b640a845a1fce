import type { Parting } from "../../flow/compare";
import type { GraphEdge } from "../../flow/types";
import { usePageWords } from "../../words";
import { text } from "./compareWords";
import { useExecutionContext } from "./context";

const most = 10;

/** Where two executions went different ways, a sentence each. */
export function Partings({ partings }: { partings: readonly Parting[] }) {
  const t = usePageWords(text);
  const { select } = useExecutionContext();
  if (partings.length === 0) return <p className="partings">{t.together}</p>;
  return (
    <ul className="partings">
      {partings.slice(0, most).map((p) => (
        <li key={p.node} data-parting={p.node}>
          <button type="button" className="link" onClick={() => select(p.node)}>
            {t.part(p.node)}
          </button>{" "}
          <Way edges={without(p.a, p.b)} side="A" />
          {" · "}
          <Way edges={without(p.b, p.a)} side="B" />
        </li>
      ))}
    </ul>
  );
}

function Way({ edges, side }: { edges: readonly GraphEdge[]; side: string }) {
  const t = usePageWords(text);
  if (edges.length === 0) return <span>{t.nowhere(side)}</span>;
  const said = edges.map((e) => (e.when === undefined ? t.toNode(e.to) : t.held(`${e.when} → ${e.to}`)));
  return <span>{t.onlyIn(said.join(", "), side)}</span>;
}

function without(edges: readonly GraphEdge[], others: readonly GraphEdge[]): GraphEdge[] {
  return edges.filter((e) => !others.some((o) => o.to === e.to));
}
