// What happens to nodes in a simulation, as POST /graphs/simulate takes it: one outcome, or one for each attempt.

export type Outcome = string | string[];
export type OutcomesByNode = Record<string, Outcome>;

/** The outcomes that a URL has; what cannot be read is left out. */
export function readOutcomes(s: string): OutcomesByNode {
  try {
    const v: unknown = JSON.parse(s === "" ? "{}" : s);
    if (typeof v !== "object" || v === null || Array.isArray(v)) return {};
    return Object.fromEntries(
      Object.entries(v).filter(
        (e): e is [string, Outcome] =>
          typeof e[1] === "string" || (Array.isArray(e[1]) && e[1].every((x) => typeof x === "string")),
      ),
    );
  } catch {
    return {};
  }
}
