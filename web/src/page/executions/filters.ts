import type { components, paths } from "../../api";
import { flag, int, list, oneOf, text as textParam, type Codec, type Values } from "../../search";

// PURE: what the URL of the list holds, and what it means for a list, a bulk and the command line.

export const statuses = ["ACTIVE", "COMPLETED", "FAILED", "CANCELED"] as const;
export const spans = { "1h": 3600, "24h": 86_400, "7d": 7 * 86_400, "30d": 30 * 86_400 } as const;
export type Span = keyof typeof spans;

/** An instant, as the API writes it. */
function instant(): Codec<string> {
  const read = (s: string) => (Number.isNaN(Date.parse(s)) ? undefined : new Date(s).toISOString());
  return { fallback: "", read, write: (v) => v };
}

/** Labels as `name:value`, separated by commas; a comma within a value is escaped. */
export function labels(): Codec<string[]> {
  return {
    fallback: [],
    read: (s) => s.split(",").flatMap((one) => (/^[^:]+:./.test(one) ? [unescape(one)] : [])),
    write: (v) => v.map((one) => one.replaceAll("%", "%25").replaceAll(",", "%2C")).join(","),
  };
}

function unescape(s: string): string {
  return s.replaceAll(/%2C/gi, ",").replaceAll("%25", "%");
}

/** What the URL holds. The filters have the names of the API. */
export const spec = {
  status: list(statuses),
  graphId: textParam(),
  businessKey: textParam(),
  label: labels(),
  correlationId: textParam(),
  waiting: flag(),
  nodeId: textParam(),
  outcome: textParam(),
  errorCode: textParam(),
  createdFrom: instant(),
  createdTo: instant(),
  endedFrom: instant(),
  endedTo: instant(),
  /** How far back the strip of time reaches when no range is chosen. */
  span: oneOf(["1h", "24h", "7d", "30d"], "24h"),
  /** The row at the top. */
  row: int(0),
  /** The dialog that starts one, with this graph; `*` leaves the graph open. */
  start: textParam(),
};

export type Search = Values<typeof spec>;

export const filterNames = [
  "status",
  "graphId",
  "businessKey",
  "label",
  "correlationId",
  "waiting",
  "nodeId",
  "outcome",
  "errorCode",
  "createdFrom",
  "createdTo",
  "endedFrom",
  "endedTo",
] as const;
export type FilterName = (typeof filterNames)[number];

/** The search of a page without any filter, to clear them. */
export const noFilters: Pick<Search, FilterName> = {
  status: [],
  graphId: "",
  businessKey: "",
  label: [],
  correlationId: "",
  waiting: false,
  nodeId: "",
  outcome: "",
  errorCode: "",
  createdFrom: "",
  createdTo: "",
  endedFrom: "",
  endedTo: "",
};

export type Query = Pick<NonNullable<paths["/executions"]["get"]["parameters"]["query"]>, FilterName>;

/** The params of GET /executions. */
export function query(s: Search): Query {
  const one = <K extends string>(name: K, v: string) =>
    v === "" ? {} : ({ [name]: v } as Record<K, string>);
  return {
    ...(s.status.length > 0 ? { status: s.status } : {}),
    ...one("graphId", s.graphId),
    ...one("businessKey", s.businessKey),
    ...(s.label.length > 0 ? { label: s.label } : {}),
    ...one("correlationId", s.correlationId),
    ...(s.waiting ? { waiting: true as const } : {}),
    ...one("nodeId", s.nodeId),
    ...one("outcome", s.outcome),
    ...one("errorCode", s.errorCode),
    ...one("createdFrom", s.createdFrom),
    ...one("createdTo", s.createdTo),
    ...one("endedFrom", s.endedFrom),
    ...one("endedTo", s.endedTo),
  };
}

/** The search part of the same request, to copy it. */
export function requestSearch(q: Query): string {
  const out = new URLSearchParams();
  for (const [name, v] of Object.entries(q)) {
    if (name === "label") for (const l of q.label ?? []) out.append(name, l);
    else out.set(name, String(v));
  }
  const s = out.toString().replaceAll("%2C", ",").replaceAll("%3A", ":");
  return s === "" ? "" : `?${s}`;
}

const flagNames: Partial<Record<FilterName, string>> = { graphId: "graph", nodeId: "node" };

/** The flags of `renga execution list`. */
export function flags(q: Query): string {
  const out: string[] = [];
  const quote = (v: string) => (/^[\w@%+=:,./-]+$/.test(v) ? v : `'${v.replaceAll("'", `'\\''`)}'`);
  for (const [name, v] of Object.entries(q)) {
    const flagName = flagNames[name as FilterName] ?? name.replace(/[A-Z]/g, (c) => `-${c.toLowerCase()}`);
    if (v === true) out.push(` --${flagName}`);
    else if (name === "label")
      for (const l of q.label ?? []) out.push(` --label ${quote(l.replace(":", "="))}`);
    else out.push(` --${flagName} ${quote(String(v))}`);
  }
  return out.join("");
}

export type BulkFilter = components["schemas"]["BulkFilter"];

export type BulkCommand = components["schemas"]["CreateBulk"]["command"];

/**
 * The filter of a bulk that selects what the list shows, of what the command may change: cancel what has not ended,
 * archive what has. Undefined when the list has a filter that nothing of that can pass.
 */
export function bulkFilter(q: Query, command: BulkCommand): BulkFilter | undefined {
  const { label, ...rest } = q;
  const ended = q.outcome ?? q.errorCode ?? q.endedFrom ?? q.endedTo;
  const active = q.waiting ?? q.nodeId;
  if (command === "cancel" ? ended : active) return undefined;
  if (q.status && !q.status.some((s) => (s === "ACTIVE") === (command === "cancel"))) return undefined;
  const named = Object.fromEntries((label ?? []).map((l) => [l.split(":")[0], l.slice(l.indexOf(":") + 1)]));
  return { ...rest, ...(label ? { labels: named } : {}) } as BulkFilter;
}
