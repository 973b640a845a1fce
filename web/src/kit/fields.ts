// PURE: what a form asks for, from a Wait's prompt or from a JSON Schema, and the value that it makes.

export interface FormField {
  name: string;
  label: string;
  type: "text" | "longtext" | "number" | "integer" | "boolean" | "choice" | "date" | "datetime" | "json";
  required: boolean;
  hint?: string;
  options?: { value: unknown; label: string }[];
  initial?: unknown;
}

function record(v: unknown): Record<string, unknown> | undefined {
  return typeof v === "object" && v !== null && !Array.isArray(v)
    ? (v as Record<string, unknown>)
    : undefined;
}

const str = (v: unknown) => (typeof v === "string" ? v : undefined);

const types: Record<string, FormField["type"]> = {
  string: "text",
  text: "text",
  longtext: "longtext",
  textarea: "longtext",
  number: "number",
  integer: "integer",
  boolean: "boolean",
  checkbox: "boolean",
  select: "choice",
  choice: "choice",
  enum: "choice",
  date: "date",
  datetime: "datetime",
};

/** The convention for prompts: `{title, text, fields: [{name, label, type, required, options}]}`; else undefined. */
export function promptFields(
  prompt: unknown,
): { title?: string; text?: string; fields: FormField[] } | undefined {
  const p = record(prompt);
  if (!p || !Array.isArray(p.fields)) return undefined;
  const fields: FormField[] = [];
  for (const raw of p.fields) {
    const f = record(raw);
    const name = f && str(f.name);
    if (!f || !name) return undefined;
    const options = Array.isArray(f.options) ? f.options.map(option) : undefined;
    const type = options ? "choice" : (types[str(f.type) ?? "text"] ?? "json");
    const field: FormField = { name, label: str(f.label) ?? name, type, required: f.required === true };
    if (options) field.options = options;
    const hint = str(f.hint) ?? str(f.description);
    if (hint) field.hint = hint;
    if (f.default !== undefined) field.initial = f.default;
    fields.push(field);
  }
  const title = str(p.title);
  const text = str(p.text);
  return { ...(title ? { title } : {}), ...(text ? { text } : {}), fields };
}

function option(o: unknown): { value: unknown; label: string } {
  const r = record(o);
  if (r && "value" in r) return { value: r.value, label: str(r.label) ?? String(r.value) };
  return { value: o, label: String(o) };
}

/** The fields of an object schema whose members are plain; else undefined, and the JSON itself is edited. */
export function schemaFields(schema: unknown): FormField[] | undefined {
  const s = record(schema);
  const properties = record(s?.properties);
  if (!s || !properties) return undefined;
  const required = Array.isArray(s.required) ? s.required : [];
  return Object.entries(properties).map(([name, raw]) => {
    const p = record(raw) ?? {};
    const kinds = (Array.isArray(p.type) ? p.type : [p.type]).filter((t) => t !== "null");
    const field: FormField = {
      name,
      label: str(p.title) ?? name,
      type: kinds.length === 1 ? (types[String(kinds[0])] ?? "json") : "json",
      required: required.includes(name),
    };
    if (Array.isArray(p.enum)) {
      field.type = "choice";
      field.options = p.enum.map((v) => ({ value: v, label: String(v) }));
    } else if (p.format === "date") field.type = "date";
    else if (p.format === "date-time") field.type = "datetime";
    const hint = str(p.description);
    if (hint) field.hint = hint;
    if (p.default !== undefined) field.initial = p.default;
    return field;
  });
}

/** What the controls hold: a text, or a boolean for a box. */
export type Draft = Record<string, string | boolean>;

export function draftOf(fields: readonly FormField[]): Draft {
  const draft: Draft = {};
  for (const f of fields) {
    if (f.type === "boolean") draft[f.name] = f.initial === true;
    else if (f.initial === undefined) draft[f.name] = "";
    else if (f.type === "choice")
      draft[f.name] = String(f.options?.findIndex((o) => o.value === f.initial) ?? "");
    else if (f.type === "json") draft[f.name] = JSON.stringify(f.initial, null, 2);
    else draft[f.name] = String(f.initial);
  }
  return draft;
}

export type Problem = "required" | "number" | "json";

/** The value that the controls make, or what is wrong, by field. Empty optional fields are left out. */
export function valueOf(
  fields: readonly FormField[],
  draft: Draft,
): { value: Record<string, unknown>; problems: Record<string, Problem> } {
  const value: Record<string, unknown> = {};
  const problems: Record<string, Problem> = {};
  for (const f of fields) {
    const raw = draft[f.name] ?? "";
    if (typeof raw === "boolean") {
      value[f.name] = raw;
      continue;
    }
    if (raw.trim() === "") {
      if (f.required) problems[f.name] = "required";
      continue;
    }
    const read = readOne(f, raw);
    if ("problem" in read) problems[f.name] = read.problem;
    else value[f.name] = read.value;
  }
  return { value, problems };
}

function readOne(f: FormField, raw: string): { value: unknown } | { problem: Problem } {
  switch (f.type) {
    case "number":
    case "integer": {
      const n = Number(raw);
      const bad = !Number.isFinite(n) || (f.type === "integer" && !Number.isInteger(n));
      return bad ? { problem: "number" } : { value: n };
    }
    case "choice":
      return { value: f.options?.[Number(raw)]?.value };
    case "datetime": {
      const at = new Date(raw);
      return Number.isNaN(at.getTime()) ? { problem: "required" } : { value: at.toISOString() };
    }
    case "json":
      try {
        return { value: JSON.parse(raw) as unknown };
      } catch {
        return { problem: "json" };
      }
    default:
      return { value: raw };
  }
}
