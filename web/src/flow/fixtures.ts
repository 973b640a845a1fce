// For tests: logs that the golden scripts of internal/workflow/flow make, and what the server shows of them. Go tests
// hold them fresh; after a change of the scripts or the API write them anew:
//
//	go test ./internal/workflow/flow -run TheConsole -update
//	go test ./internal/httpapi -run TheConsole -update

import { readFileSync } from "node:fs";
import type { ExecutionState, FlowEvent, Graph, GraphNode, NodeAttempts } from "./types";

export interface Fixture {
  script: string;
  graph: Graph;
  events: FlowEvent[];
  /** The events as payload=brief gives them. */
  brief: FlowEvent[];
  /** GET /executions/{id}?at=1, 2, … */
  states: ExecutionState[];
  attempts: NodeAttempts[];
  refused: { seq: number; command: string; nodeId?: string; error: unknown }[];
}

interface Line {
  script: string;
  graph: Graph;
  log: [type: string, after: number, payload: object][];
  refused?: { seq: number; command: string; node?: string }[];
}

interface Step {
  nodeId?: string;
  set?: Record<string, unknown>;
  unset?: string[];
  nodes?: Step[];
}

interface Shown {
  states: Step[];
  brief?: Record<string, FlowEvent>;
  attempts: NodeAttempts[];
  refused?: unknown[];
}

/** The instant that scripts count from. */
export const zero = Date.parse("2026-04-01T09:00:00Z");

/** An instant of the scripts. */
export function at(ms: number): string {
  return new Date(zero + ms).toISOString();
}

export function fixtures(): Fixture[] {
  const shown = lines<Shown>("shown.jsonl");
  return lines<Line>("logs.jsonl").map((line, i) => {
    const of = shown[i] as Shown;
    const events = line.log.map(([type, after, payload], k): FlowEvent => ({
      seq: k + 1,
      type,
      occurredAt: at(after),
      payload,
      executionId: "01000000-0000-7000-8000-000000000000",
      correlationId: "c-1",
    }));
    return {
      script: line.script,
      graph: line.graph,
      events,
      brief: events.map((ev) => of.brief?.[ev.seq] ?? ev),
      states: unfold(of.states),
      attempts: of.attempts,
      refused: (line.refused ?? []).map((r, k) => ({
        seq: r.seq,
        command: r.command,
        ...(r.node === undefined ? {} : { nodeId: r.node }),
        error: of.refused?.[k],
      })),
    };
  });
}

/** The fixtures of one script. */
export function fixturesOf(script: string): Fixture[] {
  return fixtures().filter((f) => f.script === script);
}

function lines<T>(name: string): T[] {
  const text = readFileSync(new URL(`./testdata/${name}`, import.meta.url), "utf8");
  return text
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line) as T);
}

/** The states, from what changed between them. */
function unfold(steps: Step[]): ExecutionState[] {
  let head: Record<string, unknown> = {};
  let nodes = new Map<string, Record<string, unknown>>();
  return steps.map((step, i) => {
    head = change(head, step);
    nodes = new Map(nodes);
    for (const n of step.nodes ?? []) nodes.set(n.nodeId ?? "", change(nodes.get(n.nodeId ?? "") ?? {}, n));
    return { ...head, seq: i + 1, nodes: [...nodes.values()] } as unknown as ExecutionState;
  });
}

function change(of: Record<string, unknown>, step: Step): Record<string, unknown> {
  const next = { ...of, ...step.set };
  for (const name of step.unset ?? []) Reflect.deleteProperty(next, name);
  return next;
}

/** A log as long as one likes: a Fork of so many branches, each of which runs, tries again or waits, and a Join. */
export function wideLog(branches: number): { graph: Graph; events: FlowEvent[] } {
  const events: FlowEvent[] = [];
  const add = (type: string, payload: object) =>
    events.push({ seq: events.length + 1, type, occurredAt: at(events.length * 10), payload });
  const ids = Array.from({ length: branches }, (_, i) => `b${i}`);
  const around: GraphNode[] = [
    { nodeId: "s", type: "Start" },
    { nodeId: "f", type: "Fork" },
    { nodeId: "j", type: "Join" },
    { nodeId: "ok", type: "Success" },
  ];
  const nodes = [...around, ...ids.map((nodeId): GraphNode => ({ nodeId, type: "Task", queue: "q" }))];
  add("EXECUTION_CREATED", { graphId: "wide", graphVersion: 1 });
  for (const n of nodes) add("NODE_CREATED", { nodeId: n.nodeId, nodeType: n.type });
  add("EXECUTION_STARTED", {});
  add("NODE_SUCCEEDED", { nodeId: "s" });
  add("NODE_SUCCEEDED", { nodeId: "f" });
  add("FORK_OPENED", { nodeId: "f", branchIds: ids });
  for (const nodeId of ids) add("NODE_READY", { nodeId, attempt: 1 });
  ids.forEach((nodeId, i) => add("NODE_STARTED", { nodeId, attempt: 1, workerId: `w${i % 7}` }));
  ids.forEach((nodeId, i) => {
    if (i % 10 === 3) {
      add("NODE_FAIL_REPORTED", { nodeId, error: { code: "E" }, attempt: 1 });
      add("NODE_FAILED", { nodeId, error: { code: "E" } });
    } else if (i % 10 !== 7) {
      add("NODE_SUCCEEDED", { nodeId, output: { i } });
    }
  });
  const edges = ids.flatMap((id) => [
    { from: "f", to: id },
    { from: id, to: "j" },
  ]);
  return { graph: { nodes, edges: [{ from: "s", to: "f" }, ...edges, { from: "j", to: "ok" }] }, events };
}
