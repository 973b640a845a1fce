import { Icon } from "../../kit";
import { Link } from "../../router";
import { useLocale, usePageWords } from "../../words";
import { firstCause } from "./cause";
import { useExecutionContext } from "./context";
import { LateResults } from "./LateResults";
import { text } from "./words";

/** What a person must know first: why it failed, where cancel won, what was reported all the same. */
export function Notices({ listening }: { listening: boolean }) {
  const { execution: e, now, select, setAt } = useExecutionContext();
  const t = usePageWords(text);
  const locale = useLocale();
  const cause = firstCause(e);
  const late = now.lateResults ?? [];
  return (
    <>
      {cause && (
        <div className="notice failed" role="status" data-notice="failed">
          <Icon name="close" bold />
          <p>
            {cause.nodeId === undefined ? (
              t.failed
            ) : (
              <>
                {t.failedAt}{" "}
                <button type="button" className="link" onClick={() => select(cause.nodeId)}>
                  {cause.nodeId}
                </button>
                {cause.attempt !== undefined &&
                  cause.attempt > 1 &&
                  ` (${t.attemptN(String(cause.attempt))})`}
              </>
            )}
            {": "}
            {cause.error?.code && <code>{cause.error.code}</code>} {cause.error?.message}
          </p>
        </div>
      )}
      {e.cancel && (
        <div className="notice canceled" role="status" data-notice="cancel">
          <Icon name="flag" bold />
          <p>
            <button
              type="button"
              className="link"
              title={t.fenceShow}
              onClick={() => setAt(e.cancel?.seq === now.seq ? undefined : e.cancel?.seq)}
            >
              {t.fence(e.cancel.seq.toLocaleString(locale))}
            </button>{" "}
            {e.cancel.reason && t.because(e.cancel.reason)}{" "}
            {e.cancel.requestedBy && (
              <span className="muted">
                {t.by} {e.cancel.requestedBy.id ?? e.cancel.requestedBy.kind}
              </span>
            )}{" "}
            {e.cancel.compensationId && (
              <>
                {t.cleansUp}{" "}
                <Link to="execution" params={{ id: e.cancel.compensationId }}>
                  <code>{e.cancel.compensationId.slice(-8)}</code>
                </Link>
              </>
            )}
            {listening && <span className="muted">{t.listening}</span>}
          </p>
        </div>
      )}
      {late.length > 0 && <LateResults results={late} />}
    </>
  );
}
