import { expect, test } from "vitest";
import { listOf, searchOf } from "./filter";

const bulk = { createdAt: "2026-01-05T09:00:00.000Z" };

test("the list of a bulk ends when its set was frozen", () => {
  const active = ["ACTIVE"] as const;
  expect(listOf({ ...bulk, filter: {} }, active)).toEqual({ status: ["ACTIVE"], createdTo: bulk.createdAt });
  const filter = { labels: { tier: "gold" }, createdTo: "2026-01-01T00:00:00.000Z", graphId: "order" };
  expect(listOf({ ...bulk, filter }, active)).toEqual({
    graphId: "order",
    label: ["tier:gold"],
    status: ["ACTIVE"],
    createdTo: "2026-01-01T00:00:00.000Z",
  });
  const ended = ["COMPLETED", "FAILED"] as const;
  expect(listOf({ ...bulk, filter: { status: ["FAILED"] } }, ended).status).toEqual(["FAILED"]);
});

test("the page of executions shows the same", () => {
  expect(
    searchOf({ waiting: true, status: ["ACTIVE", "FAILED"], labels: { note: "a,b", tier: "gold" } }),
  ).toEqual({
    waiting: "1",
    status: "ACTIVE,FAILED",
    label: "note:a%2Cb,tier:gold",
  });
});
