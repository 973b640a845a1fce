import { useRead } from "../../api";
import { whyRefused, type Refused } from "../../flow/refused";
import { ErrorBox, Icon, Loading, Time } from "../../kit";
import { Link } from "../../router";
import { useLocale, usePageWords, useWords } from "../../words";
import { useExecutionContext } from "./context";
import { useRefusal } from "./useRefusal";
import { text } from "./whyWords";

const size = 100;

/** The refusals of guards: a sentence each, what the guard saw, and the event that made it so. */
export function Refusals() {
  const { id, now } = useExecutionContext();
  const t = usePageWords(text);
  const w = useWords();
  const locale = useLocale();
  const path = { executionId: id };
  const first = useRead(
    "/executions/{executionId}/commands",
    { path, query: { accepted: false, page_size: size } },
    { keep: true },
  );
  const pages = Math.ceil((first.data?.total ?? 0) / size);
  const last = useRead(
    "/executions/{executionId}/commands",
    { path, query: { accepted: false, page_size: size, page: pages } },
    { enabled: pages > 1, keep: true },
  );
  if (first.error) return <ErrorBox error={first.error} onRetry={() => void first.refetch()} />;
  if (!first.data) return <Loading label={w.page.loading} lines={3} />;
  const late = now.lateResults ?? [];
  const items = (pages > 1 ? last.data : first.data)?.items ?? [];
  const all = items.map((d) => whyRefused(d.error, d, late)).filter((r) => r !== undefined);
  if (first.data.total === 0) {
    return (
      <p className="muted">
        {t.noRefusals} {t.noRefusalsHint}
      </p>
    );
  }
  return (
    <>
      <ul className="refusals">
        {all.reverse().map((r, i) => (
          <One key={r.number ?? i} refused={r} />
        ))}
      </ul>
      {pages > 1 && (
        <p className="muted">{t.moreRefused((first.data.total - items.length).toLocaleString(locale))}</p>
      )}
    </>
  );
}

function One({ refused: r }: { refused: Refused }) {
  const { select, setAt } = useExecutionContext();
  const t = usePageWords(text);
  const locale = useLocale();
  const refusal = useRefusal();
  const said = refusal(r);
  return (
    <li data-guard={r.guard}>
      <p>
        <span className="refused-mark">
          <Icon name="close" size={12} bold />
        </span>{" "}
        <strong>{r.nodeId === undefined ? r.command : t.commandOf(r.command, r.nodeId)}</strong>{" "}
        {r.workerId && <span className="muted">· {r.workerId} </span>}
        <span className="muted">
          · <Time at={r.at} /> · <code>{r.guard}</code>
        </span>
      </p>
      <p>
        {said}{" "}
        {r.cause && (
          <>
            <span className="muted">{t.because}</span>{" "}
            <button type="button" className="link" onClick={() => setAt(r.cause?.seq)}>
              {t.sawEvent(r.cause.seq.toLocaleString(locale))}
            </button>{" "}
            <code>{r.cause.type}</code>.{" "}
          </>
        )}
        {r.holder && (
          <Link to="execution" params={{ id: r.holder }}>
            <code>{r.holder.slice(-8)}</code>
          </Link>
        )}{" "}
        <span className="muted">{t.remedy[r.remedy]}</span>
      </p>
      {r.lateResultKept && (
        <p className="late-kept">
          <Icon name="diamond" size={12} bold /> {t.kept}{" "}
          {r.nodeId !== undefined && (
            <button type="button" className="link" onClick={() => select(r.nodeId)}>
              {t.showNode}
            </button>
          )}
        </p>
      )}
    </li>
  );
}
