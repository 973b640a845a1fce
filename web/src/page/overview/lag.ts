// PURE: how far events are behind, in seconds, from what the outbox and the consumers say.

import type { Answer } from "../../api";

export type Consumer = Answer<"/events/consumers">["items"][number];
export type Outbox = Answer<"/events/outbox">;

export interface ConsumerLag {
  pending: number;
  keys: number;
  dead: number;
  /** A partition that nobody reads. */
  nobody: boolean;
  /** Milliseconds; 0 when nothing is left to read and no key waits. */
  lag: number;
}

/** How old the oldest event is that is not published. */
export function outboxLag(o: Pick<Outbox, "unpublished" | "oldestUnpublishedAt">, now: number): number {
  if (o.unpublished === 0 || o.oldestUnpublishedAt === undefined) return 0;
  return Math.max(0, now - Date.parse(o.oldestUnpublishedAt));
}

/** A consumer is as far behind as its slowest partition. */
export function consumerLag(c: Pick<Consumer, "partitions">, now: number): ConsumerLag {
  const out: ConsumerLag = { pending: 0, keys: 0, dead: 0, nobody: false, lag: 0 };
  for (const p of c.partitions) {
    out.pending += p.pending;
    out.keys += p.waitingKeys.retrying + p.waitingKeys.blocked;
    out.dead += p.deadLetters;
    if (p.holder === undefined) out.nobody = true;
    // What it has not read was published after the last event that it read.
    const read = p.pending > 0 ? age(p.publishedAt, now) : 0;
    out.lag = Math.max(out.lag, read, age(p.waitingSince, now));
  }
  return out;
}

function age(at: string | undefined, now: number): number {
  return at === undefined ? 0 : Math.max(0, now - Date.parse(at));
}
