import { diff, type Change } from "../../flow/diff";
import type { LocalNode, LocalState } from "../../flow/apply";

/** What an event changed: of the execution, and of each node. */
export interface StateChange {
  nodeId: string | undefined;
  changes: Change[];
}

/** The difference of two states, node by node. What only this console derives is left out. */
export function stateChanges(before: LocalState, after: LocalState): StateChange[] {
  const out: StateChange[] = [];
  const own = diff(without(before, executionOnly), without(after, executionOnly));
  if (own.length > 0) out.push({ nodeId: undefined, changes: own });
  const old = new Map(before.nodes.map((n) => [n.nodeId, n]));
  for (const node of after.nodes) {
    const known = old.get(node.nodeId);
    if (known === node) continue;
    const changes = diff(known === undefined ? {} : shown(known), shown(node));
    if (changes.length > 0) out.push({ nodeId: node.nodeId, changes });
  }
  return out;
}

const executionOnly = ["nodes", "seq"];
const nodeOnly = ["nodeId", "cause", "leaseSeconds", "gateCounts"];

function shown(n: LocalNode): object {
  return without(n, nodeOnly);
}

function without(value: object, names: readonly string[]): object {
  return Object.fromEntries(Object.entries(value).filter(([name]) => !names.includes(name)));
}
