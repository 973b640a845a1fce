import { Suspense, useCallback, useMemo, useState } from "react";
import { useRead } from "../../api";
import type { LocalState } from "../../flow/apply";
import { Button, ErrorBox, Loading, Page, Tabs } from "../../kit";
import { useParams, useSearch } from "../../router";
import { int, oneOf, text as textParam } from "../../search";
import { useLocale, usePageWords, useWords } from "../../words";
import { Actions } from "./Actions";
import { ExecutionProvider, type Execution, type ExecutionContext } from "./context";
import "./execution.css";
import { Facts, Heading } from "./Facts";
import { NodePanel } from "./NodePanel";
import { Notices } from "./Notices";
import { bars, tabNames, tabs } from "./tabs";
import { useExecution } from "./useExecution";
import { text } from "./words";

const spec = { tab: oneOf(tabNames, "graph"), node: textParam(), at: int(0) };

/** What happens, why, and what can I do? */
export default function ExecutionPage() {
  const { id } = useParams("execution");
  return <OfId key={id} id={id} />;
}

function OfId({ id }: { id: string }) {
  const w = useWords();
  const t = usePageWords(text);
  const locale = useLocale();
  const [search, setSearch] = useSearch(spec);
  const { now, error, live, noted, refresh } = useExecution(id);
  const [local, setLocal] = useState<LocalState>();

  const at = search.at > 0 && now !== undefined && search.at < now.seq ? search.at : undefined;
  const then = useRead(
    "/executions/{executionId}",
    { path: { executionId: id }, query: { at: at ?? 1 } },
    { enabled: at !== undefined, keep: true },
  );
  const graph = useRead(
    "/graphs/{graphId}",
    { path: { graphId: now?.graphId ?? "" }, query: { version: now?.graphVersion ?? 1 } },
    { enabled: now !== undefined },
  );

  const setAt = useCallback(
    (seq: number | undefined) => {
      // What is shown already stays until the server has answered for the same event.
      setLocal((shown) => (shown?.seq === seq ? shown : undefined));
      setSearch({ at: seq ?? 0 });
    },
    [setSearch],
  );
  const select = useCallback((node: string | undefined) => setSearch({ node: node ?? "" }), [setSearch]);
  const past = at === undefined ? undefined : then.data;
  const shown = useMemo(() => shownOf(now, past, local, at), [now, past, local, at]);
  const context = useMemo<ExecutionContext | undefined>(
    () =>
      now && shown
        ? {
            id,
            execution: shown,
            now,
            graph: graph.data,
            at,
            setAt,
            show: setLocal,
            selected: search.node === "" ? undefined : search.node,
            select,
            live,
            noted,
            refresh,
          }
        : undefined,
    [id, now, shown, graph.data, at, setAt, search.node, select, live, noted, refresh],
  );

  if (!now || !context) {
    return (
      <Page title={w.execution}>
        {error ? (
          <ErrorBox error={error} onRetry={() => void refresh()} />
        ) : (
          <Loading label={w.page.loading} lines={6} />
        )}
      </Page>
    );
  }
  const Tab = tabs[search.tab];
  return (
    <ExecutionProvider value={context}>
      <Page
        title={`${now.businessKey ?? now.executionId.slice(-8)} · ${now.graphId}`}
        heading={<Heading />}
        actions={<Actions />}
      >
        <Facts />
        <Notices listening={live && now.status === "CANCELED"} />
        {error && <ErrorBox error={error} onRetry={() => void refresh()} />}
        {then.error && at !== undefined && (
          <ErrorBox error={then.error} onRetry={() => void then.refetch()} />
        )}
        {graph.error && <ErrorBox error={graph.error} onRetry={() => void graph.refetch()} />}
        {bars.map((Bar, i) => (
          <Suspense key={i} fallback={<div className="exe-bar" />}>
            <Bar />
          </Suspense>
        ))}
        {at !== undefined && (
          <p className="exe-past" role="status">
            {t.past(at.toLocaleString(locale), now.seq.toLocaleString(locale))}{" "}
            <Button small onClick={() => setAt(undefined)}>
              {t.toNow}
            </Button>
          </p>
        )}
        <div className="exe-body">
          <div className="exe-main">
            <Tabs
              label={w.execution}
              tabs={tabNames.map((name) => ({ id: name, label: t.tabs[name] }))}
              value={search.tab}
              onChange={(tab) => setSearch({ tab }, { push: true })}
            >
              <Suspense fallback={<Loading label={w.page.loading} lines={6} />}>
                <Tab />
              </Suspense>
            </Tabs>
          </div>
          {context.selected !== undefined && <NodePanel key={context.selected} nodeId={context.selected} />}
        </div>
      </Page>
    </ExecutionProvider>
  );
}

/** What is shown: what was computed here goes before the server's state of another event, and after that of its own. */
function shownOf(
  now: Execution | undefined,
  past: Execution | undefined,
  local: LocalState | undefined,
  at: number | undefined,
): Execution | undefined {
  if (!now) return undefined;
  if (local === undefined || (local.seq === at && past?.seq === at)) return past ?? now;
  // Its log has no order of nodes, and not what was said of the whole when it was created.
  const { executionId, correlationId, rerunOf, input, nodes } = now;
  const place = new Map(nodes.map((n, i) => [n.nodeId, i]));
  const sorted = [...local.nodes].sort((a, b) => (place.get(a.nodeId) ?? 0) - (place.get(b.nodeId) ?? 0));
  return { ...local, executionId, correlationId, rerunOf, input, nodes: sorted } as Execution;
}
