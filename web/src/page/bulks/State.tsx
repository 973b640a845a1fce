import type { components } from "../../api";
import { StateBadge } from "../../kit";
import { usePageWords } from "../../words";
import { text } from "./words";

export type Bulk = components["schemas"]["Bulk"];
export type BulkItem = components["schemas"]["BulkItem"];

/** Results in the order in which they are drawn and listed, with the state that each looks like. */
export const results = [
  { id: "APPLIED", count: "applied", like: "SUCCEEDED" },
  { id: "ALREADY", count: "already", like: "CANCELED" },
  { id: "REFUSED", count: "refused", like: "WAITING" },
  { id: "FAILED", count: "failed", like: "FAILED" },
  { id: "PENDING", count: "pending", like: "CREATED" },
] as const;

const likes: Record<string, string> = {
  FREEZING: "READY",
  PREVIEW: "CREATED",
  RUNNING: "RUNNING",
  STOPPED: "WAITING",
  DONE: "SUCCEEDED",
  TOO_LARGE: "FAILED",
};

/** It changes by itself. */
export function moves(b: Bulk): boolean {
  return b.status === "FREEZING" || b.status === "RUNNING";
}

export function BulkState({ status }: { status: Bulk["status"] }) {
  const t = usePageWords(text);
  return <StateBadge state={likes[status] ?? "CREATED"} word={t.states[status] ?? status} />;
}

export function ItemState({ status }: { status: BulkItem["status"] }) {
  const t = usePageWords(text);
  const like = results.find((r) => r.id === status)?.like ?? "CREATED";
  return <StateBadge state={like} word={t.items[status] ?? status} />;
}

/** How far a bulk is: one bar, a part for each result. */
export function Bar({ bulk, label }: { bulk: Bulk; label: string }) {
  const t = usePageWords(text);
  const total = Math.max(1, bulk.total);
  const said = results
    .filter((r) => bulk.counts[r.count] > 0)
    .map((r) => `${t.items[r.id]} ${bulk.counts[r.count]}`)
    .join(", ");
  return (
    <div className="bulk-bar" role="img" aria-label={`${label}: ${said}`}>
      {results.map(
        (r) =>
          r.id !== "PENDING" &&
          bulk.counts[r.count] > 0 && (
            <span
              key={r.id}
              className={`bulk-${r.count}`}
              style={{ width: `${(bulk.counts[r.count] / total) * 100}%` }}
            />
          ),
      )}
    </div>
  );
}
