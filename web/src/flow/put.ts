// Members of a state: set, put where they are large, and removed. A member that is not there differs from one that is
// undefined, as in JSON.

import type { DataRef } from "./types";

/** Data of more bytes is held by its event. */
const maxInline = 4096;

type Named = "result" | "prompt" | "resumedWith" | "input" | "metrics" | "output";

/** Puts data where it is small, else where it stands. */
export function putData(into: object, name: Named, data: unknown, seq: number): void {
  const to = into as Record<string, unknown>;
  Reflect.deleteProperty(to, name);
  Reflect.deleteProperty(to, name + "Ref");
  if (data === undefined) return;
  const size = bytes(JSON.stringify(data));
  if (size <= maxInline) to[name] = data;
  else to[name + "Ref"] = { seq, size } satisfies DataRef;
}

/** The length of a text in UTF-8. */
function bytes(text: string): number {
  let n = text.length;
  for (let i = 0; i < text.length; i++) {
    const c = text.charCodeAt(i);
    if (c >= 0x800) n += c >= 0xd800 && c <= 0xdfff ? 1 : 2;
    else if (c >= 0x80) n += 1;
  }
  return n;
}

/** Sets a member, or removes it: a member that is not there differs from one that is undefined. */
export function put<T extends object, K extends keyof T & string>(
  into: T,
  name: K,
  value: T[K] | undefined,
): void {
  if (value === undefined) Reflect.deleteProperty(into, name);
  else into[name] = value as T[K];
}

export function clear<T extends object>(from: T, ...names: (keyof T & string)[]): void {
  for (const name of names) Reflect.deleteProperty(from, name);
}
