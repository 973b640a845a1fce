import type { Assignees } from "./types";

/** For whom a Wait is, as a list of names. */
export function whom(a: Assignees): string {
  return [...(a.users ?? []), ...(a.roles ?? []), ...(a.groups ?? [])].join(", ");
}
