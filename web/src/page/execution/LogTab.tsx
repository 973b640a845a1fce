import { useEffect, useMemo, useRef, useState } from "react";
import {
  Button,
  CopyAs,
  Empty,
  ErrorBox,
  FilterBar,
  Icon,
  Loading,
  usePageKey,
  type FilterField,
} from "../../kit";
import { useSearch } from "../../router";
import { int, list, text as textParam } from "../../search";
import { useLocale, usePageWords, useWords } from "../../words";
import { useExecutionContext } from "./context";
import "./log.css";
import { LogDetail } from "./LogDetail";
import { LogDownload } from "./LogDownload";
import { LogList, type LogListControl } from "./LogList";
import { choices, isFiltered, logRows, refusedType } from "./logRows";
import { text } from "./logWords";
import { useLog } from "./useLog";

const spec = {
  at: int(0),
  type: list(),
  nodeId: textParam(),
  actor: textParam(),
  correlation: textParam(),
};

/** What happened, event by event, under the commands that caused it. */
export default function LogTab() {
  const { id, now, live, setAt } = useExecutionContext();
  const t = usePageWords(text);
  const w = useWords();
  const locale = useLocale();
  const [search, setSearch] = useSearch(spec);
  const log = useLog(true);
  const active = now.status === "ACTIVE";
  const [chosen, setChosen] = useState<boolean>();
  const following = chosen ?? (active && search.at === 0);
  const control = useRef<LogListControl>(null);

  const filter = useMemo(
    () => ({
      types: search.type,
      node: search.nodeId,
      actor: search.actor,
      correlation: search.correlation,
    }),
    [search.type, search.nodeId, search.actor, search.correlation],
  );
  const late = now.lateResults;
  const rows = useMemo(
    () => logRows(log.events, log.commands, filter, late),
    [log.events.length, log.commands, filter, late], // eslint-disable-line react-hooks/exhaustive-deps
  );
  const there = useMemo(
    () => choices(log.events, log.commands),
    [log.events.length, log.commands], // eslint-disable-line react-hooks/exhaustive-deps
  );
  // What came since it was paused is counted, and nothing moves.
  const [seen, setSeen] = useState(0);
  const fresh = following ? 0 : Math.max(0, log.events.length - seen);
  const pause = () => {
    if (!following) return;
    setSeen(log.events.length);
    setChosen(false);
  };
  const follow = () => {
    setChosen(true);
    control.current?.toEnd();
  };
  const select = (seq: number) => {
    pause();
    setAt(seq);
  };
  useEffect(() => {
    if (following) control.current?.toEnd();
  }, [following, rows.length]);
  const step = (by: number) => {
    const at = search.at === 0 ? now.seq + (by < 0 ? 1 : 0) : search.at;
    const next = Math.max(1, Math.min(now.seq, at + by));
    select(next);
    control.current?.show(next);
  };
  usePageKey("j", () => step(1), t.after);
  usePageKey("k", () => step(-1), t.before);

  const option = (value: string) => ({ value, label: value === refusedType ? t.refusedType : value });
  const fields: FilterField[] = [
    { id: "type", label: t.type, many: true, options: there.types.map(option) },
    { id: "nodeId", label: t.node, suggest: there.nodes },
    { id: "actor", label: t.actor, options: there.actors.map(option) },
    { id: "correlation", label: t.correlation, suggest: there.correlations },
  ];
  const one = (s: string) => (s === "" ? [] : [s]);
  const values = {
    type: search.type,
    nodeId: one(search.nodeId),
    actor: one(search.actor),
    correlation: one(search.correlation),
  };
  const change = (field: string, v: string[]) => {
    if (field === "type") setSearch({ type: v });
    else setSearch({ [field]: v[0] ?? "" } as Partial<typeof search>);
  };
  const count = rows.reduce((n, r) => (r.kind === "event" ? n + 1 : n), 0);
  const n = (value: number) => value.toLocaleString(locale);
  const selected = search.at > 0 && search.at <= now.seq ? search.at : undefined;
  return (
    <div className="log">
      <div className="log-bar">
        <FilterBar fields={fields} values={values} onChange={change} />
        <span className="log-count muted" role="status">
          {isFiltered(filter) ? t.shown(n(count), n(log.events.length)) : t.total(n(log.events.length))}
        </span>
        {active && (
          <Button
            small
            aria-pressed={following}
            data-following={following}
            onClick={following ? pause : follow}
          >
            <Icon name={following ? "pause" : "play"} /> {following ? t.pause : t.follow}
          </Button>
        )}
        <LogDownload />
        <CopyAs
          method="GET"
          path={`executions/${id}/events?page_size=1000`}
          cli={`renga execution events ${id}`}
        />
      </div>
      {log.error && <ErrorBox error={log.error} onRetry={log.retry} />}
      <div className="log-body" data-detail={selected !== undefined || undefined}>
        <div className="log-main">
          {log.events.length === 0 && !log.error ? (
            <Loading label={w.page.loading} lines={8} />
          ) : (
            <LogList
              control={control}
              rows={rows}
              selected={selected}
              onSelect={select}
              onScrollUp={pause}
              empty={<Empty title={t.nothing}>{t.nothingHint}</Empty>}
            />
          )}
          {live && fresh > 0 && (
            <div className="log-fresh">
              <Button kind="primary" small onClick={follow}>
                ↓ {t.more(n(fresh))}
              </Button>
            </div>
          )}
        </div>
        {selected !== undefined && (
          <LogDetail
            seq={selected}
            log={log}
            onStep={step}
            onSelect={(seq) => {
              select(seq);
              control.current?.show(seq);
            }}
          />
        )}
      </div>
    </div>
  );
}
