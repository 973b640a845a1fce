import { lazy, Suspense, useMemo, useState } from "react";
import { Graph } from "../../draw/graph";
import type { Graph as GraphSpec } from "../../flow/types";
import { graphYaml } from "../../flow/yaml";
import { Button, CopyAs, ErrorBox, Icon, Loading } from "../../kit";
import { useSearch } from "../../router";
import { useLocale, usePageWords, useWords } from "../../words";
import { spec, useGraphContext } from "./context";
import { exampleOf } from "./examples";
import { Store, type StoredAs } from "./Store";
import { useCheck } from "./useCheck";
import { useFolds } from "./useFolds";
import { text } from "./words";

const Editor = lazy(() => import("./editor"));

/** The text of a graph beside its picture; the server checks it as somebody types. */
export default function EditTab() {
  const { id, graph, newest, draft, setDraft, running } = useGraphContext();
  const w = useWords();
  const t = usePageWords(text);
  const locale = useLocale();
  const [search] = useSearch(spec);
  const base = useMemo(() => (graph ? graphYaml(graph) : exampleOf(search.example)), [graph, search.example]);
  // What the editor begins with: a poll must not change the text under somebody's hands.
  const [start, setStart] = useState({
    text: draft?.text ?? base,
    version: draft?.from ?? newest?.version ?? 0,
    n: 0,
  });
  const [source, setSource] = useState(start.text);
  const [picture, setPicture] = useState<GraphSpec>();
  const [jump, setJump] = useState(0);
  const [storing, setStoring] = useState(false);
  const [stored, setStored] = useState<StoredAs>();
  const { checked, error, current } = useCheck(id, source);
  const folds = useFolds();
  const mistake = checked?.errors[0];
  const unchanged = checked?.digest !== undefined && checked.digest === newest?.digest;
  const number = (n: number | undefined) => (n ?? 0).toLocaleString(locale);

  const reset = () => {
    setDraft(undefined);
    setStart((s) => ({ text: base, version: newest?.version ?? 0, n: s.n + 1 }));
  };
  const others = [...running.byVersion].filter(([v]) => v !== stored?.version).sort(([a], [b]) => b - a);
  return (
    <div className="graph-edit">
      <div className="graph-edit-bar">
        <p
          className="graph-verdict"
          role="status"
          data-valid={checked && current ? checked.valid : undefined}
        >
          {!checked && !error && <span className="muted">{t.checking}</span>}
          {checked?.valid && (
            <>
              <span className="verdict-ok" aria-hidden>
                <Icon name="check" />
              </span>{" "}
              {unchanged ? t.unchanged : t.valid(number(checked.nodes), number(checked.edges))}
            </>
          )}
          {mistake && (
            <>
              <span className="verdict-wrong" aria-hidden>
                <Icon name="warn" />
              </span>{" "}
              {mistake.line !== undefined && (
                <button type="button" className="link" onClick={() => setJump((n) => n + 1)}>
                  {t.line(number(mistake.line))}
                </button>
              )}{" "}
              {mistake.message}
            </>
          )}
        </p>
        <div className="graph-edit-buttons">
          <CopyAs
            method="POST"
            path="graphs/check"
            body={{ graphId: id, source }}
            cli={`renga graph validate ${id}.yaml`}
          />
          {source !== base && <Button onClick={reset}>{t.reset}</Button>}
          <Button
            kind="primary"
            scope="graphs:write"
            disabled={!current || !checked?.valid || unchanged}
            onClick={() => setStoring(true)}
          >
            {t.store}
          </Button>
        </div>
      </div>
      {error && <ErrorBox error={error} />}
      {stored && (
        <p className="graph-stored" role="status">
          <strong>{t.storedAs(t.v(String(stored.version)))}</strong>{" "}
          {others.length === 0
            ? t.nobodyElse
            : t.stillRun(others.map(([v]) => `${t.v(String(v))}: ${running.of(v)}`).join(" · "))}
        </p>
      )}
      <div className="graph-edit-two">
        <div className="graph-edit-text">
          <Suspense fallback={<Loading label={w.page.loading} lines={8} />}>
            <Editor
              key={start.n}
              label={t.editor(id)}
              initial={start.text}
              mistake={current ? mistake : undefined}
              jump={jump}
              onText={(now, seen) => {
                setSource(now);
                const at = new Date().toISOString();
                setDraft(now === base ? undefined : { text: now, graph: seen, from: start.version, at });
                if (seen) setPicture(seen);
              }}
            />
          </Suspense>
        </div>
        <div className="graph-canvas">{picture && <Graph graph={picture} {...folds} />}</div>
      </div>
      {storing && (
        <Store
          source={source}
          from={start.version}
          onClose={() => setStoring(false)}
          onStored={(as) => {
            setStoring(false);
            setStored(as);
            setDraft(undefined);
            setStart((s) => ({ ...s, version: as.version }));
          }}
        />
      )}
    </div>
  );
}
