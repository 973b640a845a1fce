import type { Change } from "../../flow/diff";
import { cx, StateBadge } from "../../kit";
import { usePageWords, useWords } from "../../words";
import "./changes.css";
import { text } from "./logWords";

const most = 200;

/** Changes of a JSON value, a line each: the path, what was, what is. */
export function Changes({ changes }: { changes: readonly Change[] }) {
  const t = usePageWords(text);
  const w = useWords();
  return (
    <ul className="changes">
      {changes.slice(0, most).map((c, i) => (
        <li key={i} className={cx("change", c.kind)}>
          <span className="change-mark" aria-hidden>
            {c.kind === "added" ? "+" : c.kind === "removed" ? "−" : "±"}
          </span>
          <span className="unseen">{t.changeKinds[c.kind]}</span>
          <code>{c.path.join(".") || "·"}</code>
          <span className="change-values">
            {c.kind !== "added" && (
              <del>
                <ChangeValue path={c.path} value={c.before} />
              </del>
            )}
            {c.kind === "changed" && <span aria-hidden>→</span>}
            {c.kind !== "removed" && (
              <ins>
                <ChangeValue path={c.path} value={c.after} />
              </ins>
            )}
          </span>
        </li>
      ))}
      {changes.length > most && <li className="muted">{w.table.of(String(most), String(changes.length))}</li>}
    </ul>
  );
}

function ChangeValue({ path, value }: { path: Change["path"]; value: unknown }) {
  if (path.at(-1) === "status" && path.length === 1 && typeof value === "string")
    return <StateBadge state={value} />;
  return <code>{JSON.stringify(value)}</code>;
}
