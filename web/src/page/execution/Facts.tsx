import { Age, Duration, Id, StateBadge, Time } from "../../kit";
import { Link } from "../../router";
import { useLocale, usePageWords, useWords } from "../../words";
import { useExecutionContext } from "./context";
import { text } from "./words";

/** What it is called, and how it is. */
export function Heading() {
  const { execution: e } = useExecutionContext();
  return (
    <span className="exe-heading">
      <span>{e.businessKey ?? e.graphId}</span>
      <StateBadge state={e.status} note={e.outcome ?? e.error?.code} />
    </span>
  );
}

/** What does not change, and when it was: a line that wraps. */
export function Facts() {
  const { execution: e, now, at } = useExecutionContext();
  const locale = useLocale();
  const number = (n: number) => n.toLocaleString(locale);
  const t = usePageWords(text);
  const w = useWords();
  const labels = Object.entries(now.labels ?? {});
  return (
    <dl className="exe-facts">
      <div>
        <dt>{t.id}</dt>
        <dd>
          <Id id={now.executionId} />
        </dd>
      </div>
      <div>
        <dt>{t.graph}</dt>
        <dd>
          <Link to="graph" params={{ id: now.graphId }} search={{ version: String(now.graphVersion) }}>
            {now.graphId} · {t.version(String(now.graphVersion))}
          </Link>
        </dd>
      </div>
      {now.businessKey !== undefined && (
        <div>
          <dt>{t.businessKey}</dt>
          <dd>
            <Link to="executions" search={{ businessKey: now.businessKey }}>
              {now.businessKey}
            </Link>
          </dd>
        </div>
      )}
      {now.correlationId !== undefined && (
        <div>
          <dt>{t.correlation}</dt>
          <dd>
            <Link to="executions" search={{ correlationId: now.correlationId }} title={now.correlationId}>
              {now.correlationId}
            </Link>
          </dd>
        </div>
      )}
      {now.rerunOf !== undefined && (
        <div>
          <dt>{t.rerunOf}</dt>
          <dd>
            <Link to="execution" params={{ id: now.rerunOf }} search={{ tab: "graph" }}>
              <code>{now.rerunOf.slice(-8)}</code>
            </Link>
          </dd>
        </div>
      )}
      <div>
        <dt>{t.created}</dt>
        <dd>
          <Time at={now.createdAt} age={!e.endedAt} />
        </dd>
      </div>
      {e.startedAt !== undefined && (
        <div>
          <dt>{e.endedAt ? t.took : t.runs}</dt>
          <dd>
            <Duration from={e.startedAt} to={e.endedAt} />
          </dd>
        </div>
      )}
      {e.endedAt !== undefined && (
        <div>
          <dt>{t.ended}</dt>
          <dd>
            <Age at={e.endedAt} />
          </dd>
        </div>
      )}
      {e.archivedAt !== undefined && (
        <div>
          <dt>{t.archived}</dt>
          <dd>
            <Age at={e.archivedAt} />
          </dd>
        </div>
      )}
      {labels.length > 0 && (
        <div>
          <dt>{t.labels}</dt>
          <dd className="exe-labels">
            {labels.map(([k, v]) => (
              <span key={k} className="chip">
                <span>
                  <span className="muted">{k}</span> {v}
                </span>
              </span>
            ))}
          </dd>
        </div>
      )}
      <div>
        <dt>{t.events}</dt>
        <dd className="num" data-seq={now.seq}>
          {at === undefined ? number(now.seq) : w.table.of(number(e.seq), number(now.seq))}
        </dd>
      </div>
    </dl>
  );
}
