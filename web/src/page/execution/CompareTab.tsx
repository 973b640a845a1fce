import { useMemo } from "react";
import { useRead } from "../../api";
import { compareRuns, type Run } from "../../flow/compare";
import { Button, ErrorBox, Loading, Section, StateBadge } from "../../kit";
import { go, Link, useSearch } from "../../router";
import { flag, text as textParam } from "../../search";
import { usePageWords, useWords } from "../../words";
import { Changes } from "./Changes";
import "./compare.css";
import { CompareNodes } from "./CompareNodes";
import { ComparePick } from "./ComparePick";
import { text } from "./compareWords";
import { useExecutionContext, type Execution } from "./context";
import { Partings } from "./Partings";

const spec = { with: textParam(), all: flag() };

/** This execution beside another one. */
export default function CompareTab() {
  const [search, setSearch] = useSearch(spec);
  if (search.with === "") return <ComparePick onPick={(id) => setSearch({ with: id }, { push: true })} />;
  return <Compared key={search.with} other={search.with} />;
}

/** An execution with its graph and its attempts, as far as they are read. */
function useRun(id: string, execution: Execution | undefined) {
  const path = { executionId: id };
  const state = useRead("/executions/{executionId}", { path }, { enabled: execution === undefined });
  const of = execution ?? state.data;
  const graph = useRead(
    "/graphs/{graphId}",
    { path: { graphId: of?.graphId ?? "" }, query: { version: of?.graphVersion ?? 1 } },
    { enabled: of !== undefined },
  );
  const attempts = useRead(
    "/executions/{executionId}/attempts",
    { path },
    { every: of?.status === "ACTIVE" ? 4_000 : undefined, keep: true },
  );
  const run = useMemo<Run | undefined>(
    () => of && graph.data && { state: of, graph: graph.data, attempts: attempts.data?.nodes },
    [of, graph.data, attempts.data],
  );
  const error = state.error ?? graph.error ?? attempts.error;
  const retry = () => void Promise.all([state.refetch(), graph.refetch(), attempts.refetch()]);
  return { state: of, run, error, retry };
}

function Compared({ other }: { other: string }) {
  const { id, now } = useExecutionContext();
  const t = usePageWords(text);
  const w = useWords();
  const [search, setSearch] = useSearch(spec);
  const a = useRun(id, now);
  const b = useRun(other, undefined);
  const comparison = useMemo(() => a.run && b.run && compareRuns(a.run, b.run), [a.run, b.run]);
  const swap = () => go({ to: "execution", params: { id: other }, search: { tab: "compare", with: id } });
  const failed = a.error ? a : b.error ? b : undefined;
  return (
    <div className="compare">
      <div className="compare-head">
        <Side name={t.a} state={a.state} />
        <Side name={t.b} state={b.state} />
        <div className="compare-actions">
          <Button small onClick={swap}>
            {t.swap}
          </Button>
          <Button small onClick={() => setSearch({ with: "" }, { push: true })}>
            {t.other}
          </Button>
        </div>
      </div>
      {failed?.error && <ErrorBox error={failed.error} onRetry={failed.retry} />}
      {!comparison || !a.state || !b.state ? (
        !failed && <Loading label={w.page.loading} lines={8} />
      ) : (
        <>
          <Partings partings={comparison.partings} />
          <CompareNodes
            comparison={comparison}
            a={a.state}
            b={b.state}
            all={search.all}
            onAll={(all) => setSearch({ all })}
          />
          <div className="compare-data">
            <Section title={t.input}>
              {comparison.input.length === 0 ? (
                <p className="muted">{t.noDifference}</p>
              ) : (
                <Changes changes={comparison.input} />
              )}
            </Section>
            <Section title={t.result}>
              {comparison.result.length === 0 ? (
                <p className="muted">{t.noDifference}</p>
              ) : (
                <Changes changes={comparison.result} />
              )}
            </Section>
          </div>
        </>
      )}
    </div>
  );
}

function Side({ name, state }: { name: string; state: Execution | undefined }) {
  const t = usePageWords(text);
  return (
    <p className="compare-side">
      <span className="muted">{name}</span>
      {state && (
        <>
          <Link to="execution" params={{ id: state.executionId }}>
            {state.businessKey ?? state.executionId.slice(-8)}
          </Link>
          <StateBadge state={state.status} />
          <span className="muted">
            {state.graphId} · {t.sameGraph(String(state.graphVersion))}
          </span>
        </>
      )}
    </p>
  );
}
