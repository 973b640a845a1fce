// PURE: what a refusal of a resume says, for the form and for a sentence.

import { ApiError } from "../../api/error";
import type { Assignees } from "../../flow/types";

export interface Refusal {
  /** By the name of the field of the form. */
  fields: Record<string, string>;
  /** Problems that no field of the form has. */
  rest: string[];
  guard: string;
  assignees: Assignees | undefined;
  /** The event that made it so; after a cancel, the one where the cancel won. */
  seq: number | undefined;
}

/** Reads a refusal; undefined where the error is none, such as a lost connection. */
export function refusalOf(error: unknown, names: readonly string[]): Refusal | undefined {
  if (!(error instanceof ApiError)) return undefined;
  const { problems, assignees, cancelSeq, cause } = error.details;
  const out: Refusal = {
    fields: {},
    rest: [],
    guard: error.guard,
    assignees: record(assignees) as Assignees | undefined,
    seq: Number(cancelSeq ?? record(cause)?.seq) || undefined,
  };
  if (error.code === "OUTPUT_INVALID" && Array.isArray(problems)) {
    for (const p of problems) put(out, record(p), names);
    return out;
  }
  return out.guard === "" ? undefined : out;
}

function put(out: Refusal, problem: Record<string, unknown> | undefined, names: readonly string[]) {
  const path = String(problem?.field ?? "");
  const said = String(problem?.message ?? "");
  const inner = path.replace(/^output\.?/, "");
  // A problem within a member belongs to the member.
  const name = names.find((n) => inner === n || inner.startsWith(`${n}.`) || inner.startsWith(`${n}[`));
  if (name === undefined) out.rest.push([inner, said].filter((s) => s !== "").join(": "));
  else out.fields[name] = name in out.fields ? `${out.fields[name]}; ${said}` : said;
}

function record(v: unknown): Record<string, unknown> | undefined {
  return typeof v === "object" && v !== null ? (v as Record<string, unknown>) : undefined;
}

export interface Shown {
  title?: string | undefined;
  text?: string | undefined;
  facts: [string, unknown][];
  other?: unknown;
}

/** What a prompt shows: a prompt of a graph has values to read, one of a worker may be anything. */
export function shownOf(prompt: unknown): Shown {
  if (prompt === undefined) return { facts: [] };
  if (typeof prompt === "string") return { text: prompt, facts: [] };
  const p = record(prompt);
  if (!p || Array.isArray(prompt)) return { facts: [], other: prompt };
  const { title, text, fields, ...rest } = p;
  const values = Array.isArray(fields) ? undefined : record(fields);
  return {
    title: typeof title === "string" ? title : undefined,
    text: typeof text === "string" ? text : undefined,
    facts: values ? Object.entries(values) : [],
    other: Object.keys(rest).length > 0 ? rest : undefined,
  };
}
