import { useEffect, useState } from "react";
import { api, data, type components } from "../../api";

export type Checked = components["schemas"]["GraphCheck"];

const pause = 300;

/** Asks the server whether a text could be stored, once somebody pauses. The last answer stays until the next. */
export function useCheck(id: string, source: string) {
  const [state, setState] = useState<{ source: string; checked?: Checked; error?: Error }>();
  useEffect(() => {
    const stop = new AbortController();
    const timer = setTimeout(() => {
      if (source.trim() === "") return;
      data(api.POST("/graphs/check", { body: { graphId: id, source }, signal: stop.signal })).then(
        (checked) => setState({ source, checked }),
        (e: unknown) => {
          if (!stop.signal.aborted)
            setState({ source, error: e instanceof Error ? e : new Error(String(e)) });
        },
      );
    }, pause);
    return () => {
      clearTimeout(timer);
      stop.abort();
    };
  }, [id, source]);
  return { checked: state?.checked, error: state?.error, current: state?.source === source };
}
