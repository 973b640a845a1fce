import { useEffect, useEffectEvent, useState } from "react";
import { useActAs } from "../api/caller";
import { ApiError } from "../api/error";
import { Coalescer } from "./frames";
import { withSlot } from "./slot";
import { final, follow, type Frame } from "./sse";
import { report, type State } from "./status";

export interface UseStream {
  /** The path below the base, such as `executions/ID/stream`; undefined holds no stream. */
  path: string | undefined;
  /** Go on after this id, the first time. Later the last id that arrived counts. */
  after?: string | undefined;
  /** What arrived since the last frame of the screen, in order. */
  onFrames: (frames: Frame[]) => void;
  /** Asked every 2 s while no stream can be held, and once after each break that an id cannot bridge. */
  onPoll: () => void;
  paused?: boolean;
}

const pollEvery = 2_000;

/**
 * Hold a stream while the tab is visible: resumes with Last-Event-ID, waits longer after each failure, shares four
 * slots with all tabs and polls without one. Returns its state and, when it was refused for good, the error.
 */
export function useStream(o: UseStream): { state: State | undefined; error: ApiError | undefined } {
  const [state, setState] = useState<State>();
  const [error, setError] = useState<ApiError>();
  const who = useActAs();
  const frames = useEffectEvent(o.onFrames);
  const poll = useEffectEvent(o.onPoll);
  const { path, after } = o;
  const paused = o.paused ?? false;
  const tenant = `${who.tenant} ${who.user}`;

  useEffect(() => {
    if (path === undefined) return;
    const id = Symbol(path);
    const say = (s: State | undefined) => {
      setState(s);
      report(id, s);
    };
    if (paused) {
      say({ kind: "paused" });
      return () => say(undefined);
    }
    let last = after;
    let held: AbortController | undefined;
    const batch = new Coalescer<Frame>((b) => frames(b));

    const hold = async (signal: AbortSignal) => {
      let failures = 0;
      while (!signal.aborted) {
        say(failures === 0 ? { kind: "connecting" } : { kind: "reconnecting", at: Date.now() });
        try {
          const ended = await follow({
            path,
            after: last,
            signal,
            onOpen: () => {
              if (failures > 0 && last === undefined) poll();
              failures = 0;
              say({ kind: "live" });
            },
            onFrame: (f) => {
              if (f.id !== "") last = f.id;
              batch.add(f);
            },
          });
          batch.flush();
          if (ended) return say(undefined);
        } catch (e) {
          if (signal.aborted) return;
          if (e instanceof ApiError && final(e)) {
            setError(e);
            return say(undefined);
          }
        }
        if (signal.aborted) return;
        const ms = backoff(failures++);
        say({ kind: "reconnecting", at: Date.now() + ms });
        await pause(ms, signal);
      }
    };

    const start = () => {
      const control = new AbortController();
      held = control;
      let timer: ReturnType<typeof setInterval> | undefined;
      const stopPolling = () => clearInterval(timer);
      const waiting = () => {
        say({ kind: "polling" });
        timer = setInterval(() => poll(), pollEvery);
      };
      control.signal.addEventListener("abort", stopPolling, { once: true });
      void withSlot(control.signal, waiting, async () => {
        const polled = timer !== undefined;
        stopPolling();
        if (polled) poll();
        await hold(control.signal);
      });
    };
    const stop = () => {
      held?.abort();
      held = undefined;
      batch.flush();
    };
    const visible = () => {
      if (document.visibilityState === "hidden") {
        stop();
        say({ kind: "paused" });
      } else if (!held) {
        if (last === undefined) poll();
        start();
      }
    };

    document.addEventListener("visibilitychange", visible);
    if (document.visibilityState === "hidden") say({ kind: "paused" });
    else start();
    return () => {
      document.removeEventListener("visibilitychange", visible);
      stop();
      say(undefined);
      setError(undefined);
    };
    // `after` counts only when the stream begins.
    // eslint-disable-next-line react-hooks/exhaustive-deps
  }, [path, paused, tenant]);

  return { state, error };
}

/** 0.5 s, 1 s, 2 s … 15 s, each with some chance in it, so that many tabs do not come back at once. */
export function backoff(failures: number, chance = Math.random()): number {
  return Math.min(15_000, 500 * 2 ** failures) * (0.7 + 0.6 * chance);
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      clearTimeout(timer);
      signal.removeEventListener("abort", done);
      removeEventListener("online", done);
      resolve();
    };
    const timer = setTimeout(done, ms);
    signal.addEventListener("abort", done, { once: true });
    addEventListener("online", done, { once: true });
  });
}
