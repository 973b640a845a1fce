import { describe, expect, it } from "vitest";
import { failureGroups, type Failed } from "./failures";
import { consumerLag, outboxLag, type Consumer } from "./lag";
import { needsOf, type Approval, type Bulk, type DeadLetter, type NodeWait } from "./needs";

const at = (minute: number) => new Date(Date.UTC(2026, 0, 5, 9, minute)).toISOString();

describe("needsOf", () => {
  const wait = (id: string, minute: number, graphId = "order") =>
    ({ executionId: id, nodeId: "approve", graphId, since: at(minute) }) as NodeWait;
  const approval = { id: "a", submittedAt: at(3) } as Approval;
  const bulk = (status: string, minute: number) =>
    ({ bulkId: `b${minute}`, status, createdAt: at(0), startedAt: at(minute) }) as Bulk;
  const dead = { deadAt: at(1) } as DeadLetter;

  it("puts the oldest first, whatever it is", () => {
    const { needs, total, more } = needsOf({
      waits: { items: [wait("w1", 2), wait("w2", 6)], total: 2 },
      approvals: { items: [approval], total: 1 },
      dead: { items: [{ deadAt: at(5) } as DeadLetter, dead], total: 12 },
      bulks: [bulk("STOPPED", 4), bulk("DONE", 0)],
    });
    expect(needs.map((n) => n.kind)).toEqual(["dead", "wait", "approval", "bulk", "wait"]);
    expect(needs[0]).toMatchObject({ since: at(1), count: 12 });
    expect([total, more]).toEqual([5, false]);
  });

  it("shows an approval once that is assigned to the caller", () => {
    const items = [wait("w1", 2, "approval:stages-1"), wait("w2", 6)];
    const both = needsOf({ waits: { items, total: 2 }, approvals: { items: [approval], total: 1 } });
    expect(both.needs.map((n) => n.kind)).toEqual(["approval", "wait"]);
    const nobody = needsOf({ waits: { items, total: 2 }, approvals: { items: [], total: 0 } });
    expect(nobody.needs.map((n) => n.kind)).toEqual(["wait", "wait"]);
  });

  it("counts what was not read", () => {
    expect(needsOf({ waits: { items: [wait("w1", 2)], total: 70 } }).total).toBe(70);
    const mixed = needsOf({
      waits: { items: [wait("w1", 2)], total: 70 },
      approvals: { items: [approval], total: 1 },
    });
    expect(mixed.more).toBe(true);
  });
});

describe("lag", () => {
  const now = Date.parse(at(10));
  const part = (p: object) => ({
    partition: 0,
    holder: "p1",
    pending: 0,
    publishedAt: at(0),
    waitingKeys: { retrying: 0, blocked: 0 },
    deadLetters: 0,
    ...p,
  });
  const consumer = (...ps: object[]) => ({ partitions: ps.map(part) }) as unknown as Consumer;

  it("is nothing when all is published and read, however long ago", () => {
    expect(outboxLag({ unpublished: 0, oldestUnpublishedAt: at(0) }, now)).toBe(0);
    expect(consumerLag(consumer({}, {}), now)).toMatchObject({ lag: 0, pending: 0, nobody: false });
  });

  it("is the age of the oldest event that is not published", () => {
    expect(outboxLag({ unpublished: 3, oldestUnpublishedAt: at(9) }, now)).toBe(60_000);
    expect(outboxLag({ unpublished: 3, oldestUnpublishedAt: at(11) }, now)).toBe(0);
  });

  it("is that of the slowest partition", () => {
    const c = consumer({ pending: 2, publishedAt: at(8) }, { pending: 1, publishedAt: at(9) });
    expect(consumerLag(c, now)).toMatchObject({ lag: 120_000, pending: 3 });
  });

  it("counts keys that wait, dead letters and partitions without a reader", () => {
    const blocked = { waitingKeys: { retrying: 1, blocked: 2 }, waitingSince: at(7), deadLetters: 2 };
    const c = consumer(blocked, { holder: undefined });
    expect(consumerLag(c, now)).toEqual({ pending: 0, keys: 3, dead: 2, nobody: true, lag: 180_000 });
  });
});

describe("failureGroups", () => {
  it("groups by graph and code, the newest first, without what is archived", () => {
    const failed = (
      graphId: string,
      errorCode: string | undefined,
      minute: number,
      archivedAt: string | null,
    ) => ({ graphId, errorCode, endedAt: at(minute), createdAt: at(0), archivedAt }) as Failed;
    const groups = failureGroups([
      failed("order", "SOLD_OUT", 1, null),
      failed("order", undefined, 4, null),
      failed("mail", "SOLD_OUT", 2, null),
      failed("order", "SOLD_OUT", 3, null),
      failed("order", "SOLD_OUT", 9, at(9)),
    ]);
    expect(groups).toEqual([
      { graphId: "order", errorCode: "", count: 1, last: at(4) },
      { graphId: "order", errorCode: "SOLD_OUT", count: 2, last: at(3) },
      { graphId: "mail", errorCode: "SOLD_OUT", count: 1, last: at(2) },
    ]);
  });
});
