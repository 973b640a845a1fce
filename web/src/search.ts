// Search params with types. A page says what it reads from the URL:
//
//   const spec = { status: list(), graph: text(), page: int(1) };
//   const [search, setSearch] = useSearch(spec);
//   setSearch({ page: 2 });
//
// What has its default is left out of the URL, and what cannot be read is its default.

export interface Codec<T> {
  fallback: T;
  // Methods, so that a Codec of anything is a Codec<unknown>.
  read(s: string): T | undefined;
  write(v: T): string;
}

export type Spec = Record<string, Codec<unknown>>;
export type Values<S> = { [K in keyof S]: S[K] extends Codec<infer T> ? T : never };

/** A text; empty when it is not there. */
export function text(fallback = ""): Codec<string> {
  return { fallback, read: (s) => s, write: (v) => v };
}

/** A whole number. */
export function int(fallback = 0): Codec<number> {
  return { fallback, read: (s) => (/^-?\d{1,15}$/.test(s) ? Number(s) : undefined), write: String };
}

/** Yes or no; `1` in the URL. */
export function flag(): Codec<boolean> {
  return { fallback: false, read: (s) => s === "1", write: () => "1" };
}

/** One of some words. */
export function oneOf<const T extends string>(words: readonly T[], fallback: NoInfer<T>): Codec<T> {
  return { fallback, read: (s) => words.find((w) => w === s), write: (v) => v };
}

/** Some texts, separated by commas. */
export function list<T extends string = string>(allowed?: readonly T[]): Codec<T[]> {
  return {
    fallback: [],
    read: (s) => s.split(",").filter((v): v is T => v !== "" && (!allowed || allowed.includes(v as T))),
    write: (v) => v.join(","),
  };
}

export function readSearch<S extends Spec>(spec: S, search: string): Values<S> {
  const params = new URLSearchParams(search);
  const out: Record<string, unknown> = {};
  for (const [name, codec] of Object.entries(spec)) {
    const raw = params.get(name);
    out[name] = (raw === null ? undefined : codec.read(raw)) ?? codec.fallback;
  }
  return out as Values<S>;
}

/** The search of a URL with some values changed; params that the spec does not name stay. */
export function writeSearch<S extends Spec>(spec: S, search: string, patch: Partial<Values<S>>): string {
  const params = new URLSearchParams(search);
  for (const [name, value] of Object.entries(patch)) {
    const codec = spec[name];
    if (!codec || value === undefined) continue;
    const written = codec.write(value);
    if (written === codec.write(codec.fallback) && (written !== "1" || value === codec.fallback))
      params.delete(name);
    else params.set(name, written);
  }
  const s = params.toString().replaceAll("%2C", ",").replaceAll("%3A", ":");
  return s === "" ? "" : `?${s}`;
}
