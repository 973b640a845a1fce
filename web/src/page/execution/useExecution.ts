import { useCallback, useEffect, useState } from "react";
import { useRead } from "../../api";
import { apply, type Draft } from "../../flow/apply";
import type { ExecutionState, FlowEvent } from "../../flow/types";
import { useStream, type Frame } from "../../live";
import type { Execution } from "./context";

/** For so long after a cancel late results are listened for, in milliseconds. */
export const listenFor = 60_000;

export interface Live {
  now: Execution | undefined;
  error: Error | undefined;
  live: boolean;
  /** A cancel was a moment ago: what workers still report comes in. */
  listening: boolean;
  refresh: () => Promise<void>;
}

/** The newest state of an execution: read once, and carried on by the events of its stream. */
export function useExecution(id: string): Live {
  const [carried, setCarried] = useState<Execution>();
  const [listening, setListening] = useState(false);
  const path = { executionId: id };
  const read = useRead("/executions/{executionId}", { path }, { every: listening ? 2_000 : undefined });
  const now = newer(carried, read.data);
  const { refetch } = read;
  const refresh = useCallback(async () => void (await refetch()), [refetch]);

  const canceledAt = now?.status === "CANCELED" ? now.endedAt : undefined;
  useEffect(() => {
    if (canceledAt === undefined) return;
    const left = listenFor - (Date.now() - Date.parse(canceledAt));
    if (left <= 0) return;
    const begin = setTimeout(() => setListening(true));
    const end = setTimeout(() => setListening(false), Math.min(left, listenFor));
    return () => {
      clearTimeout(begin);
      clearTimeout(end);
    };
  }, [canceledAt]);

  const live = useStream({
    path: now === undefined ? undefined : `executions/${id}/stream`,
    after: now === undefined ? undefined : String(now.seq),
    onFrames: (frames) => {
      const events = eventsOf(frames);
      const from = newer(carried, read.data);
      if (!from) return;
      const next = advance(from, events);
      if (next) setCarried(next);
      // A gap, or the end: the server has the rest, such as a result that is held by reference.
      if (!next || frames.some((f) => f.event === "end")) void refetch();
    },
    onPoll: () => void refetch(),
  });
  return { now, error: read.error ?? undefined, live: live.state?.kind === "live", listening, refresh };
}

function newer(a: Execution | undefined, b: Execution | undefined): Execution | undefined {
  if (!a || !b) return a ?? b;
  return a.seq > b.seq ? a : b;
}

function eventsOf(frames: readonly Frame[]): FlowEvent[] {
  return frames.filter((f) => f.id !== "" && f.event !== "end").map((f) => JSON.parse(f.data) as FlowEvent);
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
