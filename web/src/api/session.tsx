import { useQuery, useQueryClient } from "@tanstack/react-query";
import { createContext, use, useEffect, useMemo, useState, type ReactNode } from "react";
import { base } from "../base";
import { actAs, callerHeaders, setIdentity, setMode, useActAs } from "./caller";
import { api, data, onExpired } from "./client";
import type { components } from "./schema";

export type Caller = components["schemas"]["Caller"];

export type Session = components["schemas"]["Session"];

/** Give a token to the server, which keeps it; the browser gets a cookie that no script can read. */
export async function signIn(token: string): Promise<void> {
  await api.POST("/session", { body: { token } });
}

export async function signOut(): Promise<void> {
  await api.DELETE("/session");
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

const unknown: Session = { auth: "none", signedIn: false, oidc: false };
const MeContext = createContext<Me | undefined>(undefined);

/** Who the caller is, for everything below. */
export function SessionProvider({ children }: { children: ReactNode }) {
  const client = useQueryClient();
  const who = useActAs();
  const [expired, setExpired] = useState(false);
  const session = useQuery({
    queryKey: ["session"],
    queryFn: async () => {
      const s = await data(api.GET("/session"));
      setMode(s.auth);
      return s;
    },
    staleTime: 60_000,
    refetchInterval: (q) => (q.state.status === "error" ? 3_000 : false),
  });
  const mode = session.data?.auth;
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
      expired: expired && mode === "jwt" && session.data?.signedIn === true,
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
