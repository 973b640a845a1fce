import type { ReactNode } from "react";
import { useRead } from "../../api";
import { useMe } from "../../api/session";
import { Age, CopyAs, ErrorBox, Icon, Loading, type IconName } from "../../kit";
import { Link } from "../../router";
import { useLocale, usePageWords, useWords } from "../../words";
import { needsOf, ofApproval, type Need } from "./needs";
import { text } from "./words";

const shown = 8;
const icons: Record<Need["kind"], IconName> = {
  wait: "pause",
  approval: "check",
  dead: "warn",
  bulk: "bulks",
};

/**
 * What waits for a person, the oldest first. Each source may be missing without the others. Waits come with the changes
 * of executions, and ask by themselves every so often; nothing says when the others change.
 */
export function Needs({ every: everyWait }: { every: number }) {
  const w = useWords();
  const t = usePageWords(text);
  const locale = useLocale();
  const me = useMe();
  const every = 3_000;
  const reads = {
    "executions:read": me.can("executions:read"),
    "approvals:read": me.can("approvals:read"),
    "events:read": me.can("events:read"),
  };
  const executions = { every, enabled: reads["executions:read"], keep: true };
  const events = { every, enabled: reads["events:read"], keep: true };
  const waits = useRead(
    "/waits",
    { query: { assignee: "me", page_size: 100 } },
    {
      ...executions,
      every: everyWait,
    },
  );
  const bulks = useRead("/bulks", { query: { page_size: 50 } }, executions);
  const approvals = useRead(
    "/approvals",
    { query: { assigned: true, page_size: 100 } },
    { every, enabled: reads["approvals:read"], keep: true },
  );
  const newest = useRead("/events/dlq", { query: { page_size: 10 } }, events);
  // They come newest first: the oldest stands on the last page.
  const last = Math.max(1, Math.ceil((newest.data?.total ?? 0) / 10));
  const oldest = useRead(
    "/events/dlq",
    { query: { page_size: 10, page: last } },
    { ...events, enabled: events.enabled && last > 1 },
  );
  const eventBulks = useRead("/events/bulks", { query: { page_size: 50 } }, events);

  const dead = last > 1 && oldest.data?.items.length ? oldest.data : newest.data;
  const { needs, total, more } = needsOf({
    waits: waits.data,
    approvals: approvals.data,
    dead: dead && newest.data ? { items: dead.items, total: newest.data.total } : undefined,
    bulks: [...(bulks.data?.items ?? []), ...(eventBulks.data?.items ?? [])],
  });
  const all = [waits, bulks, approvals, newest, eventBulks];
  const failed = all.find((q) => q.error && q.data === undefined);
  const pending = all.some((q) => q.isLoading);
  const missing = Object.entries(reads).flatMap(([scope, can]) => (can ? [] : [scope]));
  return (
    <section className="section ov-needs" aria-label={t.needs}>
      <header>
        <h2>{t.needs}</h2>
        {needs.length > 0 && (
          <span className="muted small-text" data-total={total}>
            {(more ? t.atLeast : t.needsCount)(total.toLocaleString(locale))}
          </span>
        )}
      </header>
      {needs.length === 0 && pending && !failed && <Loading label={w.page.loading} lines={6} />}
      {failed?.error && <ErrorBox error={failed.error} onRetry={() => void failed.refetch()} />}
      {needs.length === 0 && !pending && !failed && (
        <p className="ov-nothing">
          {t.nothing}
          <span className="muted">{t.nothingHint}</span>
        </p>
      )}
      <ol className="ov-rows">
        {needs.slice(0, shown).map((n) => (
          <Row key={keyOf(n)} need={n} />
        ))}
      </ol>
      {missing.length > 0 && (
        <p className="muted small-text">
          {t.missing} {missing.map((s) => w.scope.missing(s)).join(" ")}
        </p>
      )}
      {needs.length > 0 && (
        <footer>
          <Link to="waiting">{t.allWaits}</Link>
        </footer>
      )}
    </section>
  );
}

function keyOf(n: Need): string {
  if (n.kind === "wait") return `${n.wait.executionId} ${n.wait.nodeId}`;
  if (n.kind === "approval") return n.approval.id;
  return n.kind === "bulk" ? n.bulk.bulkId : "dead";
}

function Row({ need }: { need: Need }) {
  const t = usePageWords(text);
  const kind = need.kind === "wait" && ofApproval(need.wait.graphId) ? "approval" : need.kind;
  const { title, note } = useSaid(need);
  return (
    <li data-need={need.kind} data-since={need.since}>
      <span className={`ov-kind ov-kind-${kind}`}>
        <Icon name={icons[kind]} size={12} bold />
        {t.kind[kind]}
      </span>
      <span className="ov-what">
        {title}
        <span className="muted small-text">{note}</span>
      </span>
      <Age at={need.since} />
    </li>
  );
}

function useSaid(need: Need): { title: ReactNode; note: ReactNode } {
  const t = usePageWords(text);
  const locale = useLocale();
  const number = (n: number) => n.toLocaleString(locale);
  switch (need.kind) {
    case "wait": {
      const { wait } = need;
      return {
        title: (
          <Link to="waiting" search={{ at: `${wait.executionId}:${wait.nodeId}` }}>
            {promptTitle(wait.prompt) ?? wait.nodeId}
          </Link>
        ),
        note: `${wait.graphId} · ${wait.businessKey ?? wait.executionId.slice(-8)}`,
      };
    }
    case "approval": {
      const a = need.approval;
      return {
        title: (
          <>
            {a.processName}{" "}
            <CopyAs method="GET" path={`approvals/${a.id}`} cli={`renga approval show ${a.id}`} />
          </>
        ),
        note: `${a.object} · ${t.stage(a.stageNames[a.currentStageIndex] ?? "")}`,
      };
    }
    case "dead":
      return {
        title: (
          <>
            {t.deadTitle(number(need.count))} <CopyAs method="GET" path="events/dlq" cli="renga dlq list" />
          </>
        ),
        note: t.deadNote(need.oldest.consumer, need.oldest.reasonCode),
      };
    case "bulk": {
      const b = need.bulk;
      const name = `${t.bulkTitle[b.command] ?? b.command} · ${b.reason ?? b.bulkId.slice(-8)}`;
      return {
        title: b.command.startsWith("dlq.") ? (
          <>
            {name}{" "}
            <CopyAs method="GET" path={`events/bulks/${b.bulkId}`} cli={`renga dlq bulk show ${b.bulkId}`} />
          </>
        ) : (
          <Link to="bulk" params={{ id: b.bulkId }}>
            {name}
          </Link>
        ),
        note: t.bulkNote(number(b.counts.pending), number(b.total)),
      };
    }
  }
}

function promptTitle(prompt: unknown): string | undefined {
  if (typeof prompt === "string") return prompt;
  if (typeof prompt !== "object" || prompt === null) return undefined;
  const { title } = prompt as { title?: unknown };
  return typeof title === "string" && title !== "" ? title : undefined;
}
