import { useState } from "react";
import type { GraphNode } from "../../flow/types";
import { usePageWords } from "../../words";
import type { Outcome, OutcomesByNode } from "./readOutcomes";
import { text } from "./words";

const code = "FAILED";
const ofTask = {
  failOnce: [`fail:${code}`, "succeed"],
  fail: `fail:${code}`,
  final: `final:${code}`,
  timeout: "timeout",
  lost: ["lost", "succeed"],
  cancel: "cancel:stopped",
} satisfies Record<string, Outcome>;
const ofWait = {
  yes: 'resume:{"approved":true}',
  no: 'resume:{"approved":false}',
  timeout: "timeout",
  cancel: "cancel:stopped",
} satisfies Record<string, Outcome>;

/** What happens to each Task and Wait: it goes well unless somebody chooses otherwise. */
export function Outcomes({
  nodes,
  value,
  onChange,
}: {
  nodes: readonly GraphNode[];
  value: OutcomesByNode;
  onChange: (next: OutcomesByNode) => void;
}) {
  const t = usePageWords(text);
  const some = nodes.filter((n) => n.type === "Task" || n.type === "Wait");
  const set = (id: string, outcome: Outcome | undefined) => {
    const rest = Object.entries(value).filter(([node]) => node !== id);
    onChange(Object.fromEntries(outcome === undefined ? rest : [...rest, [id, outcome]]));
  };
  return (
    <fieldset className="graph-outcomes">
      <legend>{t.outcomes}</legend>
      {some.map((n) => (
        <One key={n.nodeId} node={n} value={value[n.nodeId]} onChange={(o) => set(n.nodeId, o)} />
      ))}
    </fieldset>
  );
}

function One({
  node,
  value,
  onChange,
}: {
  node: GraphNode;
  value: Outcome | undefined;
  onChange: (o: Outcome | undefined) => void;
}) {
  const t = usePageWords(text);
  const [own, setOwn] = useState(false);
  const known: Record<string, Outcome> = node.type === "Wait" ? ofWait : ofTask;
  const chosen = Object.entries(known).find(([, o]) => JSON.stringify(o) === JSON.stringify(value))?.[0];
  const shown = value === undefined && !own ? "" : own || chosen === undefined ? "own" : chosen;
  return (
    <div className="graph-outcome">
      <label>
        <span>{node.nodeId}</span>
        <select
          value={shown}
          onChange={(e) => {
            const key = e.target.value;
            setOwn(key === "own");
            if (key !== "own") onChange(key === "" ? undefined : known[key]);
          }}
        >
          <option value="">{node.type === "Wait" ? t.does.resume : t.does.succeed}</option>
          {Object.keys(known).map((key) => (
            <option key={key} value={key}>
              {t.does[key]}
            </option>
          ))}
          <option value="own">{t.does.own}</option>
        </select>
      </label>
      {shown === "own" && (
        <input
          className="code"
          aria-label={t.ownLabel(node.nodeId)}
          placeholder={'succeed@2h:{"receipt":"R-1"}'}
          defaultValue={typeof value === "string" ? value : (value?.join(", ") ?? "")}
          onBlur={(e) => onChange(e.target.value.trim() === "" ? undefined : e.target.value.trim())}
          onKeyDown={(e) => {
            if (e.key === "Enter" && !e.nativeEvent.isComposing) e.currentTarget.blur();
          }}
        />
      )}
    </div>
  );
}
