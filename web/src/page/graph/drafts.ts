import { identity } from "../../api/caller";
import type { Draft } from "./context";

// Edits that are not stored, for as long as the document lives: whoever leaves a graph finds the edit again. In no
// storage of the browser, which holds no data; so the browser asks before the document goes.

const drafts = new Map<string, Draft>();

/** Tenant and user belong to the key: nobody is offered what somebody else wrote. */
function keyOf(graphId: string): string {
  const { tenant, user } = identity();
  return JSON.stringify([tenant, user, graphId]);
}

export function draftOf(graphId: string): Draft | undefined {
  return drafts.get(keyOf(graphId));
}

export function keepDraft(graphId: string, draft: Draft | undefined): void {
  if (draft) drafts.set(keyOf(graphId), draft);
  else drafts.delete(keyOf(graphId));
  // Only while there is one: a document that listens is not kept for "back".
  if (drafts.size > 0) addEventListener("beforeunload", ask);
  else removeEventListener("beforeunload", ask);
}

function ask(e: BeforeUnloadEvent) {
  e.preventDefault();
}
