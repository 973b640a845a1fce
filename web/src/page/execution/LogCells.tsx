import { Icon, showTime, stateColour, stateIcon } from "../../kit";
import { usePrefs } from "../../prefs";
import { usePageWords } from "../../words";
import { actorName, nodeOf, type LogRow } from "./logRows";
import type { LogEvent } from "./logStore";
import { stateOf, summary } from "./logSummary";
import { text } from "./logWords";
import { useRefusal } from "./useRefusal";

/** The cells of an event. */
export function EventCells({ event }: { event: LogEvent }) {
  const t = usePageWords(text);
  const { zone } = usePrefs();
  const time = (at: string, ms = false) => showTime(at, zone, { ms, timeOnly: true, bare: true });
  const state = stateOf(event.type);
  return (
    <>
      <span role="cell" className="num muted">
        {event.seq}
      </span>
      <span role="cell" className="log-time muted">
        {time(event.occurredAt, true)}
      </span>
      <span role="cell" className="log-type">
        <span className="log-mark" aria-hidden style={{ color: stateColour(state) }}>
          <Icon name={stateIcon(state)} size={12} bold />
        </span>
        {event.type}
      </span>
      <span role="cell" className="log-node">
        {nodeOf(event) ?? ""}
      </span>
      <span role="cell" className="log-what muted">
        {summary(event, t, time)}
      </span>
    </>
  );
}

/** The one cell of a command: the heading of its events, or why it was refused. */
export function CommandCells({ row }: { row: Exclude<LogRow, { kind: "event" }> }) {
  const t = usePageWords(text);
  const { zone } = usePrefs();
  const refusal = useRefusal();
  const c = row.command;
  const refused = row.kind === "refused" ? row.refused : undefined;
  const name = c.nodeId === undefined ? c.command : t.commandOf(c.command, c.nodeId);
  return (
    <span role="cell" className="log-command">
      {row.kind === "refused" && (
        <span className="log-refused-mark">
          <span aria-hidden>✕</span> {t.refused}
        </span>
      )}
      <strong>{name}</strong>
      {refused && <span>{refusal(refused)}</span>}
      {row.kind === "command" && c.firstSeq === undefined && <span className="muted">{t.noEvents}</span>}
      <span className="muted">{[actorName(c.actor), c.workerId].filter(Boolean).join(" · ")}</span>
      <span className="log-command-time muted">{showTime(c.decidedAt, zone, { ms: true })}</span>
    </span>
  );
}
