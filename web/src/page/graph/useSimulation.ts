import { useEffect, useState } from "react";
import { api, data, type components } from "../../api";

export type Script = components["schemas"]["SimulationScript"];
export type Simulated = Awaited<ReturnType<typeof play>>;

const pause = 300;

const play = (body: Script, signal: AbortSignal) => data(api.POST("/graphs/simulate", { body, signal }));

/** Plays a script on the server once somebody pauses. The last result stays until the next. */
export function useSimulation(script: Script | undefined) {
  const key = script === undefined ? "" : JSON.stringify(script);
  const [state, setState] = useState<{ key: string; result?: Simulated; error?: Error }>();
  useEffect(() => {
    if (key === "") return;
    const stop = new AbortController();
    const timer = setTimeout(() => {
      const body = JSON.parse(key) as Script;
      play(body, stop.signal).then(
        (result) => setState({ key, result }),
        (e: unknown) => {
          if (!stop.signal.aborted) setState({ key, error: e instanceof Error ? e : new Error(String(e)) });
        },
      );
    }, pause);
    return () => {
      clearTimeout(timer);
      stop.abort();
    };
  }, [key]);
  return { result: state?.result, error: state?.error, current: state?.key === key };
}
