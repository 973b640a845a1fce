import { describe, expect, it } from "vitest";
import { match, pathOf, routes, type PageName } from "./routes";

describe("routes", () => {
  it("lead from each page to its path and back", () => {
    for (const name of Object.keys(routes) as PageName[]) {
      const params: Record<string, string> = routes[name].path.includes(":id") ? { id: "a b/ü" } : {};
      expect(match(pathOf(name, params))).toEqual({ name, params });
    }
  });

  it("know nothing else", () => {
    for (const path of ["nothing", "executions/1/2", "graphs/%E0%A4%A/x/y"])
      expect(match(path)).toBeUndefined();
  });
});
