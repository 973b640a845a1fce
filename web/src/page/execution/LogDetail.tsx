import { useEffect, useMemo, useRef } from "react";
import { useRead } from "../../api";
import { Button, copyText, Icon, Id, Json, Loading, StateBadge, Time, toast } from "../../kit";
import { useLocale, usePageWords, useWords } from "../../words";
import { Changes } from "./Changes";
import { useExecutionContext } from "./context";
import { stateChanges } from "./logDiff";
import { actorName, nodeOf } from "./logRows";
import { stateOf } from "./logSummary";
import { text } from "./logWords";
import type { LogView } from "./useLog";

interface LogDetailProps {
  seq: number;
  log: LogView;
  onStep: (by: number) => void;
  onSelect: (seq: number) => void;
}

/** One event: who caused it, what it changed, and all that it says. */
export function LogDetail({ seq, log, onStep, onSelect }: LogDetailProps) {
  const { id, setAt, select } = useExecutionContext();
  const t = usePageWords(text);
  const w = useWords();
  const locale = useLocale();
  const brief = log.events[seq - 1]?.seq === seq ? log.events[seq - 1] : undefined;
  // What a brief payload leaves out is read for itself.
  const whole = useRead(
    "/executions/{executionId}/events/{seq}",
    { path: { executionId: id, seq } },
    { enabled: brief?.counts !== undefined },
  );
  const event = whole.data ?? brief;
  const cause = useMemo(
    () => log.events.find((e) => e.seq < seq && e.eventId === event?.causationId),
    [log.events, event, seq],
  );
  const changes = useMemo(() => {
    const replay = log.store?.replay;
    if (!replay || replay.lastSeq < seq) return undefined;
    return stateChanges(replay.stateAt(seq - 1), replay.stateAt(seq));
  }, [log.store, log.events.length, seq]); // eslint-disable-line react-hooks/exhaustive-deps
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    heading.current?.scrollIntoView({ block: "nearest" });
  }, [seq]);
  const copy = async () => {
    const url = new URL(location.href);
    url.searchParams.set("tab", "log");
    url.searchParams.set("at", String(seq));
    toast((await copyText(url.href)) ? t.linkCopied : url.href);
  };
  const node = event && nodeOf(event);
  return (
    <section className="log-detail" aria-label={t.detail(seq.toLocaleString(locale))}>
      <header>
        <h2 ref={heading}>{t.detail(seq.toLocaleString(locale))}</h2>
        <div className="log-detail-actions">
          <Button
            small
            kind="quiet"
            title={`${t.before} (k)`}
            aria-label={t.before}
            onClick={() => onStep(-1)}
          >
            <Icon name="up" />
          </Button>
          <Button small kind="quiet" title={`${t.after} (j)`} aria-label={t.after} onClick={() => onStep(1)}>
            <Icon name="down" />
          </Button>
          <Button small onClick={() => void copy()}>
            {t.copyLink}
          </Button>
          <Button small kind="quiet" aria-label={t.closeDetail} onClick={() => setAt(undefined)}>
            <Icon name="close" />
          </Button>
        </div>
      </header>
      {!event ? (
        <Loading label={w.page.loading} lines={5} />
      ) : (
        <>
          <p className="log-detail-name">
            <StateBadge state={stateOf(event.type)} /> <code>{event.type}</code>{" "}
            {node !== undefined && (
              <button type="button" className="link" onClick={() => select(node)}>
                {node}
              </button>
            )}
          </p>
          <dl className="rows">
            <div>
              <dt>{t.at}</dt>
              <dd>
                <Time at={event.occurredAt} ms />
              </dd>
            </div>
            <div>
              <dt>{t.by}</dt>
              <dd>{actorName(event.actor)}</dd>
            </div>
            {cause && (
              <div>
                <dt>{t.cause}</dt>
                <dd>
                  <button type="button" className="link" onClick={() => onSelect(cause.seq)}>
                    {t.showCause(cause.seq.toLocaleString(locale))}
                  </button>{" "}
                  <code>{cause.type}</code>
                </dd>
              </div>
            )}
            {event.correlationId && (
              <div>
                <dt>{t.correlation}</dt>
                <dd>
                  <Id id={event.correlationId} />
                </dd>
              </div>
            )}
          </dl>
          <h3>{t.changed}</h3>
          {changes === undefined ? (
            <Loading label={w.page.loading} lines={2} />
          ) : changes.length === 0 ? (
            <p className="muted">{t.changedNothing}</p>
          ) : (
            changes.map((c) => (
              <div key={c.nodeId ?? ""} className="log-change">
                <p>{c.nodeId ?? t.ofExecution}</p>
                <Changes changes={c.changes} />
              </div>
            ))
          )}
          <h3>{t.payload}</h3>
          <Json value={event.payload} label={t.payload} />
        </>
      )}
    </section>
  );
}
