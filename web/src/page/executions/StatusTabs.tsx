import { useRead } from "../../api";
import { cx, Icon, stateColour, stateIcon } from "../../kit";
import { useLocale, usePageWords, useWords } from "../../words";
import { statuses } from "./filters";
import { text } from "./words";

type Status = (typeof statuses)[number];

/** How many there are of each status, of all graphs or of one; each is also the filter for it. */
export function StatusTabs({
  every,
  graphId,
  value,
  onChange,
}: {
  every: number;
  graphId: string;
  value: readonly Status[];
  onChange: (v: Status[]) => void;
}) {
  const t = usePageWords(text);
  const w = useWords();
  const locale = useLocale();
  const counts = useRead(
    "/executions/counts",
    { query: { groupBy: "status", ...(graphId === "" ? {} : { graphId }) } },
    { every, keep: true },
  );
  const of = (s: Status) => counts.data?.items.find((i) => i.status === s)?.count ?? 0;
  const show = (n: number) => (counts.data ? n.toLocaleString(locale) : "–");
  return (
    <div className="status-tabs" role="group" aria-label={graphId === "" ? t.counts : t.countsOf(graphId)}>
      <button type="button" aria-pressed={value.length === 0} onClick={() => onChange([])}>
        <span>{t.all}</span>
        <b className="num">{show(counts.data?.total ?? 0)}</b>
      </button>
      {statuses.map((s) => {
        const on = value.includes(s);
        const toggled = on
          ? value.filter((v) => v !== s)
          : statuses.filter((v) => v === s || value.includes(v));
        return (
          <button
            key={s}
            type="button"
            aria-pressed={on}
            className={cx(`status-${s.toLowerCase()}`)}
            // Plain: this one alone; with Ctrl or Shift: beside the others.
            onClick={(e) =>
              onChange(e.ctrlKey || e.metaKey || e.shiftKey ? toggled : on && value.length === 1 ? [] : [s])
            }
          >
            <span>
              <span aria-hidden style={{ color: stateColour(s) }}>
                <Icon name={stateIcon(s)} />
              </span>{" "}
              {w.status[s] ?? s}
            </span>
            <b className="num">{show(of(s))}</b>
          </button>
        );
      })}
    </div>
  );
}
