// PURE: executions that failed, grouped by graph and error code.

import type { Answer } from "../../api";

export type Failed = Answer<"/executions">["items"][number];

export interface FailureGroup {
  graphId: string;
  errorCode: string;
  count: number;
  /** When the newest of them ended. */
  last: string;
}

/** Groups of failures, the newest first; what is archived was dealt with. */
export function failureGroups(items: readonly Failed[]): FailureGroup[] {
  const groups = new Map<string, FailureGroup>();
  for (const e of items) {
    if (e.archivedAt !== null) continue;
    const errorCode = e.errorCode ?? "";
    const key = JSON.stringify([e.graphId, errorCode]);
    const last = e.endedAt ?? e.createdAt;
    const g = groups.get(key);
    if (!g) groups.set(key, { graphId: e.graphId, errorCode, count: 1, last });
    else {
      g.count++;
      if (Date.parse(last) > Date.parse(g.last)) g.last = last;
    }
  }
  return [...groups.values()].sort((a, b) => Date.parse(b.last) - Date.parse(a.last));
}
