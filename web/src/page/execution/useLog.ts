import { useQuery } from "@tanstack/react-query";
import { useCallback, useEffect, useMemo, useSyncExternalStore } from "react";
import { readKey, useActAs } from "../../api";
import { ticks, type Tick } from "../../flow/refused";
import { useExecutionContext } from "./context";
import { LogStore, type LogCommand, type LogEvent } from "./logStore";

export interface LogView {
  events: readonly LogEvent[];
  commands: readonly LogCommand[];
  /** One for each command that changed something. */
  ticks: readonly Tick[];
  store: LogStore | undefined;
  error: Error | undefined;
  /** That every event up to the newest state is here. */
  complete: boolean;
  retry: () => void;
}

/** The log of the execution on screen, read when `wanted` and carried on from then. */
export function useLog(wanted: boolean): LogView {
  const { id, now, noted } = useExecutionContext();
  useActAs();
  const [tenant, user] = readKey("/executions");
  const { data: store } = useQuery({
    queryKey: [tenant, user, "log of an execution", id],
    queryFn: () => new LogStore(id),
    enabled: wanted,
    staleTime: Infinity,
    structuralSharing: false,
  });
  const subscribe = useCallback(
    (listener: () => void) => store?.subscribe(listener) ?? (() => undefined),
    [store],
  );
  const version = useSyncExternalStore(subscribe, () => store?.version ?? 0);
  useEffect(() => {
    if (wanted) void store?.catchUp();
  }, [wanted, store, now.seq, noted]);
  const late = now.lateResults;
  return useMemo(() => {
    void version;
    const commands = store?.commands ?? none;
    return {
      events: store?.events ?? none,
      commands,
      ticks: ticks(commands, late),
      store,
      error: store?.error,
      complete: store !== undefined && store.replay.lastSeq >= now.seq,
      retry: () => void store?.catchUp(),
    };
  }, [store, version, late, now.seq]);
}

const none: readonly never[] = [];
