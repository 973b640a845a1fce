import { expect, test } from "vitest";
import { rangeOf, touched, windowOf } from "./strip";

const now = Date.parse("2026-01-05T09:17:30Z");

test("a day is shown in quarters of an hour, an hour in minutes", () => {
  const day = windowOf(now, 86_400);
  expect(day.bucket).toBe(900);
  expect(new Date(day.from).toISOString()).toBe("2026-01-04T09:15:00.000Z");
  expect(new Date(day.to).toISOString()).toBe("2026-01-05T09:30:00.000Z");
  expect(windowOf(now, 3600).bucket).toBe(60);
});

test("the window reaches back to the chosen range, and has at most 500 buckets", () => {
  const w = windowOf(now, 3600, Date.parse("2020-01-01T00:00:00Z"));
  expect(w.from).toBeLessThanOrEqual(Date.parse("2020-01-01T00:00:00Z"));
  expect((w.to - w.from) / w.bucket / 1000).toBeLessThanOrEqual(500);
});

test("buckets become a range and a range becomes the same buckets", () => {
  const w = windowOf(now, 86_400);
  const r = rangeOf(w, 7, 3);
  expect(touched(w, Date.parse(r.from), Date.parse(r.to))).toEqual([3, 7]);
  expect(touched(w, w.from - 5000, w.from - 1000)).toBeUndefined();
  expect(touched(w, w.from - 5000, w.to + 5000)).toEqual([0, (w.to - w.from) / w.bucket / 1000 - 1]);
});
