import { yamlLanguage } from "@codemirror/lang-yaml";
import type { Graph, GraphEdge, GraphNode } from "../../flow/types";

// A graph from its text, for the picture beside the editor. Whether it can run is for the server to say: here, what
// cannot be read is left out, so that the picture stays while somebody types.

interface Syntax {
  name: string;
  from: number;
  to: number;
  firstChild: Syntax | null;
  nextSibling: Syntax | null;
}

/** The nodes and edges that a text has so far; undefined when it has none. */
export function readGraph(source: string): Graph | undefined {
  const top = record(/^\s*[[{]/.test(source) ? json(source) : yaml(source));
  const seen = new Set<string>();
  const nodes: GraphNode[] = [];
  for (const v of list(top.nodes)) {
    const n = record(v);
    if (typeof n.nodeId !== "string" || typeof n.type !== "string" || seen.has(n.nodeId)) continue;
    seen.add(n.nodeId);
    nodes.push({ ...n, nodeId: n.nodeId, type: n.type as GraphNode["type"] });
  }
  const edges = list(top.edges).flatMap((v): GraphEdge[] => {
    const { from, to, on, when } = record(v);
    if (typeof from !== "string" || typeof to !== "string" || !seen.has(from) || !seen.has(to)) return [];
    const edge: GraphEdge = { from, to };
    if (on === "failure" || on === "timeout") edge.on = on;
    if (typeof when === "string") edge.when = when;
    return [edge];
  });
  return nodes.length === 0 ? undefined : { nodes, edges };
}

function json(source: string): unknown {
  try {
    return JSON.parse(source);
  } catch {
    return undefined;
  }
}

function yaml(source: string): unknown {
  const anchors = new Map<string, unknown>();
  const text = (n: Syntax) => source.slice(n.from, n.to);
  const children = (n: Syntax) => {
    const out: Syntax[] = [];
    for (let c = n.firstChild; c; c = c.nextSibling) out.push(c);
    return out;
  };
  const inner = (n: Syntax) => children(n).find((c) => /^[A-Z]/.test(c.name) && !skipped.has(c.name));
  const value = (n: Syntax | undefined): unknown => {
    if (!n) return undefined;
    switch (n.name) {
      case "BlockMapping":
      case "FlowMapping":
        return Object.fromEntries(
          children(n)
            .filter((c) => c.name === "Pair")
            .map(pair),
        );
      case "BlockSequence":
      case "FlowSequence":
        return children(n)
          .filter((c) => c.name === "Item")
          .map((c) => value(inner(c)));
      case "Literal":
        return plain(text(n));
      case "QuotedLiteral":
        return quoted(text(n));
      case "BlockLiteral":
        return children(n)
          .filter((c) => c.name === "BlockLiteralContent")
          .map((c) => text(c).trim())
          .join("\n");
      case "Anchored": {
        const v = value(inner(n));
        const name = children(n).find((c) => c.name === "Anchor");
        if (name) anchors.set(text(name).slice(1), v);
        return v;
      }
      case "Alias":
        return anchors.get(text(n).slice(1));
      case "Tagged":
      case "Document":
      case "Stream":
        return value(inner(n));
    }
    return undefined;
  };
  const pair = (p: Syntax): [string, unknown] => {
    const parts = children(p).filter((c) => /^[A-Z]/.test(c.name) && !skipped.has(c.name));
    const key = parts.find((c) => c.name === "Key");
    return [String(key ? value(inner(key)) : ""), value(parts.find((c) => c.name !== "Key"))];
  };
  return value(yamlLanguage.parser.parse(source).topNode as unknown as Syntax);
}

const skipped = new Set(["Comment", "Anchor", "Tag", "BlockLiteralHeader", "DirectiveEnd", "DocEnd", "BOM"]);

function plain(s: string): unknown {
  const t = s.replace(/\s*\n\s*/g, " ").trim();
  if (/^(true|false)$/.test(t)) return t === "true";
  if (/^-?\d+([.]\d+)?$/.test(t)) return Number(t);
  return t === "null" || t === "~" ? null : t;
}

function quoted(s: string): string {
  if (s.startsWith("'")) return s.slice(1, -1).replaceAll("''", "'");
  const v = json(s);
  return typeof v === "string" ? v : s.slice(1, -1);
}

function list(v: unknown): unknown[] {
  return Array.isArray(v) ? v : [];
}

function record(v: unknown): Record<string, unknown> {
  return typeof v === "object" && v !== null && !Array.isArray(v) ? (v as Record<string, unknown>) : {};
}
