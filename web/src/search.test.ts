import { describe, expect, it } from "vitest";
import { flag, int, list, oneOf, readSearch, text, writeSearch } from "./search";

const spec = {
  status: list(["FAILED", "CANCELED"] as const),
  graph: text(),
  page: int(1),
  waiting: flag(),
  tab: oneOf(["graph", "log"], "graph"),
};

describe("search params", () => {
  it("are their defaults when the URL has none, or what cannot be read", () => {
    const want = { status: [], graph: "", page: 1, waiting: false, tab: "graph" };
    expect(readSearch(spec, "")).toEqual(want);
    expect(readSearch(spec, "?status=GONE&page=x&waiting=no&tab=what")).toEqual(want);
  });

  it("survive the way into the URL and back", () => {
    const values = {
      status: ["FAILED" as const, "CANCELED" as const],
      graph: "a b/ü",
      page: 7,
      waiting: true,
      tab: "log" as const,
    };
    const url = writeSearch(spec, "", values);
    expect(url).toContain("status=FAILED,CANCELED");
    expect(readSearch(spec, url)).toEqual(values);
  });

  it("leave defaults out and keep what the spec does not name", () => {
    expect(writeSearch(spec, "?other=1&page=7&waiting=1", { page: 1, waiting: false })).toBe("?other=1");
    expect(writeSearch(spec, "?page=7", { page: 1, tab: "graph" })).toBe("");
  });
});
