import { expect, test } from "vitest";
import { idOf } from "./changes";

test("a frame names its execution, and others name none", () => {
  const id = "0199c1a2-7d10-7c3e-8f21-5d2f6f0c9a01";
  expect(idOf({ id: "", event: "execution", data: `{"executionId":"${id}"}` })).toBe(id);
  expect(idOf({ id: "", event: "begin", data: "{}" })).toBe("");
  expect(idOf({ id: "", event: "execution", data: "{" })).toBe("");
});
