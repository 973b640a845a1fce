import { expect, test } from "vitest";
import type { Change } from "./diff";
import { diff, equal } from "./diff";
import { fixtures } from "./fixtures";

const said = (changes: Change[]) => changes.map((c) => `${c.kind} ${c.path.join(".")}`);

test("members are added, removed and changed, at their path", () => {
  expect(diff({ a: 1, b: { c: 2, d: 3 }, gone: 1 }, { a: 1, b: { c: 5, d: 3, e: null } })).toEqual([
    { kind: "changed", path: ["b", "c"], before: 2, after: 5 },
    { kind: "added", path: ["b", "e"], after: null },
    { kind: "removed", path: ["gone"], before: 1 },
  ]);
});

test("equal values have no difference, whatever the order of members", () => {
  expect(diff({ a: [1, { x: 1, y: 2 }], b: 2 }, { b: 2, a: [1, { y: 2, x: 1 }] })).toEqual([]);
  expect(equal([1, 2], [1, 2, 3])).toBe(false);
  expect(equal({ a: undefined }, { b: undefined })).toBe(false);
  for (const v of [null, 0, "", false, [], {}]) expect(diff(v, v)).toEqual([]);
});

test("values of another kind are changed as a whole", () => {
  expect(said(diff([1], { 0: 1 }))).toEqual(["changed "]);
  expect(said(diff({ a: null }, { a: {} }))).toEqual(["changed a"]);
  expect(said(diff("1", 1))).toEqual(["changed "]);
  expect(said(diff(undefined, 1))).toEqual(["added "]);
});

test("an element in the middle of a list does not change those after it", () => {
  expect(diff(["a", "b", "c"], ["a", "x", "b", "c"])).toEqual([{ kind: "added", path: [1], after: "x" }]);
  expect(diff(["a", "b", "c", "d"], ["a", "c", "d"])).toEqual([{ kind: "removed", path: [1], before: "b" }]);
  expect(said(diff([{ id: 1, v: 1 }, { id: 2 }], [{ id: 1, v: 2 }, { id: 2 }]))).toEqual(["changed 0.v"]);
  expect(said(diff([1, 2, 3, 4, 5], [0, 2, 9, 4, 6, 7]))).toEqual([
    "changed 0",
    "changed 2",
    "changed 4",
    "added 5",
  ]);
});

test("names that objects have of themselves are names like others", () => {
  const odd = JSON.parse('{"__proto__":1,"constructor":2,"が":3}') as unknown;
  expect(said(diff({}, odd))).toEqual(["added __proto__", "added constructor", "added が"]);
  expect(said(diff(odd, {}))).toEqual(["removed __proto__", "removed constructor", "removed が"]);
});

test("the difference of two states of an execution names what the event changed", () => {
  for (const f of fixtures()) {
    for (let n = 1; n < f.states.length; n++) {
      const paths = diff(f.states[n - 1], f.states[n]).map((c) => c.path[0]);
      expect(paths).toContain("seq");
      const node = (f.events[n]!.payload as { nodeId?: string }).nodeId;
      if (node === undefined) expect(paths).not.toContain("nodes");
    }
  }
});

test("long lists are compared in reasonable time", () => {
  const list = Array.from({ length: 20_000 }, (_, i) => ({ i }));
  expect(diff(list, [...list, { i: -1 }])).toHaveLength(1);
  expect(
    diff(
      list,
      list.map((v) => ({ i: v.i + 1 })),
    ),
  ).toHaveLength(20_000);
});
