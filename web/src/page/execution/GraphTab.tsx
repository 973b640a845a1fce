import { useMemo } from "react";
import { Graph } from "../../draw/graph";
import { Loading, Segmented } from "../../kit";
import { useSearch } from "../../router";
import { list, oneOf } from "../../search";
import { usePageWords, useWords } from "../../words";
import { useExecutionContext } from "./context";
import { NodeTable } from "./NodeTable";
import { text } from "./words";

const spec = { view: oneOf(["auto", "graph", "table"], "auto"), unfold: list(), fold: list() };

/** The graph with the states of its nodes, or the same as a table. */
export default function GraphTab() {
  const { execution, graph, selected, select } = useExecutionContext();
  const t = usePageWords(text);
  const w = useWords();
  const [search, setSearch] = useSearch(spec);
  const choice = useMemo(
    () => ({ unfolded: new Set(search.unfold), folded: new Set(search.fold) }),
    [search.unfold, search.fold],
  );
  const view = search.view === "auto" ? (innerWidth < 640 ? "table" : "graph") : search.view;
  if (!graph) return <Loading label={w.page.loading} lines={6} />;
  return (
    <div className="exe-graph">
      <Segmented
        label={t.viewAs}
        hideLabel
        value={view}
        options={[
          { value: "graph", label: t.asGraph },
          { value: "table", label: t.asTable },
        ]}
        onChange={(v) => setSearch({ view: v })}
      />
      {view === "table" ? (
        <NodeTable />
      ) : (
        <div className="exe-canvas">
          <Graph
            graph={graph}
            states={execution.nodes}
            selected={selected}
            onSelect={select}
            choice={choice}
            onFold={(fork, folded) =>
              setSearch({
                unfold: folded
                  ? search.unfold.filter((f) => f !== fork)
                  : [...new Set([...search.unfold, fork])],
                fold: folded ? [...new Set([...search.fold, fork])] : search.fold.filter((f) => f !== fork),
              })
            }
          />
        </div>
      )}
    </div>
  );
}
