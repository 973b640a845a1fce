import { useMemo } from "react";
import { useRead } from "../../api";
import { Graph } from "../../draw/graph";
import type { GraphEdge } from "../../flow/types";
import { diffGraphs, diffLines, type Line } from "../../flow/versions";
import { graphYaml } from "../../flow/yaml";
import { ErrorBox, Loading, Segmented } from "../../kit";
import { useSearch } from "../../router";
import { useLocale, usePageWords, useWords } from "../../words";
import { spec, useGraphContext, type Stored } from "./context";
import { useFolds } from "./useFolds";
import { text } from "./words";

/** What changed from one version to another: as a picture, as sentences, and as text. */
export function Compare({ after, last, with: against }: { after: Stored; last: number; with: number }) {
  const { id, newest } = useGraphContext();
  const w = useWords();
  const t = usePageWords(text);
  const [search, setSearch] = useSearch(spec);
  // The one before; the first version is compared with the second.
  const version = against > 0 ? against : after.version > 1 ? after.version - 1 : 2;
  const before = useRead("/graphs/{graphId}", { path: { graphId: id }, query: { version } }, { keep: true });
  const count = Math.max(last, newest?.version ?? 0);
  const choices = Array.from({ length: count }, (_, i) => count - i);
  const select = (name: string, value: number, set: (v: number) => void) => (
    <label>
      <span>{name}</span>
      <select value={value} onChange={(e) => set(Number(e.target.value))}>
        {choices.map((v) => (
          <option key={v} value={v}>
            {t.v(String(v))}
          </option>
        ))}
      </select>
    </label>
  );
  return (
    <section className="graph-compare" aria-label={t.compare}>
      <header>
        <h2>{t.compare}</h2>
        {select(t.from, version, (v) => setSearch({ with: v }))}
        <span aria-hidden>→</span>
        {select(t.to, after.version, (v) => setSearch({ version: v, with: version }))}
        <Segmented
          label={t.viewAs}
          hideLabel
          value={search.view}
          options={[
            { value: "picture", label: t.picture },
            { value: "text", label: t.text },
          ]}
          onChange={(view) => setSearch({ view })}
        />
      </header>
      {before.error && <ErrorBox error={before.error} onRetry={() => void before.refetch()} />}
      {!before.data && !before.error && <Loading label={w.page.loading} lines={6} />}
      {before.data && <Difference before={before.data} after={after} view={search.view} />}
    </section>
  );
}

function Difference({ before, after, view }: { before: Stored; after: Stored; view: "picture" | "text" }) {
  const t = usePageWords(text);
  const d = useMemo(() => diffGraphs(before, after), [before, after]);
  const folds = useFolds();
  const same = d.tones.size === 0 && d.edges.length === 0;
  const by = (tone: string) => [...d.tones].filter(([, x]) => x === tone).map(([id]) => id);
  const edgeTones = useMemo(() => new Map(d.edges.map((e) => [e.index, e.tone])), [d]);
  const edges = (tone: string) =>
    d.edges
      .filter((e) => e.tone === tone)
      .map(({ edge: e, was }) => {
        const how = was ? `${howOf(was) || "–"} → ${howOf(e) || "–"}` : howOf(e);
        return [`${e.from} → ${e.to}`, how].filter((s) => s !== "").join(" ");
      });
  return (
    <>
      <ul className="graph-changes">
        {same && <li>{t.same}</li>}
        {(["added", "changed", "removed"] as const).map((tone) => (
          <Names key={tone} tone={tone} title={t.tones[tone]} names={by(tone)} />
        ))}
        <Names tone="added" title={t.edgesAdded} names={edges("added")} />
        <Names tone="changed" title={t.edgesChanged} names={edges("changed")} />
        <Names tone="removed" title={t.edgesRemoved} names={edges("removed")} />
      </ul>
      {view === "picture" ? (
        <div className="graph-canvas">
          <Graph graph={d.union} tones={d.tones} edgeTones={edgeTones} {...folds} />
        </div>
      ) : (
        <TextDiff before={before} after={after} />
      )}
    </>
  );
}

/** When an edge is taken, in a few words; empty when it always is. */
function howOf(e: GraphEdge): string {
  return [e.on === undefined || e.on === "success" ? "" : `on ${e.on}`, e.when ?? ""]
    .filter(Boolean)
    .join(" ");
}

function Names({ tone, title, names }: { tone: string; title: string; names: string[] }) {
  if (names.length === 0) return null;
  const most = 12;
  return (
    <li className={`change-${tone}`} data-tone={tone}>
      <span aria-hidden className="change-mark">
        {{ added: "+", removed: "−", changed: "~" }[tone]}
      </span>
      <strong>{title}</strong>{" "}
      {names.slice(0, most).map((n, i) => (
        <code key={i}>{n}</code>
      ))}
      {names.length > most && <span className="muted">+{names.length - most}</span>}
    </li>
  );
}

const around = 3;

function TextDiff({ before, after }: { before: Stored; after: Stored }) {
  const t = usePageWords(text);
  const locale = useLocale();
  const lines = useMemo(() => diffLines(graphYaml(before), graphYaml(after)), [before, after]);
  const near = useMemo(() => shown(lines), [lines]);
  const sign = { same: " ", added: "+", removed: "−" };
  return (
    <pre className="graph-diff code" tabIndex={0} aria-label={t.textDiff}>
      {near.map((l, i) =>
        typeof l === "number" ? (
          <div key={i} className="diff-gap">
            ⋯ {t.sameLines(l.toLocaleString(locale))}
          </div>
        ) : (
          <div key={i} className={`diff-${l.kind}`} data-kind={l.kind}>
            <span className="diff-number">{l.before ?? ""}</span>
            <span className="diff-number">{l.after ?? ""}</span>
            <span>{sign[l.kind]}</span>
            <span className="diff-text">{l.text}</span>
          </div>
        ),
      )}
    </pre>
  );
}

/** The lines near a change; a number stands for so many lines that are the same. */
function shown(lines: Line[]): (Line | number)[] {
  if (lines.length <= 60) return lines;
  const keep = new Set<number>();
  lines.forEach((l, i) => {
    if (l.kind !== "same") for (let k = i - around; k <= i + around; k++) keep.add(k);
  });
  const out: (Line | number)[] = [];
  lines.forEach((l, i) => {
    const last = out.at(-1);
    if (keep.has(i)) out.push(l);
    else if (typeof last === "number") out[out.length - 1] = last + 1;
    else out.push(1);
  });
  return out;
}
