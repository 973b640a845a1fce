import { useRef, type KeyboardEvent } from "react";
import { useRead } from "../../api";
import {
  Age,
  Button,
  Chip,
  CopyAs,
  cx,
  Empty,
  ErrorBox,
  Loading,
  Page,
  Segmented,
  usePageKey,
} from "../../kit";
import { shownOf } from "../../kit/wait";
import { useSearch } from "../../router";
import { int, oneOf, text as textParam } from "../../search";
import { useLocale, usePageWords, useWords } from "../../words";
import { Detail, type Wait } from "./Detail";
import "./waiting.css";
import { text } from "./words";

const spec = { who: oneOf(["all", "me"], "all"), graph: textParam(), at: textParam(), page: int(1) };
const pageSize = 50;

const placeOf = (wait: Wait) => `${wait.executionId}:${wait.nodeId}`;

/** What waits for a person? */
export default function Waiting() {
  const w = useWords();
  const t = usePageWords(text);
  const locale = useLocale();
  const [search, setSearch] = useSearch(spec);
  const listRef = useRef<HTMLDivElement>(null);
  const detailRef = useRef<HTMLDivElement>(null);
  const query = {
    ...(search.who === "me" ? { assignee: "me" as const } : {}),
    ...(search.graph === "" ? {} : { graphId: search.graph }),
    page: search.page,
    page_size: pageSize,
  };
  const waits = useRead("/waits", { query }, { every: 2_000, keep: true });
  const items = waits.data?.items ?? [];
  const index = items.findIndex((i) => placeOf(i) === search.at);
  const colon = search.at.indexOf(":");
  const at = colon > 0 ? [search.at.slice(0, colon), search.at.slice(colon + 1)] : undefined;

  const choose = (i: number) => {
    const next = items[Math.max(0, Math.min(items.length - 1, i))];
    if (!next) return;
    setSearch({ at: placeOf(next) });
    document.getElementById(placeOf(next))?.scrollIntoView({ block: "nearest" });
  };
  const answer = () =>
    detailRef.current
      ?.querySelector<HTMLElement>(".wait-answer :is(input, select, textarea), .wait-answer button")
      ?.focus();
  const keys = (e: KeyboardEvent) => {
    if (e.nativeEvent.isComposing) return;
    if (e.key === "ArrowDown") choose(index + 1);
    else if (e.key === "ArrowUp") choose(index - 1);
    else if (e.key === "Home") choose(0);
    else if (e.key === "End") choose(items.length - 1);
    else if (e.key === "Enter") answer();
    else return;
    e.preventDefault();
  };
  usePageKey("j", () => choose(index + 1), t.nextWait);
  usePageKey("k", () => choose(index - 1), t.lastWait);
  const done = () => {
    // The next one takes its place in the list.
    const next = items[index + 1] ?? items[index - 1];
    setSearch({ at: next ? placeOf(next) : "" });
    listRef.current?.focus();
  };

  const total = waits.data?.total ?? 0;
  const pages = Math.max(1, Math.ceil(total / pageSize));
  const none = waits.data !== undefined && total === 0;
  return (
    <Page
      title={w.nav.waiting}
      subtitle={t.subtitle}
      actions={
        <CopyAs
          method="GET"
          path={search.who === "me" ? "waits?assignee=me" : "waits"}
          cli={search.who === "me" ? "renga waits --assignee me" : "renga waits"}
        />
      }
    >
      <div className="wait-bar">
        <Segmented
          label={t.who}
          hideLabel
          value={search.who}
          options={[
            { value: "all", label: t.all },
            { value: "me", label: t.mine },
          ]}
          onChange={(who) => setSearch({ who, page: 1, at: "" })}
        />
        {search.graph !== "" && (
          <Chip label={t.ofGraph(search.graph)} onRemove={() => setSearch({ graph: "", page: 1 })} />
        )}
        {waits.data && <span className="muted">{t.count(total.toLocaleString(locale))}</span>}
      </div>
      {waits.error && <ErrorBox error={waits.error} onRetry={() => void waits.refetch()} />}
      {waits.isPending && !waits.error && <Loading label={w.page.loading} lines={6} />}
      {none && !at && (
        <Empty title={t.noneTitle} command="renga waits">
          {t.noneHint}
        </Empty>
      )}
      {(items.length > 0 || at) && (
        <div className={cx("wait-panes", at && "open")}>
          <div className="wait-side">
            <div
              ref={listRef}
              className="wait-list"
              role="listbox"
              tabIndex={0}
              aria-label={t.list}
              aria-activedescendant={index >= 0 ? search.at : undefined}
              onKeyDown={keys}
              onFocus={() => index < 0 && !at && choose(0)}
            >
              {items.map((i) => (
                <div
                  key={placeOf(i)}
                  id={placeOf(i)}
                  role="option"
                  aria-selected={placeOf(i) === search.at}
                  onClick={() => setSearch({ at: placeOf(i) })}
                >
                  <b>{shownOf(i.prompt).title ?? i.nodeId}</b>
                  <Age at={i.since} />
                  <span className="muted small-text">
                    {i.graphId} · {i.businessKey ?? i.executionId.slice(-8)}
                  </span>
                </div>
              ))}
            </div>
            <p className="hint">{t.listHint}</p>
            {pages > 1 && (
              <nav className="wait-pages" aria-label={t.list}>
                <Button
                  small
                  disabled={search.page <= 1}
                  onClick={() => setSearch({ page: search.page - 1, at: "" })}
                >
                  {w.do.previous}
                </Button>
                <span className="muted">
                  {t.page(search.page.toLocaleString(locale), pages.toLocaleString(locale))}
                </span>
                <Button
                  small
                  disabled={search.page >= pages}
                  onClick={() => setSearch({ page: search.page + 1, at: "" })}
                >
                  {w.do.next}
                </Button>
              </nav>
            )}
          </div>
          <div ref={detailRef} className="section wait-main">
            {at ? (
              <>
                <button type="button" className="link wait-back" onClick={() => setSearch({ at: "" })}>
                  {t.back}
                </button>
                <Detail
                  key={search.at}
                  executionId={at[0] ?? ""}
                  nodeId={at[1] ?? ""}
                  wait={items[index]}
                  onDone={done}
                />
              </>
            ) : (
              <p className="muted">{t.choose}</p>
            )}
          </div>
        </div>
      )}
    </Page>
  );
}
