import { useQueryClient } from "@tanstack/react-query";
import { useEffect } from "react";
import { api, data, once, readKey, useAction, useRead, useRefresh, type components } from "../../api";
import { Button, copyText, CopyAs, ErrorBox, Id, Loading, Page, Time, toast } from "../../kit";
import { Link, useParams, useSearch } from "../../router";
import { oneOf } from "../../search";
import { useLocale, usePageWords, useWords } from "../../words";
import { ByGraph } from "./ByGraph";
import { searchOf } from "./filter";
import { Items } from "./Items";
import { Bar, BulkState, moves, type Bulk } from "./State";
import { text } from "./words";
import "./bulks.css";

const spec = { status: oneOf(["", "PENDING", "APPLIED", "ALREADY", "REFUSED", "FAILED"], "") };

/** One bulk: what is in its set, how far it is, and what became of each. */
export default function BulkPage() {
  const { id } = useParams("bulk");
  const w = useWords();
  const t = usePageWords(text);
  const locale = useLocale();
  const [search, setSearch] = useSearch(spec);
  const params = { path: { bulkId: id } };
  const client = useQueryClient();
  const known = client.getQueryData<Bulk>(readKey("/bulks/{bulkId}", params));
  const read = useRead("/bulks/{bulkId}", params, { every: !known || moves(known) ? 800 : 5_000 });
  const refresh = useRefresh();
  const bulk = read.data;
  // When it comes to rest, the last results are read once more.
  const status = bulk?.status;
  useEffect(() => {
    void refresh("/bulks/{bulkId}/items", "/bulks");
  }, [status, refresh]);

  const number = (n: number) => n.toLocaleString(locale);
  const title = bulk ? t.title[bulk.command](number(bulk.total), bulk.total === 1) : t.bulk;
  return (
    <Page
      title={title}
      subtitle={
        <>
          {bulk && <BulkState status={bulk.status} />} <Id id={id} />
        </>
      }
      actions={
        <>
          <Button
            kind="quiet"
            onClick={() => void copyText(location.href).then((ok) => toast(ok ? t.shared : location.href))}
          >
            {t.share}
          </Button>
          <CopyAs method="GET" path={`bulks/${id}`} cli={`renga bulk show ${id}`} />
        </>
      }
    >
      {read.isPending && <Loading label={w.page.loading} />}
      {read.error && <ErrorBox error={read.error} onRetry={() => void read.refetch()} />}
      {bulk && (
        <>
          <Head bulk={bulk} title={title} />
          <Items bulk={bulk} status={search.status} onStatus={(s) => setSearch({ status: s })} />
        </>
      )}
    </Page>
  );
}

function Head({ bulk, title }: { bulk: Bulk; title: string }) {
  const t = usePageWords(text);
  const locale = useLocale();
  const number = (n: number) => n.toLocaleString(locale);
  const left = bulk.status === "RUNNING" || bulk.status === "STOPPED" ? bulk.counts.pending : bulk.total;
  const done = bulk.total - bulk.counts.pending;
  const share = bulk.total === 0 ? 1 : done / bulk.total;
  return (
    <div className="bulk-head">
      <div className="bulk-says">
        <p role="status">{(t.says[bulk.status] ?? (() => ""))(number(left))}</p>
        <Control bulk={bulk} title={title} />
      </div>
      {bulk.status !== "PREVIEW" && bulk.status !== "FREEZING" && (
        <>
          <Bar bulk={bulk} label={t.progress} />
          <p className="muted">
            {number(done)} / {number(bulk.total)} ·{" "}
            {(Math.floor(share * 1000) / 1000).toLocaleString(locale, {
              style: "percent",
              maximumFractionDigits: 1,
            })}
          </p>
        </>
      )}
      <div className="bulk-two">
        <dl className="bulk-facts">
          <Facts bulk={bulk} />
        </dl>
        {bulk.status === "PREVIEW" && !bulk.named && <ByGraph bulk={bulk} />}
      </div>
    </div>
  );
}

function Facts({ bulk }: { bulk: Bulk }) {
  const t = usePageWords(text);
  const filter = Object.entries(searchOf(bulk.filter));
  const who = (a: components["schemas"]["Actor"]) => a.id ?? "";
  return (
    <>
      <dt>{t.selects}</dt>
      <dd>
        {bulk.named === true
          ? t.named
          : filter.length === 0
            ? t.everything
            : filter.map(([name, v]) => (
                <span key={name} className="chip">
                  <span>
                    <span className="muted">{name}</span> {v}
                  </span>
                </span>
              ))}
        {bulk.named !== true && (
          <Link to="executions" search={searchOf(bulk.filter)}>
            {t.openList}
          </Link>
        )}
      </dd>
      {bulk.reason && (
        <>
          <dt>{t.reason}</dt>
          <dd>{bulk.reason}</dd>
        </>
      )}
      <dt>{t.frozenAt}</dt>
      <dd>
        <Time at={bulk.createdAt} age /> <span className="muted">{who(bulk.createdBy)}</span>
      </dd>
      {bulk.startedAt && (
        <>
          <dt>{t.startedBy}</dt>
          <dd>
            <Time at={bulk.startedAt} age />{" "}
            {bulk.startedBy && <span className="muted">{who(bulk.startedBy)}</span>}
          </dd>
        </>
      )}
      {bulk.endedAt && (
        <>
          <dt>{t.ended}</dt>
          <dd>
            <Time at={bulk.endedAt} age />
          </dd>
        </>
      )}
    </>
  );
}

/** Start it, stop it, go on with it. */
function Control({ bulk, title }: { bulk: Bulk; title: string }) {
  const t = usePageWords(text);
  const locale = useLocale();
  const refresh = useRefresh();
  const path = { bulkId: bulk.bulkId };
  const start = useAction(async (key) => {
    await data(api.POST("/bulks/{bulkId}/start", { params: { path, header: once(key) } }));
    await refresh("/bulks/{bulkId}", "/bulks");
  });
  const stop = useAction(async (key) => {
    await data(api.POST("/bulks/{bulkId}/stop", { params: { path, header: once(key) } }));
    await refresh("/bulks/{bulkId}", "/bulks");
  });
  const cancels = bulk.command === "cancel";
  const can = bulk.status === "PREVIEW" || bulk.status === "STOPPED";
  const name = bulk.status === "STOPPED" ? t.goOn(bulk.counts.pending.toLocaleString(locale)) : title;
  return (
    <>
      {can && (
        <Button
          kind={cancels ? "danger" : "primary"}
          scope="executions:write"
          busy={start.busy}
          disabled={bulk.total === 0}
          onClick={() => void start.run()}
        >
          {name}
        </Button>
      )}
      {bulk.status === "RUNNING" && (
        <Button scope="executions:write" busy={stop.busy} title={t.stopHint} onClick={() => void stop.run()}>
          {t.stop}
        </Button>
      )}
      {stop.error && bulk.status === "RUNNING" && <ErrorBox error={stop.error} />}
      {start.error && <ErrorBox error={start.error} />}
    </>
  );
}
