import type { CancelPreview } from "../../flow/preview";
import { useLocale, usePageWords } from "../../words";
import { text } from "./words";

const named = 6;

/** What a cancel will do, as sentences with numbers. */
export function Preview({ preview: p }: { preview: CancelPreview }) {
  const t = usePageWords(text);
  const locale = useLocale();
  const n = (count: number) => count.toLocaleString(locale);
  const list = (all: readonly string[]) =>
    all.slice(0, named).join(", ") + (all.length > named ? ` … +${n(all.length - named)}` : "");
  const rows: [string, string][] = [];
  if (p.running.length > 0) {
    rows.push([
      t.willRunning(n(p.running.length)),
      p.workers.length > 0 ? t.told(list(p.workers)) : t.toldNobody,
    ]);
  }
  if (p.waiting.length > 0) rows.push([t.willWaiting(n(p.waiting.length)), list(p.waiting)]);
  if (p.ready.length > 0) rows.push([t.willReady(n(p.ready.length)), list(p.ready)]);
  if (p.retrying.length > 0) rows.push([t.willRetrying(n(p.retrying.length)), list(p.retrying)]);
  if (p.never > 0) rows.push([t.willNever(n(p.never)), ""]);
  if (p.ended > 0) rows.push([t.willEnded(n(p.ended)), ""]);
  return (
    <>
      <ul
        className="preview"
        data-running={p.running.length}
        data-waiting={p.waiting.length}
        data-ready={p.ready.length}
        data-retrying={p.retrying.length}
        data-never={p.never}
        data-ended={p.ended}
      >
        {rows.map(([what, detail]) => (
          <li key={what}>
            <strong>{what}</strong>
            {detail !== "" && <span className="muted"> {detail}</span>}
          </li>
        ))}
      </ul>
      {p.compensation !== undefined && <p>{t.willCleanUp(p.compensation)}</p>}
      <p className="muted">{t.cancelIsFinal}</p>
    </>
  );
}
