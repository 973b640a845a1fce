import type { Bar, Row } from "../../flow/bars";
import { showDuration, StateBadge, Time } from "../../kit";
import { usePrefs } from "../../prefs";
import { usePageWords } from "../../words";
import { text } from "./words";

export interface Hovered {
  row: Row;
  bar: Bar;
  x: number;
  y: number;
}

/** What a bar is: how long it took, when, who had it, and how it ended. */
export function Tip({ at, wide }: { at: Hovered; wide: number }) {
  const t = usePageWords(text);
  const { language } = usePrefs();
  const { bar, row } = at;
  const left = at.x > wide - 280;
  return (
    <div
      className="tl-tip"
      role="tooltip"
      style={{ left: `${at.x}px`, top: `${at.y + 14}px`, transform: left ? "translateX(-100%)" : undefined }}
    >
      <strong>{row.nodeId}</strong>
      <span>
        {t.kinds[bar.kind]} · {t.attemptN(String(bar.attempt))} ·{" "}
        <b>{showDuration(bar.to - bar.from, language)}</b>
        {bar.open && ` · ${t.goesOn}`}
      </span>
      {bar.kind === "attempt" && bar.outcome && <StateBadge state={bar.outcome} note={bar.errorCode} />}
      {(bar.workerId ?? bar.waitKey) && <code>{bar.kind === "wait" ? bar.waitKey : bar.workerId}</code>}
      <span className="muted">
        <Time at={new Date(bar.from).toISOString()} ms timeOnly bare /> –{" "}
        <Time at={new Date(bar.to).toISOString()} ms timeOnly />
      </span>
    </div>
  );
}
