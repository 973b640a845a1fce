import { expect, test } from "vitest";
import { axisTicks, pan, readRange, timeOf, within, writeRange, xOf, zoom } from "./scale";

const whole = { from: 1_000, to: 11_000 };

test("a zoom keeps the instant under the pointer where it is", () => {
  const r = zoom(whole, 0.5, 3_000, whole);
  expect(r).toEqual({ from: 2_000, to: 7_000 });
  expect(xOf(3_000, r, 100)).toBe(xOf(3_000, whole, 100));
  expect(timeOf(20, r, 100)).toBe(3_000);
});

test("nothing beyond the execution is shown", () => {
  expect(zoom(whole, 10, 3_000, whole)).toEqual(whole);
  expect(pan({ from: 9_000, to: 10_000 }, 5, whole)).toEqual({ from: 10_000, to: 11_000 });
  expect(within({ from: 0, to: 500 }, whole)).toEqual({ from: 1_000, to: 1_500 });
});

test("an execution of no length can be shown", () => {
  const r = within({ from: 5, to: 5 }, { from: 5, to: 5 });
  expect(r.to).toBeGreaterThan(r.from);
  expect(axisTicks(r, 500, 80).at.length).toBeGreaterThan(0);
});

test("ticks are round and far enough apart", () => {
  const t = axisTicks(whole, 500, 80);
  expect(t).toEqual({ step: 2_000, detail: "s", at: [2_000, 4_000, 6_000, 8_000, 10_000] });
  const days = axisTicks({ from: 0, to: 10 * 86_400_000 }, 500, 80, 9 * 3_600_000);
  expect(days.detail).toBe("day");
  for (const at of days.at) expect((at + 9 * 3_600_000) % 86_400_000).toBe(0);
});

test("a range goes through a URL", () => {
  expect(readRange(writeRange({ from: 2_000, to: 3_000 }, whole), whole)).toEqual({ from: 2_000, to: 3_000 });
  expect(readRange("7-3", whole)).toBeUndefined();
  expect(readRange("", whole)).toBeUndefined();
});
