// "Why was it refused?": for each guard, what it saw, the event that made it so and, after a cancel, the fence. Like
// whyNotMoving it gives data, and pages have the words.

import type { Assignees, Decided, LateResult } from "./types";

/** The guards, in the order in which the server asks them. A test compares them with the contract. */
export const guards = [
  "business_key",
  "cancel_fence",
  "execution_active",
  "not_started",
  "started",
  "execution_terminal",
  "not_archived",
  "retry_pending",
  "node_task",
  "node_ready",
  "node_running",
  "node_waiting",
  "node_not_terminal",
  "attempt_due",
  "lease_owner",
  "resume_key",
  "assignee",
  "message",
] as const;

export type Guard = (typeof guards)[number];

/** What somebody can do about a refusal. */
export type Remedy =
  | "none" // it is over: the execution or the node has ended
  | "start_first" // start the execution, then try again
  | "wait_for_end" // archive after the end
  | "wait_for_retry" // the next attempt becomes ready by itself
  | "claim_again" // the attempt belongs to somebody else: ask for the one that is due
  | "other_node" // the node is of another kind
  | "node_status" // the node must come into another status first
  | "other_key" // use the wait key of the node, or another business key
  | "other_person" // one of the assignees
  | "other_message"; // the message that the node asks for

const remedies: Record<Guard, Remedy> = {
  business_key: "other_key",
  cancel_fence: "none",
  execution_active: "none",
  not_started: "none",
  started: "start_first",
  execution_terminal: "wait_for_end",
  not_archived: "none",
  retry_pending: "wait_for_retry",
  node_task: "other_node",
  node_ready: "node_status",
  node_running: "node_status",
  node_waiting: "node_status",
  node_not_terminal: "none",
  attempt_due: "claim_again",
  lease_owner: "claim_again",
  resume_key: "other_key",
  assignee: "other_person",
  message: "other_message",
};

export interface Refused {
  /** unknown: a guard of a newer server; its reason is in text. */
  kind: Guard | "unknown";
  guard: string;
  command: string;
  /** The server's own words. */
  text: string;
  remedy: Remedy;
  number?: number | undefined;
  nodeId?: string | undefined;
  attempt?: number | undefined;
  workerId?: string | undefined;
  at?: string | undefined;
  by?: string | undefined;
  /** What the guard saw. */
  saw: { execution: string; node?: string; nodeStatus?: string; attempt?: number };
  /** The event that made it so. */
  cause?: { seq: number; type: string; occurredAt: string } | undefined;
  /** The seq where cancel won. */
  fence?: number | undefined;
  /** The execution that has the business key. */
  holder?: string | undefined;
  assignees?: Assignees | undefined;
  /** The result that was kept all the same: it did happen. */
  late?: LateResult | undefined;
  lateResultKept: boolean;
  reasonClass?: string | undefined;
  retryAdvice?: string | undefined;
}

interface ErrorBody {
  code?: string;
  message?: string;
  details?: {
    guard?: string;
    state?: Refused["saw"];
    cause?: { seq: number; type: string; occurredAt: string };
    cancelSeq?: number;
    executionId?: string;
    assignees?: Assignees;
    lateResultKept?: boolean;
    reasonClass?: string;
    retryAdvice?: string;
  };
}

/** Why a command was refused, from the error of its answer; nothing when it is no refusal of a guard. */
export function whyRefused(
  error: unknown,
  of: Partial<Omit<Decided, "error">> = {},
  late: readonly LateResult[] = [],
): Refused | undefined {
  const body = (error ?? {}) as ErrorBody;
  const d = body.details;
  if (body.code !== "COMMAND_REJECTED" || d?.guard === undefined) return undefined;
  const kind = (guards as readonly string[]).includes(d.guard) ? (d.guard as Guard) : "unknown";
  const text = body.message ?? "";
  const command = of.command ?? text.split(" rejected because ")[0] ?? "";
  const nodeId = of.nodeId ?? d.state?.node;
  return {
    kind,
    guard: d.guard,
    command,
    text,
    remedy: kind === "unknown" ? "none" : remedies[kind],
    number: of.number,
    nodeId,
    attempt: of.attempt,
    workerId: of.workerId,
    at: of.decidedAt,
    by: of.actor?.id,
    saw: d.state ?? { execution: "" },
    cause: d.cause && { seq: d.cause.seq, type: d.cause.type, occurredAt: d.cause.occurredAt },
    fence: d.cancelSeq,
    holder: d.executionId,
    assignees: d.assignees,
    late: late.find(
      (l) => l.command === command && l.nodeId === nodeId && (!of.decidedAt || l.receivedAt === of.decidedAt),
    ),
    lateResultKept: d.lateResultKept === true,
    reasonClass: d.reasonClass,
    retryAdvice: d.retryAdvice,
  };
}

/** A step of the slider: an accepted command with its events, and what was refused after it. */
export interface Tick {
  /** The last event of the command; the state after it is a rest point of the execution. */
  seq: number;
  firstSeq: number;
  command?: Decided | undefined;
  refused: Refused[];
}

/**
 * The steps of the slider, one for each command that changed something, in the order of the log. Refusals stand with
 * the command that came before them: up to there a state includes them, and the late results that they carry.
 */
export function ticks(commands: readonly Decided[], late: readonly LateResult[] = []): Tick[] {
  const out: Tick[] = [{ seq: 0, firstSeq: 0, refused: [] }];
  for (const c of [...commands].sort((a, b) => a.number - b.number)) {
    const last = out.at(-1) as Tick;
    const refused = c.accepted ? undefined : whyRefused(c.error, c, late);
    if (refused) last.refused.push(refused);
    else if (c.lastSeq !== undefined && c.lastSeq > last.seq) {
      out.push({ seq: c.lastSeq, firstSeq: c.firstSeq ?? c.lastSeq, command: c, refused: [] });
    }
  }
  return out[0]?.refused.length === 0 ? out.slice(1) : out;
}

/** The late results that had come when the event with this seq was the last. */
export function lateUntil(all: readonly Tick[], seq: number): LateResult[] {
  return all.filter((t) => t.seq <= seq).flatMap((t) => t.refused.flatMap((r) => r.late ?? []));
}
