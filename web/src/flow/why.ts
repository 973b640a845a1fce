// "Why does it not move?": what each node of an ACTIVE execution needs to go on, most pressing first. The answers are
// data, kind and values, so that a page says them in the words of its language. Times are milliseconds: spans until or
// since now, so that a countdown only has to subtract.

import type { LocalNode } from "./apply";
import type {
  Assignees,
  Attempt,
  Awaited,
  ExecutionState,
  Graph,
  GraphNode,
  NodeAttempts,
  Queue,
} from "./types";
import { nodeEnded } from "./types";

/** From when on a READY node counts as one that nobody claims. */
export const unclaimedAfter = 60_000;

interface OfNode {
  nodeId: string;
}

/** One reason. Spans are in milliseconds and below 0 when their end has passed and the server is about to act. */
export type Why =
  | { kind: "ended"; status: string; at?: string | undefined }
  | { kind: "not_started"; since: number }
  | { kind: "canceling"; seq: number; reason?: string | undefined; by?: string | undefined; since: number }
  | (OfNode & {
      kind: "ready";
      queue?: string | undefined;
      attempt: number;
      since?: number | undefined;
      ahead: Ahead;
    })
  | (OfNode & { kind: "unclaimed"; queue?: string | undefined; attempt: number; since: number; ahead: Ahead })
  | (OfNode & {
      kind: "retry";
      attempt: number;
      maxAttempts?: number | undefined;
      in: number;
      errorCode?: string | undefined;
      errorMessage?: string | undefined;
    })
  | (OfNode & {
      kind: "running";
      attempt: number;
      workerId?: string | undefined;
      since?: number | undefined;
      progress?: number | undefined;
      message?: string | undefined;
      leaseLeft?: number | undefined;
      timeoutLeft?: number | undefined;
    })
  | (OfNode & {
      kind: "wait";
      waitKey?: string | undefined;
      since?: number | undefined;
      endsIn?: number | undefined;
      /** Who may resume it; nobody in particular when there are none. */
      assignees?: Assignees | undefined;
      reminders: number;
      remindsIn?: number | undefined;
    })
  | (OfNode & { kind: "timer"; since?: number | undefined; endsIn: number })
  | (OfNode & {
      kind: "message";
      awaits: Awaited;
      since?: number | undefined;
      endsIn?: number | undefined;
    })
  | (OfNode & {
      kind: "join";
      policy: string;
      /** How many branches must still succeed or end; none for a CUSTOM policy. */
      needs?: number | undefined;
      expected: number;
      completed: number;
      failed: number;
      canceled: number;
      missing: string[];
    })
  | { kind: "resting" };

/** How many tasks wait in the queue of a node, as far as they are counted. */
export interface Ahead {
  ready?: number | undefined;
  more: boolean;
  oldest?: number | undefined;
}

export interface WhyInput {
  state: ExecutionState & { nodes: readonly LocalNode[] };
  graph?: Graph | undefined;
  /** GET /tasks/queues. */
  queues?: readonly Queue[] | undefined;
  /** Since when nodes are as they are, when the state does not come from the log. */
  attempts?: readonly NodeAttempts[] | undefined;
  now: number;
}

/** Why an execution does not move. There is always one reason. */
export function whyNotMoving(input: WhyInput): Why[] {
  const { state, now } = input;
  if (state.status !== "ACTIVE") return [{ kind: "ended", status: state.status, at: state.endedAt }];
  if (state.cancelRequestedAt !== null) {
    const { seq = 0, reason, requestedBy } = state.cancel ?? {};
    const since = now - Date.parse(state.cancelRequestedAt);
    return [{ kind: "canceling", seq, reason, by: requestedBy?.id, since }];
  }
  if (state.startedAt === undefined)
    return [{ kind: "not_started", since: now - Date.parse(state.createdAt) }];
  const specs = new Map(input.graph?.nodes.map((n) => [n.nodeId, n]));
  const queues = new Map(input.queues?.map((q) => [q.queue, q]));
  const attempts = new Map(input.attempts?.map((n) => [n.nodeId, n.attempts.at(-1)]));
  const found: Why[] = [];
  for (const n of state.nodes) {
    const why = whyNode(n, { now, spec: specs.get(n.nodeId), queues, last: attempts.get(n.nodeId) });
    if (why) found.push(why);
  }
  if (found.length === 0) return [{ kind: "resting" }];
  return found.sort(byUrgency);
}

interface Around {
  now: number;
  spec: GraphNode | undefined;
  queues: Map<string, Queue>;
  last: Attempt | undefined;
}

/** What one node needs to go on; nothing of one that has ended or was not reached. */
function whyNode(n: LocalNode, a: Around): Why | undefined {
  const left = (at: string | undefined) => (at === undefined ? undefined : Date.parse(at) - a.now);
  const nodeId = n.nodeId;
  if (nodeEnded(n.status)) return undefined;
  if (n.retryAt !== undefined) {
    return {
      kind: "retry",
      nodeId,
      attempt: n.attempt + 1,
      maxAttempts: a.spec?.retry?.maxAttempts,
      in: Date.parse(n.retryAt) - a.now,
      errorCode: n.error?.code,
      errorMessage: n.error?.message,
    };
  }
  switch (n.status) {
    case "READY":
      return whyReady(n, a);
    case "RUNNING":
      return {
        kind: "running",
        nodeId,
        attempt: n.attempt,
        workerId: n.workerId,
        since: sinceOf(n, a),
        progress: n.progress,
        message: n.message,
        leaseLeft: left(n.leaseUntil),
        timeoutLeft: left(n.timeoutAt),
      };
    case "WAITING":
      return whyWaiting(n, a);
  }
  return n.gate !== undefined && !n.gate.passed ? whyJoin(n, a.spec) : undefined;
}

function whyReady(n: LocalNode, a: Around): Why {
  const queue = a.spec?.queue ?? (a.spec?.type === "Task" ? "default" : undefined);
  const waiting = queue === undefined ? undefined : a.queues.get(queue);
  const oldest = waiting === undefined ? undefined : a.now - Date.parse(waiting.oldestReadyAt);
  const ahead: Ahead = { ready: waiting?.ready, more: waiting?.more === true, oldest };
  const since = sinceOf(n, a);
  const attempt = n.nextAttempt ?? n.attempt + 1;
  if (since !== undefined && since >= unclaimedAfter) {
    return { kind: "unclaimed", nodeId: n.nodeId, queue, attempt, since, ahead };
  }
  return { kind: "ready", nodeId: n.nodeId, queue, attempt, since, ahead };
}

function whyWaiting(n: LocalNode, a: Around): Why {
  const since = sinceOf(n, a);
  const endsIn = n.waitUntil === undefined ? undefined : Date.parse(n.waitUntil) - a.now;
  const nodeId = n.nodeId;
  if (n.awaits) return { kind: "message", nodeId, awaits: n.awaits, since, endsIn };
  if (a.spec?.for !== undefined && endsIn !== undefined) return { kind: "timer", nodeId, since, endsIn };
  const reminds = n.nextReminderAt;
  return {
    kind: "wait",
    nodeId,
    waitKey: n.waitKey,
    since,
    endsIn,
    assignees: n.assignees,
    reminders: n.reminders ?? 0,
    remindsIn: reminds === undefined ? undefined : Date.parse(reminds) - a.now,
  };
}

function whyJoin(n: LocalNode, spec: GraphNode | undefined): Why {
  const g = n.gate as NonNullable<LocalNode["gate"]>;
  const length = (name: "expected" | "completed" | "failed" | "canceled") =>
    n.gateCounts?.[name + "Branches"] ?? g[`${name}Branches`].length;
  const arrived = new Set([...g.completedBranches, ...g.failedBranches, ...g.canceledBranches]);
  const policy = spec?.policy ?? "ALL_SUCCESS";
  const [expected, completed] = [length("expected"), length("completed")];
  const [failed, canceled] = [length("failed"), length("canceled")];
  const open = expected - completed - failed - canceled;
  const needs: Record<string, number> = { ALL_SUCCESS: open, ALL_DONE: open, ANY_SUCCESS: 1 };
  return {
    kind: "join",
    nodeId: n.nodeId,
    policy,
    needs: needs[policy],
    expected,
    completed,
    failed,
    canceled,
    missing: g.expectedBranches.filter((branch) => !arrived.has(branch)),
  };
}

/** For how long a node has its status: as its log says, else as its attempts do. */
function sinceOf(n: LocalNode, a: Around): number | undefined {
  const wait = a.last?.waits?.at(-1)?.since;
  const started = a.last?.waits?.at(-1)?.until ?? a.last?.startedAt;
  const at = n.cause?.at ?? { READY: a.last?.readyAt, RUNNING: started, WAITING: wait }[n.status as "READY"];
  return at === undefined ? undefined : a.now - Date.parse(at);
}

const order: Why["kind"][] = ["unclaimed", "retry", "wait", "message", "timer", "ready", "running", "join"];

/** What a person can do something about comes first; of one kind, what ends soonest. */
function byUrgency(a: Why, b: Why): number {
  const ends = (w: Why) => ("in" in w ? w.in : "endsIn" in w ? w.endsIn : undefined) ?? Number.MAX_VALUE;
  return order.indexOf(a.kind) - order.indexOf(b.kind) || ends(a) - ends(b);
}
