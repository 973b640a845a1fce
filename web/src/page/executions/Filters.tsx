import { useRead } from "../../api";
import { FilterBar, type FilterField } from "../../kit";
import { usePageWords, useWords } from "../../words";
import { statuses, type FilterName, type Search } from "./filters";
import { text } from "./words";

/** The filters of the list as chips. */
export function Filters({ search, onChange }: { search: Search; onChange: (v: Partial<Search>) => void }) {
  const t = usePageWords(text);
  const w = useWords();
  const graphs = useRead("/graphs", { query: { page_size: 100 } });
  const ids = graphs.data?.items.map((g) => g.graphId) ?? [];
  const fields: (FilterField & { id: FilterName })[] = [
    {
      id: "status",
      label: t.status,
      many: true,
      options: statuses.map((s) => ({ value: s, label: w.status[s] ?? s })),
    },
    { id: "graphId", label: t.graph, suggest: ids },
    { id: "businessKey", label: t.businessKey },
    { id: "label", label: t.label, many: true, hint: t.labelHint },
    { id: "waiting", label: t.waiting, options: [{ value: "1", label: t.waitingYes }] },
    { id: "nodeId", label: t.node, hint: t.nodeHint },
    { id: "outcome", label: t.outcome },
    { id: "errorCode", label: t.errorCode },
    { id: "correlationId", label: t.correlation },
    { id: "createdFrom", label: t.createdFrom, type: "instant" },
    { id: "createdTo", label: t.createdTo, type: "instant" },
    { id: "endedFrom", label: t.endedFrom, type: "instant" },
    { id: "endedTo", label: t.endedTo, type: "instant" },
  ];
  const valuesOf = (name: FilterName): string[] => {
    const v = search[name];
    if (typeof v === "boolean") return v ? ["1"] : [];
    if (typeof v === "string") return v === "" ? [] : [v];
    return v;
  };
  const values = Object.fromEntries(fields.map((f) => [f.id, valuesOf(f.id)]));
  const change = (name: string, v: string[]) => {
    if (name === "status") onChange({ status: statuses.filter((s) => v.includes(s)) });
    else if (name === "label") onChange({ label: v });
    else if (name === "waiting") onChange({ waiting: v.length > 0 });
    else onChange({ [name]: v[0] ?? "" } as Partial<Search>);
  };
  return <FilterBar fields={fields} values={values} onChange={change} />;
}
