// PURE: what needs a person, from several lists, the oldest first.

import type { Answer } from "../../api";

export type NodeWait = Answer<"/waits">["items"][number];
export type Approval = Answer<"/approvals">["items"][number];
export type DeadLetter = Answer<"/events/dlq">["items"][number];
export type Bulk = Answer<"/bulks">["items"][number] | Answer<"/events/bulks">["items"][number];

export type Need =
  | { kind: "wait"; since: string; wait: NodeWait }
  | { kind: "approval"; since: string; approval: Approval }
  | { kind: "dead"; since: string; oldest: DeadLetter; count: number }
  | { kind: "bulk"; since: string; bulk: Bulk };

export interface Sources {
  waits?: { items: readonly NodeWait[]; total: number } | undefined;
  approvals?: { items: readonly Approval[]; total: number } | undefined;
  /** The dead letters of the last page: the oldest stands last. */
  dead?: { items: readonly DeadLetter[]; total: number } | undefined;
  bulks?: readonly Bulk[] | undefined;
}

/** The graphs of approvals; their waits are decided as approvals. */
export function ofApproval(graphId: string): boolean {
  return graphId.startsWith("approval:");
}

/** All that the sources have, the oldest first, and how many there are; `more` when not all were read. */
export function needsOf(s: Sources): { needs: Need[]; total: number; more: boolean } {
  const assigned = s.approvals?.items ?? [];
  // An approval that waits for the caller is in both lists.
  const waits = (s.waits?.items ?? []).filter((w) => assigned.length === 0 || !ofApproval(w.graphId));
  const needs: Need[] = [
    ...waits.map((wait): Need => ({ kind: "wait", since: wait.since, wait })),
    ...assigned.map((approval): Need => ({ kind: "approval", since: approval.submittedAt, approval })),
    ...(s.bulks ?? [])
      .filter((b) => b.status === "STOPPED")
      .map((bulk): Need => ({ kind: "bulk", since: bulk.startedAt ?? bulk.createdAt, bulk })),
  ];
  const oldest = s.dead?.items.at(-1);
  if (s.dead && oldest) needs.push({ kind: "dead", since: oldest.deadAt, oldest, count: s.dead.total });
  needs.sort((a, b) => Date.parse(a.since) - Date.parse(b.since));
  const unread =
    (s.waits ? s.waits.total - s.waits.items.length : 0) +
    (s.approvals ? s.approvals.total - s.approvals.items.length : 0);
  const ambiguous = unread > 0 && assigned.length > 0;
  return { needs, total: needs.length + (ambiguous ? 0 : unread), more: ambiguous };
}
