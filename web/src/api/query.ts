import { QueryClient, useQuery, useQueryClient, type UseQueryResult } from "@tanstack/react-query";
import type { FetchOptions } from "openapi-fetch";
import type { PathsWithMethod } from "openapi-typescript-helpers";
import { useCallback, useRef, useState, useSyncExternalStore } from "react";
import { identity, useActAs } from "./caller";
import { api, newId } from "./client";
import { ApiError } from "./error";
import type { paths } from "./schema";

// Reads are queries of TanStack Query, commands are actions with one idempotency key per intent.

export function newQueryClient(): QueryClient {
  return new QueryClient({
    defaultOptions: {
      queries: {
        staleTime: 2_000,
        gcTime: 5 * 60_000,
        refetchOnWindowFocus: true,
        retry: (count, err) => count < 3 && err instanceof ApiError && passing(err),
        retryDelay: (n, err) =>
          (err instanceof ApiError && err.retryAfter ? err.retryAfter * 1000 : 500 * 2 ** n) *
          (0.5 + Math.random()),
      },
    },
  });
}

/** It may work when it is tried again as it is. */
export function passing(err: ApiError): boolean {
  return err.status === 0 || err.status === 429 || err.status === 503;
}

type Gets = PathsWithMethod<paths, "get">;
type Get<P extends Gets> = paths[P] extends { get: infer O } ? O : never;
type Json<O> = O extends { responses: { 200: { content: { "application/json": infer T } } } } ? T : never;

/** What `GET path` answers: `Answer<"/tasks/queues">`. */
export type Answer<P extends Gets> = Json<Get<P>>;

/** The params of `GET path`. */
export type ReadParams<P extends Gets> = FetchOptions<Get<P>> extends { params?: infer T } ? T : never;

export interface ReadOptions {
  enabled?: boolean;
  /** Ask again every so many milliseconds while the tab is visible. */
  every?: number | undefined;
  /** Show the last answer of other params until the new one is there. */
  keep?: boolean;
}

/** The key of a read: tenant and user first, so that nothing of others is ever shown. */
export function readKey<P extends Gets>(path: P, params?: ReadParams<P>) {
  const { tenant, user } = identity();
  return [tenant, user, path, params ?? {}] as const;
}

/** Read once, outside of a component. */
export async function read<P extends Gets>(
  path: P,
  params?: ReadParams<P>,
  signal?: AbortSignal,
): Promise<Answer<P>> {
  type Call = (p: Gets, o: object) => Promise<{ data?: unknown }>;
  const answer = await (api.GET as unknown as Call)(path, { params, signal });
  return answer.data as Answer<P>;
}

/** Read and keep up to date: `const queues = useRead("/tasks/queues", {}, { every: 2000 })`. */
export function useRead<P extends Gets>(
  path: P,
  params: ReadParams<P>,
  options: ReadOptions = {},
): UseQueryResult<Answer<P>, Error> {
  useActAs();
  const key = readKey(path, params);
  return useQuery<Answer<P>>({
    queryKey: key,
    queryFn: ({ signal }) => read(path, params, signal),
    enabled: options.enabled ?? true,
    refetchInterval: options.every ?? false,
    // Never show one tenant or user what another one read.
    placeholderData: options.keep
      ? (old, query) => (query?.queryKey[0] === key[0] && query.queryKey[1] === key[1] ? old : undefined)
      : undefined,
  } as Parameters<typeof useQuery<Answer<P>>>[0]);
}

/** Let every read of these paths ask again. */
export function useRefresh(): (...of: Gets[]) => Promise<void> {
  const client = useQueryClient();
  return useCallback(
    async (...of: Gets[]) => {
      await client.invalidateQueries({
        predicate: (q) => of.length === 0 || of.includes(q.queryKey[2] as Gets),
      });
    },
    [client],
  );
}

export interface Action<A extends unknown[], T> {
  run: (...args: A) => Promise<T | undefined>;
  busy: boolean;
  error: Error | undefined;
  done: T | undefined;
  /** Forget how it went: the next run is another intent. */
  reset: () => void;
}

/**
 * A command. The key names one intent: a double click or another try after a lost answer has one effect. It is made
 * when the component appears (so: when a dialog opens), stays while the outcome is unknown, and is new after an answer.
 *
 *   const cancel = useAction((key, reason: string) =>
 *     data(api.POST("/executions/{executionId}/cancel", { params: { path, header: once(key) }, body: { reason } })));
 */
export function useAction<A extends unknown[], T>(
  call: (key: string, ...args: A) => Promise<T>,
): Action<A, T> {
  const key = useRef<string>(undefined);
  const flight = useRef<Promise<T | undefined>>(undefined);
  const [state, setState] = useState<{ busy: boolean; error?: Error; done?: T }>({ busy: false });
  const run = (...args: A) => {
    if (flight.current) return flight.current;
    key.current ??= newId();
    setState({ busy: true });
    const going = call(key.current, ...args).then(
      (done) => {
        key.current = undefined;
        setState({ busy: false, done });
        return done;
      },
      (e: unknown) => {
        const error = e instanceof Error ? e : new Error(String(e));
        // Answered for good: what is sent next is another intent.
        if (error instanceof ApiError && !passing(error) && error.status < 500) key.current = undefined;
        setState({ busy: false, error });
        return undefined;
      },
    );
    flight.current = going.finally(() => (flight.current = undefined));
    return flight.current;
  };
  const reset = useCallback(() => {
    key.current = undefined;
    setState({ busy: false });
  }, []);
  return { run, busy: state.busy, error: state.error, done: state.done, reset };
}

function online(l: () => void) {
  addEventListener("online", l);
  addEventListener("offline", l);
  return () => {
    removeEventListener("online", l);
    removeEventListener("offline", l);
  };
}

export function useOnline(): boolean {
  return useSyncExternalStore(
    online,
    () => navigator.onLine,
    () => true,
  );
}
