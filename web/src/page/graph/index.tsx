import { Suspense, useCallback, useMemo, useState } from "react";
import { ApiError, useActAs, useRead } from "../../api";
import { Age, CopyAs, ErrorBox, Id, Loading, Page, Tabs, Time } from "../../kit";
import { Link, useParams, useSearch } from "../../router";
import { usePageWords, useWords } from "../../words";
import { GraphProvider, spec, type Draft } from "./context";
import { draftOf, keepDraft } from "./drafts";
import "./graph.css";
import { Offer } from "./Offer";
import { tabNames, tabs } from "./tabs";
import { useRunning } from "./useRunning";
import { text } from "./words";

/** What does it do, what changed, does my edit work? */
export default function GraphPage() {
  const { id } = useParams("graph");
  const who = useActAs();
  return <One key={JSON.stringify([who, id])} id={id} />;
}

function One({ id }: { id: string }) {
  const w = useWords();
  const t = usePageWords(text);
  const [search, setSearch] = useSearch(spec);
  const [draft, setOwn] = useState<Draft>();
  // What was left here before: it stays until somebody decides, or another edit takes its place.
  const [offer, setOffer] = useState(() => draftOf(id));
  const [restored, setRestored] = useState(0);
  const setDraft = useCallback(
    (next: Draft | undefined) => {
      setOwn(next);
      keepDraft(id, next ?? offer);
    },
    [id, offer],
  );
  const decide = (take: boolean) => {
    setOffer(undefined);
    keepDraft(id, take ? offer : draft);
    if (!take) return;
    setOwn(offer);
    setRestored((n) => n + 1);
    setSearch({ tab: "edit", node: "" });
  };
  const path = { graphId: id };
  const newest = useRead("/graphs/{graphId}", { path }, { every: 10_000 });
  const older = useRead(
    "/graphs/{graphId}",
    { path, query: { version: search.version } },
    { enabled: search.version > 0, keep: true },
  );
  const running = useRunning(id);
  const graph = search.version > 0 ? older.data : newest.data;
  const missing = newest.error instanceof ApiError && newest.error.status === 404;
  const context = useMemo(
    () => ({ id, graph, newest: newest.data, running, draft, setDraft }),
    [id, graph, newest.data, running, draft, setDraft],
  );
  const error = search.version > 0 ? (older.error ?? newest.error) : newest.error;
  const fresh = missing && search.tab === "edit";
  const Tab = tabs[search.tab];
  return (
    <GraphProvider value={context}>
      <Page
        title={id}
        subtitle={fresh ? t.fresh : t.subtitle}
        actions={
          !missing && (
            <CopyAs method="GET" path={`graphs/${encodeURIComponent(id)}`} cli={`renga graph show ${id}`} />
          )
        }
      >
        {error && !missing && <ErrorBox error={error} onRetry={() => void newest.refetch()} />}
        {missing && !fresh && (
          <div className="graph-missing">
            <ErrorBox error={newest.error} />
            <p>
              <Link to="graph" params={{ id }} search={{ tab: "edit", example: "order" }}>
                {t.write}
              </Link>
              {" · "}
              <Link to="graphs">{t.toList}</Link>
            </p>
          </div>
        )}
        {offer && <Offer draft={offer} onRestore={() => decide(true)} onDiscard={() => decide(false)} />}
        {graph && <Facts />}
        {!graph && !error && <Loading label={w.page.loading} lines={6} />}
        {(graph || fresh) && (
          <Tabs
            label={t.parts}
            tabs={(fresh ? (["edit"] as const) : tabNames).map((name) => ({ id: name, label: t.tabs[name] }))}
            value={search.tab}
            onChange={(tab) => setSearch({ tab, node: "" }, { push: true })}
          >
            <Suspense fallback={<Loading label={w.page.loading} lines={6} />}>
              <Tab key={restored} />
            </Suspense>
          </Tabs>
        )}
      </Page>
    </GraphProvider>
  );

  function Facts() {
    if (!graph || !newest.data) return null;
    const on = running.of(graph.version);
    return (
      <dl className="graph-facts">
        <div>
          <dt>{t.version}</dt>
          <dd>
            {t.v(String(graph.version))}
            {graph.version === newest.data.version ? (
              <span className="muted"> {t.isNewest}</span>
            ) : (
              <>
                {" "}
                <Link to="graph" params={{ id }} search={{ tab: search.tab }}>
                  {t.toNewest(String(newest.data.version))}
                </Link>
              </>
            )}
          </dd>
        </div>
        <div>
          <dt>{t.stored}</dt>
          <dd>
            <Time at={graph.createdAt} /> <Age at={graph.createdAt} />
          </dd>
        </div>
        <div>
          <dt>{t.active}</dt>
          <dd>
            <Link to="executions" search={{ graphId: id, status: "ACTIVE" }}>
              {on}
            </Link>
          </dd>
        </div>
        <div>
          <dt>{t.digest}</dt>
          <dd>
            <Id id={graph.digest} />
          </dd>
        </div>
      </dl>
    );
  }
}
