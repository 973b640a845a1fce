import { useWords } from "../words";
import { cx } from "./cx";

const marks: Record<string, string> = {
  CREATED: "○",
  READY: "◔",
  RUNNING: "▶",
  ACTIVE: "▶",
  WAITING: "⏸",
  SUCCEEDED: "✓",
  COMPLETED: "✓",
  FAILED: "✕",
  CANCELED: "⊘",
};

/** The colour of a state, as in kit/css/tokens.css: `var(--state-failed)`. */
export function stateColour(state: string): string {
  const of: Record<string, string> = { ACTIVE: "running", COMPLETED: "succeeded" };
  return `var(--state-${of[state] ?? (marks[state] ? state.toLowerCase() : "created")})`;
}

export function stateMark(state: string): string {
  return marks[state] ?? "•";
}

/** A state: colour, icon, word and form. FAILED is filled, WAITING outlined and hatched. */
export function StateBadge({ state, note }: { state: string; note?: string | undefined }) {
  const w = useWords();
  return (
    <span className={cx("state", `state-${state.toLowerCase()}`)}>
      <span aria-hidden>{stateMark(state)}</span>
      {w.status[state] ?? state}
      {note !== undefined && <span className="state-note">{note}</span>}
    </span>
  );
}
