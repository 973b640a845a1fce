import { describe, expect, it } from "vitest";
import { ApiError } from "../../api/error";
import { refusalOf, shownOf } from "./refusal";

const refused = (code: string, details: Record<string, unknown>) =>
  new ApiError({ code, status: 422, message: "no", details });

describe("refusalOf", () => {
  it("puts each problem at its field", () => {
    const problems = [
      { field: "output.shelf", message: "one of A1, B4" },
      { field: "output.size.kg", message: "too heavy" },
      { field: "output.size.cm", message: "too long" },
      { field: "output", message: "another member" },
    ];
    const r = refusalOf(refused("OUTPUT_INVALID", { problems }), ["shelf", "size"]);
    expect(r?.fields).toEqual({ shelf: "one of A1, B4", size: "too heavy; too long" });
    expect(r?.rest).toEqual(["another member"]);
  });

  it("says the guard, for whom the wait is, and the event", () => {
    const details = { guard: "assignee", assignees: { roles: ["Manager"] }, cause: { seq: 21 } };
    expect(refusalOf(refused("COMMAND_REJECTED", details), [])).toMatchObject({
      guard: "assignee",
      assignees: { roles: ["Manager"] },
      seq: 21,
    });
  });

  it("says where a cancel won", () => {
    const details = { guard: "cancel_fence", cancelSeq: 9, cause: { seq: 12 } };
    expect(refusalOf(refused("COMMAND_REJECTED", details), [])?.seq).toBe(9);
  });

  it("is none where nothing was refused", () => {
    expect(refusalOf(refused("NETWORK", {}), [])).toBeUndefined();
    expect(refusalOf(new Error("x"), [])).toBeUndefined();
  });
});

describe("shownOf", () => {
  it("separates what is read from what is asked", () => {
    expect(shownOf({ title: "Pay?", text: "Soon.", fields: { claim: "E-1" } })).toEqual({
      title: "Pay?",
      text: "Soon.",
      facts: [["claim", "E-1"]],
      other: undefined,
    });
    expect(shownOf({ fields: [{ name: "ok" }], question: "Which?" })).toMatchObject({
      facts: [],
      other: { question: "Which?" },
    });
    expect(shownOf("Which shelf?")).toEqual({ text: "Which shelf?", facts: [] });
    expect(shownOf([1])).toEqual({ facts: [], other: [1] });
  });
});
