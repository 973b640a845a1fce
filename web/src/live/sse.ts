import { base } from "../base";
import { callerHeaders } from "../api/caller";
import { newId } from "../api/client";
import { errorOf, networkError, type ApiError } from "../api/error";

// Server-sent events over fetch: EventSource cannot send the headers of tenant and user, nor say why it was refused.

export interface Frame {
  id: string;
  event: string;
  data: string;
}

/** Splits the text of a stream into frames; comments are left out. Feed it in pieces of any size. */
export class Parser {
  #rest = "";
  #id = "";
  #event = "";
  #data: string[] = [];

  push(text: string): Frame[] {
    const out: Frame[] = [];
    const lines = (this.#rest + text).split(/\r\n|\n|\r(?!$)/);
    this.#rest = lines.pop() ?? "";
    for (const line of lines) {
      if (line === "") {
        if (this.#data.length > 0) {
          out.push({ id: this.#id, event: this.#event || "message", data: this.#data.join("\n") });
        }
        this.#event = "";
        this.#data = [];
        continue;
      }
      const colon = line.indexOf(":");
      if (colon === 0) continue;
      const field = colon < 0 ? line : line.slice(0, colon);
      const value = colon < 0 ? "" : line.slice(colon + 1).replace(/^ /, "");
      if (field === "data") this.#data.push(value);
      else if (field === "event") this.#event = value;
      else if (field === "id" && !value.includes("\0")) this.#id = value;
    }
    return out;
  }
}

export interface StreamOptions {
  /** Relative to the base: `executions/ID/stream`. */
  path: string;
  /** Go on after this id. */
  after?: string | undefined;
  signal: AbortSignal;
  onOpen: () => void;
  onFrame: (f: Frame) => void;
}

/**
 * Follow a stream until the server ends it. Resolves true when nothing will follow (204), false when the
 * connection ended and may be made again; rejects with an ApiError when it was refused or lost.
 */
export async function follow(o: StreamOptions): Promise<boolean> {
  const headers: Record<string, string> = {
    Accept: "text/event-stream",
    "X-Correlation-Id": `ui-${newId()}`,
    ...callerHeaders(),
  };
  if (o.after) headers["Last-Event-ID"] = o.after;
  let res: Response;
  try {
    const init: RequestInit = { headers, signal: o.signal, credentials: "same-origin", cache: "no-store" };
    res = await fetch(base + o.path, init);
  } catch (e) {
    throw networkError(e);
  }
  if (!res.ok) throw await errorOf(res);
  if (res.status === 204 || !res.body) return true;
  o.onOpen();
  const parser = new Parser();
  const reader = res.body.pipeThrough(new TextDecoderStream()).getReader();
  try {
    for (;;) {
      const { value, done } = await reader.read();
      if (done) return false;
      for (const f of parser.push(value)) o.onFrame(f);
    }
  } catch (e) {
    throw networkError(e);
  }
}

/** Refused for good: connecting again would be refused again. */
export function final(e: ApiError): boolean {
  return e.status >= 400 && e.status < 500 && e.status !== 429 && e.status !== 408;
}
