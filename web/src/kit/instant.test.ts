import { expect, test } from "vitest";
import { fromControl, toControl } from "./instant";

test("a control holds the time of its zone", () => {
  expect(toControl("2026-01-05T09:00:00.000Z", "jst")).toBe("2026-01-05T18:00:00");
  expect(toControl("2026-01-05T09:00:00.000Z", "utc")).toBe("2026-01-05T09:00:00");
  expect(toControl("nonsense", "utc")).toBe("");
  expect(fromControl("2026-01-05T18:00", "jst")).toBe("2026-01-05T09:00:00.000Z");
  expect(fromControl("2026-01-05T09:00:05", "utc")).toBe("2026-01-05T09:00:05.000Z");
  expect(fromControl("", "utc")).toBe("");
  const here = "2026-07-05T12:30:00.000Z";
  expect(fromControl(toControl(here, "local"), "local")).toBe(here);
});
