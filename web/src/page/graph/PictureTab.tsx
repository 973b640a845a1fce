import { useMemo } from "react";
import { Graph } from "../../draw/graph";
import { nodeYaml } from "../../flow/yaml";
import { Button, Icon } from "../../kit";
import { useSearch } from "../../router";
import { usePageWords, useWords } from "../../words";
import { spec, useGraphContext, type Stored } from "./context";
import { NodeList } from "./NodeList";
import { useFolds } from "./useFolds";
import { text } from "./words";

/** The picture of a version, and the node that is chosen. */
export default function PictureTab() {
  const { graph } = useGraphContext();
  const t = usePageWords(text);
  const [search, setSearch] = useSearch(spec);
  const folds = useFolds();
  const chosen = useMemo(() => graph?.nodes.find((n) => n.nodeId === search.node), [graph, search.node]);
  if (!graph) return null;
  return (
    <div className="graph-two">
      <div className="graph-canvas">
        <Graph graph={graph} selected={chosen?.nodeId} onSelect={(node) => setSearch({ node })} {...folds} />
      </div>
      {chosen && <Panel graph={graph} node={chosen} />}
      <details className="graph-table">
        <summary>{t.asTable}</summary>
        <NodeList graph={graph} />
      </details>
    </div>
  );
}

function Panel({ graph, node }: { graph: Stored; node: Stored["nodes"][number] }) {
  const w = useWords();
  const t = usePageWords(text);
  const [, setSearch] = useSearch(spec);
  const out = graph.edges.filter((e) => e.from === node.nodeId);
  const into = graph.edges.filter((e) => e.to === node.nodeId);
  return (
    <aside className="graph-panel" aria-label={node.nodeId}>
      <header>
        <h2>{node.nodeId}</h2>
        <Button
          small
          kind="quiet"
          className="icon"
          aria-label={w.do.close}
          onClick={() => setSearch({ node: "" })}
        >
          <Icon name="close" size={12} />
        </Button>
      </header>
      <pre className="code" tabIndex={0} aria-label={t.definition}>
        {nodeYaml(node)}
      </pre>
      <Edges title={t.comesFrom} edges={into} end="from" />
      <Edges title={t.goesTo} edges={out} end="to" />
    </aside>
  );
}

function Edges({ title, edges, end }: { title: string; edges: Stored["edges"]; end: "from" | "to" }) {
  const [, setSearch] = useSearch(spec);
  if (edges.length === 0) return null;
  return (
    <section>
      <h3>{title}</h3>
      <ul>
        {edges.map((e, i) => (
          <li key={i}>
            <button type="button" className="link" onClick={() => setSearch({ node: e[end] })}>
              {e[end]}
            </button>
            {e.on !== undefined && e.on !== "success" && <span className="muted"> on {e.on}</span>}
            {e.when !== undefined && <code> {e.when}</code>}
          </li>
        ))}
      </ul>
    </section>
  );
}
