import { useRead } from "../../api";
import { useMe } from "../../api/session";
import { ErrorBox, Icon, Sparkline, stateColour, stateIcon, useNow } from "../../kit";
import { Link } from "../../router";
import { useLocale, usePageWords, useWords } from "../../words";
import { text } from "./words";

const statuses = ["ACTIVE", "COMPLETED", "FAILED", "CANCELED"] as const;
const hour = 3_600_000;

/** How many executions there are of each status, and how many were created in each of the last 24 hours. */
export function Numbers({ every }: { every: number }) {
  const w = useWords();
  const t = usePageWords(text);
  const locale = useLocale();
  const me = useMe();
  const can = me.can("executions:read");
  const counts = useRead(
    "/executions/counts",
    { query: { groupBy: "status" } },
    { every, enabled: can, keep: true },
  );
  // The present hour is the last bucket.
  const from = (Math.floor(useNow() / hour) - 23) * hour;
  const histogram = useRead(
    "/executions/histogram",
    {
      query: {
        from: new Date(from).toISOString(),
        to: new Date(from + 24 * hour).toISOString(),
        bucket: "1h",
      },
    },
    { every: 10_000, enabled: can, keep: true },
  );
  if (!can) return <p className="section muted">{w.scope.missing("executions:read")}</p>;
  if (counts.error && !counts.data)
    return <ErrorBox error={counts.error} onRetry={() => void counts.refetch()} />;
  return (
    <nav className="ov-numbers" aria-label={t.numbers}>
      {statuses.map((s) => {
        const of = counts.data?.items.find((i) => i.status === s)?.count ?? 0;
        const hours = histogram.data?.items.map((b) => b.counts[s] ?? 0);
        const day = hours?.reduce((a, b) => a + b, 0) ?? 0;
        return (
          <Link key={s} to="executions" search={{ status: s }} className="section ov-number" data-status={s}>
            <span className="ov-number-name" style={{ color: stateColour(s) }}>
              <Icon name={stateIcon(s)} size={12} bold />
              {w.status[s]}
            </span>
            <b className="ov-number-count">{counts.data ? of.toLocaleString(locale) : "–"}</b>
            <span className="ov-number-day muted small-text">
              {hours ? t.inDay(day.toLocaleString(locale)) : "\u00a0"}
            </span>
            <span className="ov-number-line">
              {hours && (
                <Sparkline
                  values={hours}
                  label={t.perHour(w.status[s] ?? s)}
                  width={112}
                  height={36}
                  colour={stateColour(s)}
                />
              )}
            </span>
          </Link>
        );
      })}
    </nav>
  );
}
