import { expect, test } from "vitest";
import { fill, fit, holds, reveal, sight, zoomAt } from "./view";

const area = { width: 800, height: 400 };

test("a fit shows the whole, and never enlarges it", () => {
  const large = { width: 4000, height: 1000 };
  expect(holds(sight(fit(large, area), area), { x: 0, y: 0, ...large })).toBe(true);
  expect(fit({ width: 100, height: 50 }, area).k).toBe(1);
});

test("zooming keeps what is under the pointer", () => {
  const v = { x: 10, y: 20, k: 1 };
  const z = zoomAt(v, { x: 110, y: 220 }, 2);
  expect([(110 - z.x) / z.k, (220 - z.y) / z.k]).toEqual([100, 200]);
});

test("what is in sight is not moved, and what is not comes into sight", () => {
  const v = { x: 0, y: 0, k: 1 };
  expect(reveal(v, { x: 100, y: 100, width: 50, height: 50 }, area)).toBe(v);
  const far = { x: 2000, y: 900, width: 50, height: 50 };
  expect(holds(sight(reveal(v, far, area), area), far)).toBe(true);
});

test("there is no empty border while more of the drawing is beyond the other", () => {
  const v = fill({ x: 500, y: 0, k: 1 }, { width: 4000, height: 100 }, area);
  expect(v.x).toBeLessThanOrEqual(24);
});
