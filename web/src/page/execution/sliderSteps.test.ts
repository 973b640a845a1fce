import { expect, test } from "vitest";
import { nearest, step, tickAt } from "./sliderSteps";

const tick = (firstSeq: number, seq: number) => ({ firstSeq, seq, refused: [] });
const ticks = [tick(1, 4), tick(5, 6), tick(7, 10)];

test("steps go from the end of a command to the end of another", () => {
  expect(step(ticks, 4, 1, 10)).toBe(6);
  expect(step(ticks, 6, -1, 10)).toBe(4);
  expect(step(ticks, 4, -1, 10)).toBe(4);
  expect(step(ticks, 4, 10, 10)).toBe(10);
  expect(step(ticks, 10, -10, 10)).toBe(4);
});

test("from within a command a step goes to its end, or to that of the one before it", () => {
  expect(step(ticks, 5, 1, 10)).toBe(6);
  expect(step(ticks, 5, -1, 10)).toBe(4);
  expect(step(ticks, 8, 2, 10)).toBe(10);
});

test("without commands each event is a step", () => {
  expect(step([], 3, 1, 10)).toBe(4);
  expect(step([], 3, -10, 10)).toBe(1);
});

test("a drag rests at the nearest end of a command", () => {
  expect(nearest(ticks, 5, 10)).toBe(4);
  expect(nearest(ticks, 1, 10)).toBe(4);
  expect(nearest(ticks, 7, 10)).toBe(6);
  expect(nearest(ticks, 9, 10)).toBe(10);
});

test("every event belongs to a command", () => {
  expect(tickAt(ticks, 5)?.seq).toBe(6);
  expect(tickAt(ticks, 10)?.seq).toBe(10);
  expect(tickAt(ticks, 11)).toBeUndefined();
});
