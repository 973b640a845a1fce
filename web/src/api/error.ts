import type { Words } from "../words";

export type Advice = "do_not_retry" | "retry_after_fix" | "retry_with_backoff" | "retry_immediately" | "";

/** A refusal of the server, or an answer that never came. Every surface's shape of errors becomes this one. */
export class ApiError extends Error {
  override readonly name = "ApiError";
  readonly code: string;
  /** The HTTP status; 0 when no answer came. */
  readonly status: number;
  readonly advice: Advice;
  readonly requestId: string;
  readonly details: Readonly<Record<string, unknown>>;
  /** Seconds that the server asks to wait. */
  readonly retryAfter: number | undefined;

  constructor(e: {
    code: string;
    status: number;
    message: string;
    advice?: Advice;
    requestId?: string;
    details?: Record<string, unknown>;
    retryAfter?: number | undefined;
  }) {
    super(e.message);
    this.code = e.code;
    this.status = e.status;
    this.advice = e.advice ?? "";
    this.requestId = e.requestId ?? "";
    this.details = e.details ?? {};
    this.retryAfter = e.retryAfter;
  }

  /** The guard that refused a command, if one did. */
  get guard(): string {
    return typeof this.details.guard === "string" ? this.details.guard : "";
  }
}

function record(v: unknown): Record<string, unknown> {
  return typeof v === "object" && v !== null && !Array.isArray(v) ? (v as Record<string, unknown>) : {};
}

const advices: readonly string[] = [
  "do_not_retry",
  "retry_after_fix",
  "retry_with_backoff",
  "retry_immediately",
];

/** Read the error out of an answer that is not ok. */
export async function errorOf(res: Response): Promise<ApiError> {
  let body: unknown;
  try {
    body = await res.clone().json();
  } catch {
    body = undefined;
  }
  return parseError(body, res.status, res.headers);
}

/** The three shapes: `{error: {code, message, details}}`, `{error, message}` and `{detail}`. */
export function parseError(body: unknown, status: number, headers: Headers): ApiError {
  const outer = record(body);
  const core = record(outer.error);
  const details = record(core.details);
  const advice = typeof details.retryAdvice === "string" ? details.retryAdvice : "";
  const str = (v: unknown) => (typeof v === "string" && v !== "" ? v : undefined);
  const after = Number(headers.get("Retry-After") ?? "");
  return new ApiError({
    code: str(core.code) ?? str(outer.error) ?? `HTTP_${status}`,
    status,
    message: str(core.message) ?? str(outer.message) ?? str(outer.detail) ?? `HTTP ${status}`,
    advice: (advices.includes(advice) ? advice : "") as Advice,
    requestId: headers.get("X-Request-Id") ?? "",
    details,
    retryAfter: Number.isFinite(after) && after > 0 ? after : undefined,
  });
}

/** No answer came: the server or the network is away. */
export function networkError(cause: unknown): ApiError {
  const message = cause instanceof Error ? cause.message : String(cause);
  return new ApiError({ code: "NETWORK", status: 0, message, advice: "retry_with_backoff" });
}

/** The sentence that a person reads: what happened, and what to do. */
export function sentence(err: unknown, w: Words): string {
  const e = w.error;
  if (!(err instanceof ApiError))
    return `${e.unexpected} ${err instanceof Error ? err.message : String(err)}`;
  const known = (e.codes as Record<string, string>)[err.code];
  const what = known ?? `${firstUpper(err.message).replace(/\.$/, "")}.`;
  const todo = err.advice === "" ? "" : e.advice[err.advice];
  const wait = err.retryAfter === undefined ? "" : e.wait(err.retryAfter);
  return [what, known ? "" : todo, wait].filter((s) => s !== "").join(" ");
}

function firstUpper(s: string): string {
  return s.slice(0, 1).toUpperCase() + s.slice(1);
}
