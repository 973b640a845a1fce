import { useMemo, useState } from "react";

/** Which forks are folded otherwise than by themselves. */
export function useFolds() {
  const [folds, setFolds] = useState<ReadonlyMap<string, boolean>>(new Map());
  const choice = useMemo(() => {
    const of = (folded: boolean) => new Set([...folds].filter(([, f]) => f === folded).map(([id]) => id));
    return { folded: of(true), unfolded: of(false) };
  }, [folds]);
  return {
    choice,
    onFold: (fork: string, folded: boolean) => setFolds((old) => new Map(old).set(fork, folded)),
  };
}
