import { useEffect, useEffectEvent, useRef } from "react";
import { api, ApiError, data, newId, once, read } from "../../../api";
import type { ExecutionState } from "../../../flow/types";
import { begun, queue, slow, type Work } from "./steps";

const workFor = 1_000;

/**
 * The worker of the tour: it claims what is ready in the queue `tour`, takes a second for each, and reports. What takes
 * long goes on until its execution has ended, as a worker does that does not hear of a cancel. Each report has a key of
 * its own, so that a page that is loaded again repeats it and does nothing twice.
 */
export function useWorker(workerId: string, executions: readonly ExecutionState[], on: boolean) {
  const working = useRef(new Set<string>());

  const work = useEffectEvent(async (task: Work, signal: AbortSignal) => {
    const key = `${workerId}-${task.executionId}-${task.nodeId}-${task.attempt}`;
    if (working.current.has(key)) return;
    working.current.add(key);
    try {
      await pause(workFor, signal);
      while (task.slow && (await active(task.executionId, signal))) await pause(500, signal);
      await data(
        api.POST("/executions/{executionId}/nodes/{nodeId}/success", {
          params: { path: { executionId: task.executionId, nodeId: task.nodeId }, header: once(key) },
          body: {
            workerId,
            attempt: task.attempt,
            output: { receipt: `R-${task.nodeId}` } as never,
            next: false,
          },
          signal,
        }),
      );
    } catch (e) {
      // Refused: it came too late, and was kept. Otherwise it is tried again.
      if (!(e instanceof ApiError && e.status === 409)) working.current.delete(key);
    }
  });

  const pickUp = useEffectEvent((signal: AbortSignal) => {
    for (const e of executions) for (const task of begun(e, workerId)) void work(task, signal);
  });

  useEffect(() => {
    if (!on) return;
    const control = new AbortController();
    const { signal } = control;
    const begunHere = working.current;
    const claims = async () => {
      while (!signal.aborted) {
        pickUp(signal);
        try {
          const { tasks } = await data(
            api.POST("/tasks/claim", {
              params: { header: once(newId()) },
              body: { workerId, queues: [queue], max: 10, waitSeconds: 1, leaseSeconds: 600 },
              signal,
            }),
          );
          for (const t of tasks) void work({ ...t, slow: t.nodeId === "deliver" && slow(t.input) }, signal);
        } catch {
          await pause(2_000, signal).catch(() => undefined);
        }
      }
    };
    void claims();
    return () => {
      control.abort();
      begunHere.clear();
    };
  }, [workerId, on]);
}

async function active(executionId: string, signal: AbortSignal): Promise<boolean> {
  const e = await read("/executions/{executionId}", { path: { executionId } }, signal);
  return e.status === "ACTIVE";
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((ok, fail) => {
    const end = () => fail(new DOMException("the tour ended", "AbortError"));
    if (signal.aborted) return end();
    const timer = setTimeout(() => {
      signal.removeEventListener("abort", end);
      ok();
    }, ms);
    signal.addEventListener(
      "abort",
      () => {
        clearTimeout(timer);
        end();
      },
      { once: true },
    );
  });
}
