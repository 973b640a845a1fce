import { whyRefused, type Refused } from "../../flow/refused";
import type { LateResult } from "../../flow/types";
import type { LogCommand, LogEvent } from "./logStore";

/** A line of the log: a command as the heading of its events, an event, or a command that was refused. */
export type LogRow =
  | { kind: "command"; key: string; command: LogCommand }
  | { kind: "event"; key: string; event: LogEvent }
  | { kind: "refused"; key: string; command: LogCommand; refused: Refused | undefined };

export interface LogFilter {
  types: readonly string[];
  node: string;
  /** `system`, or `user:ID`. */
  actor: string;
  correlation: string;
}

/** Stands for refusals among the types of events. */
export const refusedType = "REFUSED";

/** The lines of a log: commands in their order, each over its events; what the filter leaves out has no heading. */
export function logRows(
  events: readonly LogEvent[],
  commands: readonly LogCommand[],
  filter: LogFilter,
  late: readonly LateResult[] = [],
): LogRow[] {
  const rows: LogRow[] = [];
  const filtered = isFiltered(filter);
  let next = 0;
  const take = (upTo: number) => {
    for (; next < events.length; next++) {
      const event = events[next] as LogEvent;
      if (event.seq > upTo) return;
      if (fits(event, filter)) rows.push({ kind: "event", key: `e${event.seq}`, event });
    }
  };
  for (const command of commands) {
    if (!command.accepted) {
      if (!fitsRefused(command, filter)) continue;
      const refused = whyRefused(command.error, command, late);
      rows.push({ kind: "refused", key: `c${command.number}`, command, refused });
      continue;
    }
    if (command.firstSeq !== undefined) take(command.firstSeq - 1);
    const at = rows.length;
    if (command.lastSeq !== undefined) {
      if ((events.at(-1)?.seq ?? 0) < command.lastSeq) break; // its events are on the way
      take(command.lastSeq);
    }
    if (filtered && rows.length === at) continue;
    rows.splice(at, 0, { kind: "command", key: `c${command.number}`, command });
  }
  take(Infinity);
  return rows;
}

export function isFiltered(f: LogFilter): boolean {
  return f.types.length > 0 || f.node !== "" || f.actor !== "" || f.correlation !== "";
}

function fits(e: LogEvent, f: LogFilter): boolean {
  return (
    (f.types.length === 0 || f.types.includes(e.type)) &&
    (f.node === "" || nodeOf(e) === f.node) &&
    (f.actor === "" || actorName(e.actor) === f.actor) &&
    (f.correlation === "" || e.correlationId === f.correlation)
  );
}

function fitsRefused(c: LogCommand, f: LogFilter): boolean {
  return (
    (f.types.length === 0 || f.types.includes(refusedType)) &&
    (f.node === "" || c.nodeId === f.node) &&
    (f.actor === "" || actorName(c.actor) === f.actor) &&
    (f.correlation === "" || c.correlationId === f.correlation)
  );
}

/** The node of an event, if it has one. */
export function nodeOf(e: { payload: object }): string | undefined {
  const { nodeId } = e.payload as { nodeId?: unknown };
  return typeof nodeId === "string" && nodeId !== "" ? nodeId : undefined;
}

export function actorName(a: { kind: string; id?: string | undefined }): string {
  return a.id === undefined || a.id === "" ? a.kind : `${a.kind}:${a.id}`;
}

/** What the filter may choose from: what there is in the log. */
export function choices(events: readonly LogEvent[], commands: readonly LogCommand[]) {
  const types = new Set<string>();
  const nodes = new Set<string>();
  const actors = new Set<string>();
  const correlations = new Set<string>();
  for (const e of events) {
    types.add(e.type);
    const node = nodeOf(e);
    if (node !== undefined) nodes.add(node);
    actors.add(actorName(e.actor));
    if (e.correlationId) correlations.add(e.correlationId);
  }
  for (const c of commands) {
    if (c.accepted) continue;
    types.add(refusedType);
    actors.add(actorName(c.actor));
    if (c.correlationId) correlations.add(c.correlationId);
  }
  return { types: [...types], nodes: [...nodes], actors: [...actors], correlations: [...correlations] };
}
