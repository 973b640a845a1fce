import { useSyncExternalStore } from "react";

// As whom this tab acts. Without authentication (mode none) a tenant and a user may be chosen; they travel in
// headers, are part of every query key, and end with the tab. With sessions the server knows the caller.

export interface ActAs {
  tenant: string;
  user: string;
}

/** The tenant that the server takes when the header is missing. */
export const defaultTenant = "00000000-0000-0000-0000-000000000000";

const key = "renga.actas";
const listeners = new Set<() => void>();
let mode: "none" | "jwt" = "none";
let current: ActAs = load();

function load(): ActAs {
  try {
    const v = JSON.parse(sessionStorage.getItem(key) ?? "{}") as Partial<ActAs>;
    return {
      tenant: typeof v.tenant === "string" ? v.tenant : "",
      user: typeof v.user === "string" ? v.user : "",
    };
  } catch {
    return { tenant: "", user: "" };
  }
}

export function setMode(m: "none" | "jwt") {
  mode = m;
}

export function actAs(): ActAs {
  return current;
}

export function setActAs(next: ActAs) {
  current = next;
  try {
    if (next.tenant === "" && next.user === "") sessionStorage.removeItem(key);
    else sessionStorage.setItem(key, JSON.stringify(next));
  } catch {
    // Forbidden storage: it lasts as long as the document.
  }
  for (const l of listeners) l();
}

export function useActAs(): ActAs {
  return useSyncExternalStore(
    (l) => {
      listeners.add(l);
      return () => void listeners.delete(l);
    },
    actAs,
    actAs,
  );
}

/** The headers that say as whom a request acts. */
export function callerHeaders(): Record<string, string> {
  if (mode !== "none") return {};
  const h: Record<string, string> = {};
  if (current.tenant !== "") h["X-Tenant-Id"] = current.tenant;
  if (current.user !== "") h["X-User-Id"] = current.user;
  return h;
}

export interface Identity {
  tenant: string;
  user: string;
}

let signedIn: Identity = { tenant: "", user: "" };

/** Whom a session belongs to, as GET /me said. */
export function setIdentity(id: Identity) {
  signedIn = id;
}

/** Tenant and user: the first members of every query key, so that nothing of others is ever read from a cache. */
export function identity(): Identity {
  if (mode === "none") return { tenant: current.tenant || defaultTenant, user: current.user };
  return signedIn;
}
