// The structural difference of two JSON values: of a state before and after an event, of inputs, of outputs. Members of
// objects are compared by name; lists by their elements, so that one that was inserted does not change all after it.

export type Change =
  | { kind: "added"; path: Path; after: unknown }
  | { kind: "removed"; path: Path; before: unknown }
  | { kind: "changed"; path: Path; before: unknown; after: unknown };

/** Names and indexes from the top; an index is that of the value that is left: after, or before when it is removed. */
export type Path = readonly (string | number)[];

/** Lists of which one has more elements are compared by their place: the exact way takes the square of the time. */
const maxAligned = 400;

/** The changes from one value to another, in the order of the members of after, then of what is gone. */
export function diff(before: unknown, after: unknown, path: Path = []): Change[] {
  const out: Change[] = [];
  compare(before, after, path, out);
  return out;
}

function compare(before: unknown, after: unknown, path: Path, out: Change[]): void {
  if (before === after) return;
  if (before === undefined) out.push({ kind: "added", path, after });
  else if (after === undefined) out.push({ kind: "removed", path, before });
  else if (Array.isArray(before) && Array.isArray(after)) compareLists(before, after, path, out);
  else if (isObject(before) && isObject(after)) compareObjects(before, after, path, out);
  else if (!equal(before, after)) out.push({ kind: "changed", path, before, after });
}

function compareObjects(
  before: Record<string, unknown>,
  after: Record<string, unknown>,
  path: Path,
  out: Change[],
): void {
  for (const name of Object.keys(after)) {
    compare(Object.hasOwn(before, name) ? before[name] : undefined, after[name], [...path, name], out);
  }
  for (const name of Object.keys(before)) {
    if (!Object.hasOwn(after, name)) compare(before[name], undefined, [...path, name], out);
  }
}

function compareLists(
  before: readonly unknown[],
  after: readonly unknown[],
  path: Path,
  out: Change[],
): void {
  let head = 0;
  while (head < before.length && head < after.length && equal(before[head], after[head])) head++;
  let tail = 0;
  const most = Math.min(before.length, after.length) - head;
  while (tail < most && equal(before[before.length - 1 - tail], after[after.length - 1 - tail])) tail++;
  const old = before.slice(head, before.length - tail);
  const now = after.slice(head, after.length - tail);
  const pairs = aligned(old, now);
  let [i, k] = [0, 0];
  for (const [toI, toK] of [...pairs, [old.length, now.length] as const]) {
    for (; i < toI && k < toK; i++, k++) compare(old[i], now[k], [...path, head + k], out);
    for (; i < toI; i++) compare(old[i], undefined, [...path, head + i], out);
    for (; k < toK; k++) compare(undefined, now[k], [...path, head + k], out);
    i++;
    k++;
  }
}

/** The longest common subsequence: pairs of places whose elements are equal. */
function aligned(a: readonly unknown[], b: readonly unknown[]): (readonly [number, number])[] {
  if (a.length === 0 || b.length === 0 || Math.max(a.length, b.length) > maxAligned) return [];
  const left = a.map((v) => canonical(v));
  const right = b.map((v) => canonical(v));
  const width = b.length + 1;
  const long = new Uint16Array((a.length + 1) * width);
  const at = (i: number, k: number) => long[i * width + k] ?? 0;
  for (let i = a.length - 1; i >= 0; i--) {
    for (let k = b.length - 1; k >= 0; k--) {
      long[i * width + k] =
        left[i] === right[k] ? at(i + 1, k + 1) + 1 : Math.max(at(i + 1, k), at(i, k + 1));
    }
  }
  const pairs: (readonly [number, number])[] = [];
  for (let i = 0, k = 0; i < a.length && k < b.length;) {
    if (left[i] === right[k]) pairs.push([i++, k++]);
    else if (at(i + 1, k) >= at(i, k + 1)) i++;
    else k++;
  }
  return pairs;
}

/** Reports whether two JSON values say the same, whatever the order of their members. */
export function equal(a: unknown, b: unknown): boolean {
  if (Object.is(a, b)) return true;
  if (Array.isArray(a) && Array.isArray(b)) return a.length === b.length && a.every((v, i) => equal(v, b[i]));
  if (!isObject(a) || !isObject(b)) return a === b;
  const names = Object.keys(a);
  return (
    names.length === Object.keys(b).length && names.every((n) => Object.hasOwn(b, n) && equal(a[n], b[n]))
  );
}

/** A text that is the same for values that say the same. */
function canonical(v: unknown): string {
  if (Array.isArray(v)) return `[${v.map(canonical).join()}]`;
  if (!isObject(v)) return JSON.stringify(v) ?? "";
  const names = Object.keys(v).sort();
  return `{${names.map((n) => `${JSON.stringify(n)}:${canonical(v[n])}`).join()}}`;
}

function isObject(v: unknown): v is Record<string, unknown> {
  return typeof v === "object" && v !== null && !Array.isArray(v);
}
