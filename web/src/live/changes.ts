import { useQueryClient } from "@tanstack/react-query";
import { useCallback, useEffect, useRef } from "react";
import { readKey, useRefresh } from "../../api";
import { useStream, type Frame } from "../../live";

/** At most so often is the list read again, however much changes. */
const atMost = 500;

/**
 * Follows what changes among the executions. Answers how often the list asks by itself: rarely while the stream tells
 * of changes, every 2 s without one.
 */
export function useChanges(graphId: string): number {
  const refresh = useRefresh();
  const client = useQueryClient();
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  const soon = useCallback(() => {
    timer.current ??= setTimeout(() => {
      timer.current = undefined;
      void refresh("/executions", "/executions/counts");
    }, atMost);
  }, [refresh]);
  useEffect(() => () => clearTimeout(timer.current), []);

  const { state } = useStream({
    path: `executions/stream${graphId === "" ? "" : `?graphId=${encodeURIComponent(graphId)}`}`,
    onFrames: (frames) => {
      soon();
      // Where they are now changed with them: those on screen are read again.
      for (const executionId of new Set(frames.map(idOf))) {
        if (executionId === "") continue;
        const queryKey = readKey("/executions/{executionId}", { path: { executionId } });
        void client.invalidateQueries({ queryKey });
      }
    },
    onPoll: soon,
  });
  return state?.kind === "live" ? 15_000 : 2_000;
}

/** The execution of a frame; empty for those that are about the stream itself. */
export function idOf(f: Frame): string {
  if (f.event !== "execution") return "";
  try {
    const v = JSON.parse(f.data) as { executionId?: unknown };
    return typeof v.executionId === "string" ? v.executionId : "";
  } catch {
    return "";
  }
}
