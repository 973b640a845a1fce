import { createContext, use } from "react";
import type { Answer } from "../../api";
import type { Graph } from "../../flow/types";
import { int, oneOf, text } from "../../search";
import { tabNames } from "./tabs";
import type { Running } from "./useRunning";

export type Stored = Answer<"/graphs/{graphId}">;

export interface Draft {
  text: string;
  /** As far as it can be read. */
  graph: Graph | undefined;
  /** The newest version when the edit began; 0 when there was none. */
  from: number;
  /** When it was changed last. */
  at: string;
}

export interface GraphContextValue {
  id: string;
  /** The version that the URL names, or the newest. */
  graph: Stored | undefined;
  newest: Stored | undefined;
  running: Running;
  /** The text in the editor, once somebody has changed it. */
  draft: Draft | undefined;
  setDraft: (draft: Draft | undefined) => void;
}

/** What the URL of a graph says. */
export const spec = {
  tab: oneOf(tabNames, "graph"),
  /** 0 is the newest. */
  version: int(0),
  /** The version that it is compared with; 0 is the one before. */
  with: int(0),
  view: oneOf(["picture", "text"], "picture"),
  node: text(),
  example: text(),
  /** Outcomes of a simulation, and after which event it is shown; 0 is the end. */
  outcomes: text(),
  input: text(),
  at: int(0),
};

const GraphContext = createContext<GraphContextValue | undefined>(undefined);

export const GraphProvider = GraphContext;

export function useGraphContext(): GraphContextValue {
  const value = use(GraphContext);
  if (!value) throw new Error("useGraphContext outside of the page of a graph");
  return value;
}
