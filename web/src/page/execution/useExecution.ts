import { useCallback, useEffect, useRef, useState } from "react";
import { useRead, useRefresh } from "../../api";
import { apply, type Draft } from "../../flow/apply";
import type { ExecutionState, FlowEvent } from "../../flow/types";
import { useStream, type Frame } from "../../live";
import type { Execution } from "./context";

/** Commands that led to no event may come in hundreds: so often are they read again, in milliseconds. */
const commandsEvery = 250;

export interface Live {
  now: Execution | undefined;
  error: Error | undefined;
  /** Events, refusals and late results arrive as they happen, also after the end. */
  live: boolean;
  /** How often commands that led to no event came: whoever shows the log reads on. */
  noted: number;
  refresh: () => Promise<void>;
}

/** The newest state of an execution: read once, and carried on by the events of its stream. */
export function useExecution(id: string): Live {
  const [carried, setCarried] = useState<Execution>();
  const [noted, setNoted] = useState(0);
  const read = useRead("/executions/{executionId}", { path: { executionId: id } });
  const now = newer(carried, read.data);
  const { refetch } = read;
  const refresh = useCallback(async () => void (await refetch()), [refetch]);

  const readAgain = useRefresh();
  const waiting = useRef<ReturnType<typeof setTimeout>>(undefined);
  useEffect(() => () => clearTimeout(waiting.current), []);
  const noteCommands = useCallback(() => {
    waiting.current ??= setTimeout(() => {
      waiting.current = undefined;
      setNoted((n) => n + 1);
      void refetch();
      void readAgain("/executions/{executionId}/commands");
    }, commandsEvery);
  }, [refetch, readAgain]);

  const live = useStream({
    path: now === undefined ? undefined : `executions/${id}/stream?commands=true`,
    after: now === undefined ? undefined : String(now.seq),
    onFrames: (frames) => {
      const events = eventsOf(frames);
      const from = newer(carried, read.data);
      if (!from) return;
      const next = advance(from, events);
      if (next) setCarried(next);
      // A gap, or the end: the server has the rest, such as a result that is held by reference.
      if (!next || frames.some((f) => ends.has(f.event))) void refetch();
      if (frames.some((f) => f.event === "command")) noteCommands();
    },
    onPoll: noteCommands,
  });
  return { now, error: read.error ?? undefined, live: live.state?.kind === "live", noted, refresh };
}

const ends = new Set(["EXECUTION_COMPLETED", "EXECUTION_FAILED", "EXECUTION_CANCELED"]);

function newer(a: Execution | undefined, b: Execution | undefined): Execution | undefined {
  if (!a || !b) return a ?? b;
  return a.seq > b.seq ? a : b; // what was read has late results that came since the same event
}

function eventsOf(frames: readonly Frame[]): FlowEvent[] {
  return frames
    .filter((f) => f.id !== "" && f.event !== "command")
    .map((f) => JSON.parse(f.data) as FlowEvent);
}

/** The state after more events; undefined when some between are missing. */
export function advance(from: Execution, events: readonly FlowEvent[]): Execution | undefined {
  const fresh = events.filter((e) => e.seq > from.seq);
  if (fresh.length === 0) return from;
  const nodes = from.nodes.slice();
  const index = new Map(nodes.map((n, i) => [n.nodeId, i]));
  const state: ExecutionState = { ...from, nodes };
  const d = { state, nodes, index, fresh: new Set<number>() } as Draft;
  for (const e of fresh) {
    if (e.seq !== d.state.seq + 1) return undefined;
    apply(d, e);
  }
  return d.state as Execution;
}
