import type { Bulk } from "./State";

// PURE: what a bulk's filter selects, as a list.

/** The params of the list of what the filter of a bulk selected when its set was frozen, of these statuses. */
export function listOf<S extends string>(b: Pick<Bulk, "filter" | "createdAt">, status: readonly S[]) {
  const { labels, status: own, createdTo, ...rest } = b.filter;
  const label = Object.entries(labels ?? {}).map(([name, v]) => `${name}:${v}`);
  const before = createdTo !== undefined && createdTo < b.createdAt ? createdTo : b.createdAt;
  return {
    ...rest,
    status: status.filter((s) => !own || (own as string[]).includes(s)),
    createdTo: before,
    ...(label.length > 0 ? { label } : {}),
  };
}

/** The search of the page of executions that shows what the filter selects. */
export function searchOf(filter: Bulk["filter"]): Record<string, string> {
  const out: Record<string, string> = {};
  for (const [name, v] of Object.entries(filter)) {
    if (name === "labels") {
      const all = Object.entries(filter.labels ?? {}).map(([n, x]) => `${n}:${x}`);
      if (all.length > 0)
        out.label = all.map((l) => l.replaceAll("%", "%25").replaceAll(",", "%2C")).join(",");
    } else if (v === true) out[name] = "1";
    else out[name] = String(v);
  }
  return out;
}
