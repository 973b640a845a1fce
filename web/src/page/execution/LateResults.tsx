import type { LateResult } from "../../flow/types";
import { Button, copyText, Icon, Json, Time, toast } from "../../kit";
import { usePageWords, useWords } from "../../words";
import { useExecutionContext } from "./context";
import { text } from "./words";

/** What workers reported when it was too late to count. It did happen: somebody may have to act on it. */
export function LateResults({ results }: { results: readonly LateResult[] }) {
  const t = usePageWords(text);
  const w = useWords();
  const { select } = useExecutionContext();
  const copy = async (r: LateResult) => {
    const all = JSON.stringify(r, null, 2);
    toast((await copyText(all)) ? w.do.copied : all);
  };
  return (
    <section className="late" aria-label={t.late}>
      <h2>{t.late}</h2>
      <ul>
        {results.map((r, i) => (
          <li key={i} data-late={r.nodeId}>
            <p>
              <span className="late-mark">
                <Icon name="diamond" size={12} bold />
              </span>{" "}
              <strong>{r.error ? t.lateFailed : t.lateDone(receipt(r.output))}</strong>{" "}
              <button type="button" className="link" onClick={() => select(r.nodeId)}>
                {r.nodeId}
              </button>
              {r.workerId && <span className="muted"> · {r.workerId}</span>}{" "}
              <span className="muted">
                · <Time at={r.receivedAt} />
              </span>{" "}
              <Button kind="quiet" small onClick={() => void copy(r)}>
                {w.do.copy}
              </Button>
            </p>
            {r.output !== undefined && (
              <details>
                <summary>{t.output}</summary>
                <Json value={r.output} label={t.output} />
              </details>
            )}
            {r.error && (
              <p>
                <code>{r.error.code}</code> {r.error.message}
              </p>
            )}
            {r.size !== undefined && <p className="muted">{t.tooLarge(String(r.size))}</p>}
          </li>
        ))}
      </ul>
    </section>
  );
}

/** What names a result: the first of its members that is a plain text or number. */
function receipt(output: unknown): string {
  if (typeof output === "string" || typeof output === "number") return String(output);
  if (typeof output !== "object" || output === null) return "";
  const named = Object.entries(output).find(([, v]) => typeof v === "string" || typeof v === "number");
  return named ? `${named[0]} ${String(named[1])}` : "";
}
