import { useWords } from "../words";
import { cx } from "./cx";
import { Icon, type IconName } from "./Icon";

const icons: Record<string, IconName> = {
  CREATED: "ring",
  READY: "quarter",
  RUNNING: "play",
  ACTIVE: "play",
  WAITING: "pause",
  SUCCEEDED: "check",
  COMPLETED: "check",
  FAILED: "close",
  CANCELED: "ban",
};

// States of executions look like those of nodes.
const like: Record<string, string> = { ACTIVE: "RUNNING", COMPLETED: "SUCCEEDED" };

function known(state: string): string {
  const s = like[state] ?? state;
  return icons[s] ? s.toLowerCase() : "created";
}

/** The colour of a state, of kit/css/tokens.css: `var(--state-failed)`. */
export function stateColour(state: string): string {
  return `var(--state-${known(state)})`;
}

/** The icon of a state, for `Icon` and `iconPath`. */
export function stateIcon(state: string): IconName {
  return icons[state] ?? "ring";
}

const signs: Partial<Record<IconName, string>> = {
  ring: "○",
  quarter: "◔",
  play: "▶",
  pause: "⏸",
  check: "✓",
  close: "✕",
  ban: "⊘",
};

/** The sign of a state, for plain text; drawings take `stateIcon`, since fonts may lack signs. */
export function stateMark(state: string): string {
  return signs[stateIcon(state)] ?? "○";
}

/** A state: colour, icon, word and form. FAILED is a filled box, WAITING outlined and hatched. */
export function StateBadge({
  state,
  word,
  note,
}: {
  state: string;
  /** In place of the state's own word: what looks like this state, and is called otherwise. */
  word?: string | undefined;
  note?: string | undefined;
}) {
  const w = useWords();
  return (
    <span className={cx("state", `state-${known(state)}`)} title={note}>
      <Icon name={stateIcon(state)} size={12} bold />
      <span className="state-word">{word ?? w.status[state] ?? state}</span>
      {note !== undefined && <span className="state-note">{note}</span>}
    </span>
  );
}
