// PURE: what somebody writes for a new execution.

export type JsonObject = Record<string, unknown>;

/** A JSON object, or undefined when the text is none. Nothing is the empty one. */
export function jsonObject(text: string): JsonObject | undefined {
  if (text.trim() === "") return {};
  try {
    const v: unknown = JSON.parse(text);
    return typeof v === "object" && v !== null && !Array.isArray(v) ? (v as JsonObject) : undefined;
  } catch {
    return undefined;
  }
}

/** Labels, one a line as `name:value` or `name=value`; undefined when a line is none. */
export function labelsOf(text: string): Record<string, string> | undefined {
  const out: Record<string, string> = {};
  for (const line of text.split("\n")) {
    if (line.trim() === "") continue;
    const m = /^\s*([A-Za-z0-9._-]{1,128})\s*[:=]\s*(.{1,256}?)\s*$/.exec(line);
    if (!m?.[1] || !m[2]) return undefined;
    out[m[1]] = m[2];
  }
  return Object.keys(out).length > 16 ? undefined : out;
}

/** The JSON Schema of a value's members, so that a form can be made of an input like it. */
export function schemaOf(value: JsonObject): JsonObject {
  const properties: JsonObject = {};
  for (const [name, v] of Object.entries(value)) {
    const plain = typeof v === "string" || typeof v === "number" || typeof v === "boolean";
    properties[name] = { ...(plain ? { type: typeof v } : {}), default: v };
  }
  return { type: "object", properties };
}
