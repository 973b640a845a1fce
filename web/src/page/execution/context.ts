import { createContext, use } from "react";
import type { Answer } from "../../api";
import type { LocalState } from "../../flow/apply";

export type Execution = Answer<"/executions/{executionId}">;
export type NodeState = Execution["nodes"][number];
export type Graph = Answer<"/graphs/{graphId}">;

/** What every tab of an execution gets. */
export interface ExecutionContext {
  id: string;
  /** The state to show: of now, after event `at`, or what a slider shows while it is dragged. */
  execution: Execution;
  /** The newest state, whatever is shown. */
  now: Execution;
  /** Undefined until it is read. */
  graph: Graph | undefined;
  /** The event after which the state is shown; undefined is now. It is in the URL. */
  at: number | undefined;
  setAt: (seq: number | undefined) => void;
  /** Show a state that is computed here, at once and without the URL: while a slider is dragged. */
  show: (local: LocalState | undefined) => void;
  /** The node whose panel is open. It is in the URL. */
  selected: string | undefined;
  select: (nodeId: string | undefined) => void;
  /** Events, refusals and late results arrive as they happen, also after the end. */
  live: boolean;
  /** How often commands that led to no event came. */
  noted: number;
  /** Read the state again, after a command. */
  refresh: () => Promise<void>;
}

const Context = createContext<ExecutionContext | undefined>(undefined);

export const ExecutionProvider = Context.Provider;

export function useExecutionContext(): ExecutionContext {
  const value = use(Context);
  if (!value) throw new Error("outside of an execution");
  return value;
}
