import { expect, test } from "vitest";
import { bring, place } from "./rows";

test("a list that fits has its rows where they are", () => {
  const p = place(1000, 36, { top: 360, view: 720 });
  expect(p.height).toBe(36_000);
  expect(p.first).toBe(10);
  expect(p.y(12)).toBe(432);
  expect(p.topOf(5)).toEqual({ first: 5, top: 180 });
});

test("a list of a million rows is scaled, and reaches its first and its last row", () => {
  const count = 1_000_000;
  const box = { top: 0, view: 720 };
  expect(place(count, 36, box).first).toBe(0);
  const { height } = place(count, 36, box);
  expect(height).toBeLessThan(17_000_000);
  const end = place(count, 36, { ...box, top: height - 720 });
  expect(end.first + end.rows).toBeCloseTo(count, 6);
  expect(end.y(count - 1) + 36).toBeCloseTo(height, 3);
});

test("a row of a scaled list is found exactly, although a pixel is more than a row", () => {
  const box = { top: 0, view: 720 };
  const goal = place(1_000_000, 36, box).topOf(500_001);
  const top = Math.round(goal.top);
  const p = place(1_000_000, 36, { ...box, top }, { top, first: goal.first });
  expect(p.first).toBe(500_001);
  expect(p.y(500_001)).toBe(top);
});

test("a row comes into view by the shortest way", () => {
  expect(bring(5, 10, 20, "near")).toBe(5);
  expect(bring(15, 10, 20, "near")).toBe(10);
  expect(bring(30, 10, 20, "near")).toBe(11);
  expect(bring(15, 10, 20, "top")).toBe(15);
});
