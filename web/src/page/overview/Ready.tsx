import { useRead } from "../../api";
import { Icon } from "../../kit";
import { usePageWords } from "../../words";
import { text } from "./words";

/** Whether the process takes requests, and what it does without. */
export function Ready() {
  const t = usePageWords(text);
  const ready = useRead("/readyz", {}, { every: 5_000 });
  if (ready.error) {
    return (
      <span className="ov-ready bad" role="status" title={t.notReadyHint}>
        <Icon name="warn" size={12} />
        {t.notReady}
      </span>
    );
  }
  if (!ready.data) return null;
  const checks = Object.entries(ready.data.checks);
  const lost = checks.filter(([, state]) => state !== "ok").map(([name]) => name);
  return (
    <span
      className={lost.length > 0 ? "ov-ready bad" : "ov-ready"}
      role="status"
      title={t.readyHint(checks.map(([name, state]) => `${name} ${state}`).join(", "))}
    >
      <Icon name={lost.length > 0 ? "warn" : "check"} size={12} />
      {lost.length > 0 ? t.without(lost.join(", ")) : t.ready}
    </span>
  );
}
