import { useCallback, useEffect, useMemo, useRef, useState } from "react";
import {
  Button,
  CopyAs,
  Empty,
  ErrorBox,
  Page,
  Table,
  usePageKey,
  useZoneName,
  type TableControl,
} from "../../kit";
import { useChanges } from "../../live";
import { go, navigate, useSearch } from "../../router";
import { useLocale, usePageWords, useWords } from "../../words";
import { columns } from "./columns";
import { Filters } from "./Filters";
import { flags, noFilters, query, requestSearch, spec, type Search } from "./filters";
import { Histogram } from "./Histogram";
import { useListed, type Execution } from "./listed";
import { Position } from "./Position";
import { cut, most, Selection } from "./Selection";
import { StartDialog } from "./StartDialog";
import { StatusTabs } from "./StatusTabs";
import { Views } from "./Views";
import { text } from "./words";
import "./executions.css";

/** Which runs, in which state? */
export default function Executions() {
  const w = useWords();
  const t = usePageWords(text);
  const locale = useLocale();
  const [search, setSearch] = useSearch(spec);
  const zone = useZoneName();
  const table = useRef<TableControl>(null);
  const [selected, setSelected] = useState<ReadonlyMap<string, string>>(new Map());
  const [range, setRange] = useState<readonly [number, number]>([0, 0]);
  const asked = useMemo(() => query(search), [search]);
  const every = useChanges(search.graphId);
  const list = useListed(asked, every);
  const { onRange } = list;
  const count = list.count ?? 0;
  const filtered = Object.keys(asked).length > 0;

  // The URL's row is where the list begins; afterwards the URL follows the list when it rests.
  const wanted = useRef(search.row);
  useEffect(() => {
    if (count === 0 || wanted.current === 0) return;
    table.current?.scrollTo(Math.min(count, wanted.current) - 1);
    wanted.current = 0;
  }, [count]);
  // Other filters are another list, which begins at its top.
  const key = JSON.stringify(asked);
  const listed = useRef(key);
  useEffect(() => {
    if (listed.current !== key) table.current?.scrollTo(0);
    listed.current = key;
  }, [key]);
  const top = range[0];
  useEffect(() => {
    if (wanted.current !== 0) return;
    const timer = setTimeout(() => setSearch({ row: top === 0 ? 0 : top + 1 }), 400);
    return () => clearTimeout(timer);
  }, [top, setSearch]);

  const change = (patch: Partial<Search>) => {
    setSearch({ ...patch, row: 0 });
    setSelected(new Map());
  };
  const ranged = useCallback(
    (first: number, last: number) => {
      setRange((now) => (now[0] === first && now[1] === last ? now : [first, last]));
      onRange(first, last);
    },
    [onRange],
  );
  const select = (rows: readonly Execution[]) =>
    setSelected(new Map(rows.slice(0, most).map((e) => [e.executionId, e.status])));
  const shown = () => {
    const rows: Execution[] = [];
    for (let i = range[0]; i <= range[1]; i++) {
      const e = list.row(i);
      if (e) rows.push(e);
    }
    return rows;
  };
  const selectKeys = (keys: ReadonlySet<string>) => {
    const known = new Map(shown().map((e) => [e.executionId, e.status]));
    const kept = cut([...keys], t.tooMany(most.toLocaleString(locale)));
    setSelected((now) => new Map(kept.map((k) => [k, known.get(k) ?? now.get(k) ?? "ACTIVE"])));
  };
  const showFresh = () => {
    list.showFresh();
    table.current?.scrollTo(0);
  };
  const open = () => setSearch({ start: search.graphId === "" ? "*" : search.graphId });
  usePageKey("n", open, t.start);

  return (
    <Page
      title={w.nav.executions}
      subtitle={
        list.count === undefined ? t.loading : t.total(list.count.toLocaleString(locale), list.count === 1)
      }
      actions={
        <>
          <Views
            search={location.search}
            onOpen={(s) => {
              navigate(location.pathname + s);
              setSelected(new Map());
            }}
          />
          <CopyAs
            method="GET"
            path={`executions${requestSearch(asked)}`}
            cli={`renga execution list${flags(asked)}`}
          />
          <Button kind="primary" onClick={open}>
            {t.start}
          </Button>
        </>
      }
    >
      <StatusTabs
        every={every}
        graphId={search.graphId}
        value={search.status}
        onChange={(status) => change({ status })}
      />
      <Histogram
        graphId={search.graphId}
        status={search.status}
        span={search.span}
        onSpan={(span) => setSearch({ span })}
        createdFrom={search.createdFrom}
        createdTo={search.createdTo}
        onRange={(createdFrom, createdTo) => change({ createdFrom, createdTo })}
      />
      {list.error && <ErrorBox error={list.error} onRetry={list.retry} />}
      <div className="list-bar">
        <Selection
          query={asked}
          total={count}
          selected={new Set(selected.keys())}
          known={selected}
          shown={shown}
          onSelect={select}
          onClear={() => setSelected(new Map())}
        />
        <Filters search={search} onChange={change} />
        <Position range={range} count={count} onGo={(i) => table.current?.scrollTo(i)} />
      </div>
      <div className={list.old ? "list old" : "list"} aria-busy={list.old}>
        <div className="fresh" role="status">
          {list.fresh > 0 && (
            <button type="button" onClick={showFresh}>
              ↑ {t.fresh(list.fresh.toLocaleString(locale), list.fresh === 1)}
            </button>
          )}
        </div>
        <Table
          label={w.nav.executions}
          control={table}
          columns={columns(t, {
            every: every * 2,
            moving: search.status.length === 0 || search.status.includes("ACTIVE"),
            zone,
            onGraph: (graphId) => change({ graphId }),
          })}
          count={count}
          row={list.row}
          rowKey={(e) => e.executionId}
          onOpen={(e) => go({ to: "execution", params: { id: e.executionId } })}
          onRange={ranged}
          selected={new Set(selected.keys())}
          onSelect={selectKeys}
          height="max(280px, calc(100dvh - 396px))"
          empty={
            list.count === undefined ? (
              <span aria-hidden> </span>
            ) : filtered ? (
              <Empty
                title={t.emptyTitle}
                action={<Button onClick={() => change(noFilters)}>{t.clear}</Button>}
              >
                {t.empty}
              </Empty>
            ) : (
              <Empty
                title={t.noneTitle}
                command="renga execution create order --start"
                action={
                  <Button kind="primary" onClick={open}>
                    {t.start}
                  </Button>
                }
              >
                {t.none}
              </Empty>
            )
          }
        />
      </div>
      {search.start !== "" && <StartDialog graphId={search.start} onClose={() => setSearch({ start: "" })} />}
    </Page>
  );
}
