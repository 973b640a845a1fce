// The text of a stored graph: YAML as people write it, a line per node and edge, without what is the default anyway.
// The server gives the text the digest of the graph that it was made from.

export interface GraphText {
  nodes: readonly object[];
  edges: readonly object[];
  onCancel?: object | undefined;
}

const longest = 110;
// What people write first; the rest follows in the order of the server.
const first = ["nodeId", "type", "queue", "waitKey", "timeout", "for", "retry", "policy"];
const retryDefaults: Record<string, unknown> = {
  maxAttempts: 1,
  initialInterval: "1s",
  backoff: 2,
  maxInterval: "1h",
};
const durations = new Set(["timeout", "for", "initialInterval", "maxInterval"]);

/** A graph as YAML. */
export function graphYaml(graph: GraphText): string {
  const lines = ["nodes:"];
  for (const node of graph.nodes) lines.push(...item(withoutDefaults(node)));
  lines.push("edges:");
  for (const edge of graph.edges) lines.push(...item(edgeOf(edge)));
  if (graph.onCancel) lines.push(`onCancel: ${flow(graph.onCancel)}`);
  return lines.join("\n") + "\n";
}

/** One node as YAML, for a panel. */
export function nodeYaml(node: object): string {
  return block(withoutDefaults(node), "").join("\n");
}

type Members = [name: string, value: unknown][];

/** The members of a node that say more than the default. */
function withoutDefaults(node: object): Members {
  const place = (name: string) => (first.includes(name) ? first.indexOf(name) : first.length);
  const members = Object.entries(node).sort(([a], [b]) => place(a) - place(b));
  return members.flatMap(([name, value]): Members => {
    if (value === undefined || value === null) return [];
    if (name === "queue" && value === "default") return [];
    if (name === "policy" && value === "ALL_SUCCESS") return [];
    if (name === "retry") {
      const rest = Object.entries(value as object)
        .map(([k, v]): [string, unknown] => [k, durations.has(k) ? duration(v) : v])
        .filter(([k, v]) => retryDefaults[k] !== v);
      return rest.length === 0 ? [] : [[name, Object.fromEntries(rest)]];
    }
    return [[name, durations.has(name) ? duration(value) : value]];
  });
}

function edgeOf(edge: object): Members {
  return Object.entries(edge).filter(([name, v]) => v !== undefined && !(name === "on" && v === "success"));
}

/** 24h0m0s is 24h, and 5m0s is 5m. */
function duration(v: unknown): unknown {
  if (typeof v !== "string") return v;
  return v.replace(/(?<=[hm])0s$/, "").replace(/(?<=h)0m$/, "");
}

/** An element of a list: on one line when it fits, else a line for each member. */
function item(members: Members): string[] {
  const line = `  - ${flow(Object.fromEntries(members))}`;
  if (line.length <= longest) return [line];
  return block(members, "    ").map((l, i) => (i === 0 ? `  - ${l.slice(4)}` : l));
}

function block(members: Members, indent: string): string[] {
  return members.flatMap(([name, value]) => {
    const line = `${indent}${scalar(name)}: ${flow(value)}`;
    if (line.length <= longest || typeof value !== "object" || value === null) return [line];
    const under = Array.isArray(value)
      ? value.map((v) => `${indent}  - ${flow(v)}`)
      : block(Object.entries(value as object), `${indent}  `);
    return [`${indent}${scalar(name)}:`, ...under];
  });
}

function flow(v: unknown): string {
  if (Array.isArray(v)) return `[${v.map(flow).join(", ")}]`;
  if (typeof v === "object" && v !== null) {
    const members = Object.entries(v).map(([k, x]) => `${scalar(k)}: ${flow(x)}`);
    return `{${members.join(", ")}}`;
  }
  return typeof v === "string" ? scalar(v) : JSON.stringify(v);
}

const plain = /^[A-Za-z_./][A-Za-z0-9_./ ()<>=&|!+*'-]*$/;
// What YAML would read as something else than a text.
const words = /^(true|false|yes|no|on|off|null|y|n|[.]inf|[.]nan|~)$/i;
const number = /^[-+.]?\d/;

/** A text without quotes when nobody can misread it. */
function scalar(s: string): string {
  if (s === "on") return s; // the member of an edge, which the server reads as written
  const open = plain.test(s) || /^\d+(ms|s|m|h)(\d+(ms|s|m|h))*$/.test(s);
  if (open && !words.test(s) && !(number.test(s) && !/[a-z]$/.test(s)) && s === s.trim()) return s;
  return JSON.stringify(s);
}
