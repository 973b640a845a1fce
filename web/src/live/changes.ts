import { useQueryClient } from "@tanstack/react-query";
import { useCallback, useEffect, useRef } from "react";
import { readKey, useRefresh } from "../api";
import type { Frame } from "./sse";
import { useStream } from "./useStream";

/** At most so often is what shows them read again, however much changes. */
const atMost = 500;

/**
 * Follows what changes among the executions, of one graph or of all: lists, counts and waits are read again. Answers
 * how often they ask by themselves: rarely while the stream tells
 * of changes, every 2 s without one.
 */
export function useChanges(graphId = "", enabled = true): number {
  const refresh = useRefresh();
  const client = useQueryClient();
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  const soon = useCallback(() => {
    timer.current ??= setTimeout(() => {
      timer.current = undefined;
      void refresh("/executions", "/executions/counts", "/waits");
    }, atMost);
  }, [refresh]);
  useEffect(() => () => clearTimeout(timer.current), []);

  const { state } = useStream({
    path: enabled
      ? `executions/stream${graphId === "" ? "" : `?graphId=${encodeURIComponent(graphId)}`}`
      : undefined,
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
