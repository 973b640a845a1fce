import { useEffect, useEffectEvent, useMemo, useState } from "react";
import { Graph } from "../../draw/graph";
import { Replay } from "../../flow/reduce";
import type { FlowEvent, Graph as GraphSpec } from "../../flow/types";
import { Button, ErrorBox, Field, Icon, StateBadge, usePageKey } from "../../kit";
import { useSearch } from "../../router";
import { useLocale, usePageWords } from "../../words";
import { spec, useGraphContext } from "./context";
import { NodeList } from "./NodeList";
import { Outcomes } from "./Outcomes";
import { readOutcomes } from "./readOutcomes";
import { useFolds } from "./useFolds";
import { useSimulation, type Script, type Simulated } from "./useSimulation";
import { text } from "./words";

/** What an execution would do, with the outcomes that somebody chooses. Nothing is stored. */
export default function SimulateTab() {
  const { id, graph, draft } = useGraphContext();
  const t = usePageWords(text);
  const [search, setSearch] = useSearch(spec);
  const shown: GraphSpec | undefined = draft?.graph ?? graph;
  const outcomes = useMemo(() => readOutcomes(search.outcomes), [search.outcomes]);
  const input = useMemo(() => parsed(search.input), [search.input]);
  const version = graph?.version;
  const script = useMemo((): Script | undefined => {
    if (version === undefined || input === wrong) return undefined;
    const of = draft === undefined ? { graphId: id, version } : { source: draft.text };
    const known = Object.entries(outcomes).filter(([node]) => shown?.nodes.some((n) => n.nodeId === node));
    return {
      ...of,
      outcomes: Object.fromEntries(known),
      ...(input === undefined ? {} : { input: input as Script["input"] }),
    };
  }, [id, version, draft, outcomes, input, shown]);
  const { result, error, current } = useSimulation(script);
  if (!shown) return null;
  return (
    <div className="graph-sim" data-current={current || undefined}>
      <div className="graph-sim-form">
        <p className="muted">{draft === undefined ? t.simStored(t.v(String(version))) : t.simDraft}</p>
        <Outcomes
          nodes={shown.nodes}
          value={outcomes}
          onChange={(next) =>
            setSearch({ outcomes: Object.keys(next).length === 0 ? "" : JSON.stringify(next), at: 0 })
          }
        />
        <Field label={t.input} hint={t.inputHint} error={input === wrong ? t.inputWrong : undefined}>
          {(field, by) => (
            <textarea
              id={field}
              aria-describedby={by}
              aria-invalid={input === wrong ? true : undefined}
              className="code"
              rows={3}
              spellCheck={false}
              value={search.input}
              onChange={(e) => setSearch({ input: e.target.value, at: 0 })}
            />
          )}
        </Field>
      </div>
      <div className="graph-sim-shown">
        {error && <ErrorBox error={error} />}
        {result && !error && <Played graph={shown} result={result} />}
      </div>
    </div>
  );
}

const wrong = Symbol("not JSON");

function parsed(s: string): unknown {
  if (s.trim() === "") return undefined;
  try {
    return JSON.parse(s) as unknown;
  } catch {
    return wrong;
  }
}

const step = 500;

/** The result at an event: a slider goes through it, play goes from command to command. */
function Played({ graph, result }: { graph: GraphSpec; result: Simulated }) {
  const t = usePageWords(text);
  const locale = useLocale();
  const [search, setSearch] = useSearch(spec);
  const [playing, setPlaying] = useState(false);
  const folds = useFolds();
  const replay = useMemo(() => new Replay(result.events as unknown as FlowEvent[]), [result.events]);
  const last = Math.max(1, replay.lastSeq);
  const at = search.at > 0 ? Math.min(search.at, last) : last;
  const state = replay.stateAt(at);
  const marks = result.commands.flatMap((c) => (c.lastSeq === undefined ? [] : [c.lastSeq]));
  const command = result.commands.find((c) => (c.firstSeq ?? 0) <= at && at <= (c.lastSeq ?? 0));
  const to = (seq: number) => setSearch({ at: seq >= last ? 0 : seq });
  const on = () => to(marks.find((m) => m > at) ?? last);
  const back = () => to(marks.findLast((m) => m < at) ?? 1);
  const advance = useEffectEvent(() => {
    const next = marks.find((m) => m > at) ?? last;
    to(next);
    if (next >= last) setPlaying(false);
  });
  useEffect(() => {
    if (!playing) return;
    const timer = setInterval(() => advance(), step);
    return () => clearInterval(timer);
  }, [playing]);
  usePageKey("[", back, t.back);
  usePageKey("]", on, t.on);
  const number = (n: number) => n.toLocaleString(locale);
  const name = playing ? t.stop : t.play;
  const place = t.eventOf(number(at), number(last));
  return (
    <>
      <p className="graph-sim-result" role="status" data-status={result.status} data-at={at}>
        <StateBadge state={result.status} note={result.outcome ?? result.error?.code} />
        <span>{t.took(result.took)}</span>
        {result.failedNodeId !== undefined && <span>{t.failedAt(result.failedNodeId)}</span>}
        {result.error?.message !== undefined && <span className="muted">{result.error.message}</span>}
        {result.waitsFor && result.waitsFor.length > 0 && (
          <span>{t.waitsFor(result.waitsFor.join(", "))}</span>
        )}
      </p>
      <div className="graph-sim-slider" role="group" aria-label={t.slider}>
        <Button small kind="quiet" aria-label={t.back} title={`${t.back} ([)`} onClick={back}>
          <Icon name="back" />
        </Button>
        <Button
          small
          aria-label={name}
          title={name}
          onClick={() => {
            if (!playing && at >= last) to(1);
            setPlaying(!playing);
          }}
        >
          <Icon name={playing ? "pause" : "play"} />
        </Button>
        <Button small kind="quiet" aria-label={t.on} title={`${t.on} (])`} onClick={on}>
          <Icon name="on" />
        </Button>
        <input
          type="range"
          min={1}
          max={last}
          value={at}
          aria-label={t.slider}
          aria-valuetext={place}
          onChange={(e) => {
            setPlaying(false);
            to(Number(e.currentTarget.value));
          }}
        />
        <span className="num">{place}</span>
      </div>
      <p className="graph-sim-said">
        {command && (
          <>
            <strong>{command.command}</strong> {command.nodeId} <code>+{since(command.decidedAt)}</code>
          </>
        )}
      </p>
      <div className="graph-canvas">
        <Graph graph={graph} states={state.nodes} {...folds} />
      </div>
      <details className="graph-table">
        <summary>{t.asTable}</summary>
        <NodeList graph={graph} states={state.nodes} />
      </details>
    </>
  );
}

const begins = Date.parse("2000-01-01T00:00:00Z");

/** Virtual time since the beginning: 1:00:03. */
function since(at: string): string {
  const s = Math.max(0, Math.round((Date.parse(at) - begins) / 1000));
  const two = (n: number) => String(n).padStart(2, "0");
  return `${Math.floor(s / 3600)}:${two(Math.floor(s / 60) % 60)}:${two(s % 60)}`;
}
