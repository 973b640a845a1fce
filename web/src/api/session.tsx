import { useQuery, useQueryClient } from "@tanstack/react-query";
import { createContext, use, useEffect, useMemo, useState, type ReactNode } from "react";
import { base } from "../base";
import { actAs, callerHeaders, setIdentity, setMode, useActAs } from "./caller";
import { api, data, newId, onExpired } from "./client";
import { ApiError, errorOf, networkError } from "./error";
import type { components } from "./schema";

export type Caller = components["schemas"]["Caller"];

/** How callers prove who they are, and whether this browser has. */
export interface Session {
  mode: "none" | "jwt";
  signedIn: boolean;
  expiresAt?: string;
  oidc: boolean;
}

async function call(method: string, body?: unknown): Promise<Response> {
  const headers: Record<string, string> = { "X-Correlation-Id": `ui-${newId()}` };
  if (body !== undefined) headers["Content-Type"] = "application/json";
  const init: RequestInit = { method, headers, credentials: "same-origin" };
  if (body !== undefined) init.body = JSON.stringify(body);
  try {
    return await fetch(`${base}session`, init);
  } catch (e) {
    throw networkError(e);
  }
}

/** GET /session. A server without sessions answers 404: then GET /me says the mode. */
async function readSession(): Promise<Session> {
  const res = await call("GET");
  if (res.ok) {
    const s = (await res.json()) as Partial<Session>;
    return {
      mode: s.mode === "jwt" ? "jwt" : "none",
      signedIn: s.signedIn === true,
      oidc: s.oidc === true,
      ...(s.expiresAt ? { expiresAt: s.expiresAt } : {}),
    };
  }
  if (res.status !== 404) throw await errorOf(res);
  const me = await fetch(`${base}me`, { headers: callerHeaders() }).catch((e: unknown) => {
    throw networkError(e);
  });
  if (me.status === 401) return { mode: "jwt", signedIn: false, oidc: false };
  const caller = (await me.json().catch(() => ({}))) as { auth?: string };
  return { mode: caller.auth === "jwt" ? "jwt" : "none", signedIn: me.ok, oidc: false };
}

/** Give a token to the server, which keeps it; the browser gets a cookie that no script can read. */
export async function signIn(token: string): Promise<void> {
  const res = await call("POST", { token });
  if (!res.ok) throw await errorOf(res);
}

export async function signOut(): Promise<void> {
  const res = await call("DELETE");
  if (!res.ok && res.status !== 401) throw await errorOf(res);
}

/** Where the server begins the OIDC sign-in; it comes back to this page. */
export function loginUrl(): string {
  return `${base}session/login?return=${encodeURIComponent(location.pathname + location.search)}`;
}

export interface Me {
  session: Session;
  caller: Caller | undefined;
  error: Error | undefined;
  loading: boolean;
  /** As whom requests act is known: pages may read. */
  ready: boolean;
  /** The session ended while the page was open. */
  expired: boolean;
  can: (scope: string) => boolean;
  refresh: () => Promise<void>;
}

const unknown: Session = { mode: "none", signedIn: false, oidc: false };
const MeContext = createContext<Me | undefined>(undefined);

/** Who the caller is, for everything below. */
export function SessionProvider({ children }: { children: ReactNode }) {
  const client = useQueryClient();
  const who = useActAs();
  const [expired, setExpired] = useState(false);
  const session = useQuery({
    queryKey: ["session"],
    queryFn: async () => {
      const s = await readSession();
      setMode(s.mode);
      return s;
    },
    staleTime: 60_000,
    refetchInterval: (q) => (q.state.status === "error" ? 3_000 : false),
  });
  const mode = session.data?.mode;
  const ready = session.data !== undefined && (mode === "none" || session.data.signedIn);
  const me = useQuery<Caller>({
    queryKey: ["me", who.tenant, who.user, mode],
    enabled: ready,
    staleTime: 60_000,
    refetchInterval: (q) => (q.state.status === "error" ? 3_000 : false),
    queryFn: async ({ signal }) => {
      const caller = await data(api.GET("/me", { signal }));
      setIdentity({ tenant: caller.tenantId, user: caller.subject ?? "" });
      return caller;
    },
  });

  useEffect(() => onExpired(() => setExpired(true)), []);

  const value = useMemo<Me>(
    () => ({
      session: session.data ?? unknown,
      caller: me.data,
      error: session.error ?? me.error ?? undefined,
      loading: session.isPending || (ready && me.isPending),
      ready: session.data !== undefined && (mode === "none" || me.data !== undefined),
      expired: expired && mode === "jwt",
      can: (scope) => me.data === undefined || me.data.scopes.includes(scope),
      refresh: async () => {
        setExpired(false);
        await client.invalidateQueries();
      },
    }),
    [
      session.data,
      session.error,
      session.isPending,
      me.data,
      me.error,
      me.isPending,
      ready,
      expired,
      mode,
      client,
    ],
  );
  return <MeContext value={value}>{children}</MeContext>;
}

export function useMe(): Me {
  const me = use(MeContext);
  if (!me) throw new Error("useMe outside of SessionProvider");
  return me;
}

/** As whom the tab acts, in words of curl: for "copy as". */
export function actAsHeaders(): Record<string, string> {
  return actAs().tenant === "" && actAs().user === "" ? {} : callerHeaders();
}

export function isUnauthorized(e: unknown): boolean {
  return e instanceof ApiError && e.status === 401;
}
