import createClient, { type Middleware } from "openapi-fetch";
import { base } from "../base";
import { callerHeaders } from "./caller";
import { errorOf, networkError } from "./error";
import type { paths } from "./schema";

// The one client. Its types are the contract: a path, a parameter or a member that api/openapi.yaml does not have does
// not compile. Every answer that is not ok throws an ApiError.

/** An id for one request or one intent. */
export function newId(): string {
  // Not crypto.randomUUID: plain http beyond loopback does not have it.
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (b) => b.toString(16).padStart(2, "0")).join("");
}

const expired = new Set<() => void>();

/** Somebody wants to know that the session is over (401). */
export function onExpired(f: () => void): () => void {
  expired.add(f);
  return () => void expired.delete(f);
}

const manners: Middleware = {
  onRequest({ request }) {
    for (const [k, v] of Object.entries(callerHeaders())) request.headers.set(k, v);
    if (!request.headers.has("X-Correlation-Id")) request.headers.set("X-Correlation-Id", `ui-${newId()}`);
  },
  async onResponse({ response, schemaPath }) {
    if (response.ok) return;
    // A token that is refused at sign-in ends no session.
    if (response.status === 401 && schemaPath !== "/session") for (const f of expired) f();
    throw await errorOf(response);
  },
  onError({ error }) {
    if (error instanceof DOMException && error.name === "AbortError") return error;
    return networkError(error);
  },
};

/** Lists are separated by commas; these parameters are given several times instead. */
const repeated = new Set(["label"]);

function query(params: Record<string, unknown>): string {
  const out = new URLSearchParams();
  for (const [name, v] of Object.entries(params)) {
    if (v === undefined || v === null || v === "") continue;
    if (!Array.isArray(v)) out.set(name, String(v));
    else if (repeated.has(name)) for (const one of v) out.append(name, String(one));
    else if (v.length > 0) out.set(name, v.join(","));
  }
  return out.toString();
}

export const api = createClient<paths>({
  baseUrl: base.replace(/\/$/, ""),
  credentials: "same-origin",
  querySerializer: query,
  // Looked up at each call: the browser's fetch.
  fetch: (request) => fetch(request),
});
api.use(manners);

/** The data of an answer: `const page = await data(api.GET("/executions", …))`. */
export async function data<T>(answer: Promise<{ data?: T | undefined; response: Response }>): Promise<T> {
  const a = await answer;
  return a.data as T;
}

/** The header that names an intent, for commands. */
export function once(key: string): { "X-Idempotency-Key": string } {
  return { "X-Idempotency-Key": key };
}
