import { cx } from "../../kit";
import { usePageWords } from "../../words";
import { text } from "./words";

/** What the forms of the bars mean. */
export function Legend({ late, fence }: { late: boolean; fence: boolean }) {
  const t = usePageWords(text);
  const kinds = ["ready", "attempt", "wait", "backoff"] as const;
  return (
    <ul className="tl-legend" aria-label={t.legend}>
      {kinds.map((kind) => (
        <li key={kind}>
          <span className={cx("tl-key", kind)} aria-hidden />
          {t.kinds[kind]}
        </li>
      ))}
      {late && (
        <li>
          <span className="tl-key tl-late" aria-hidden />
          {t.late}
        </li>
      )}
      {fence && (
        <li>
          <span className="tl-key tl-fence" aria-hidden />
          {t.fenceName}
        </li>
      )}
    </ul>
  );
}
