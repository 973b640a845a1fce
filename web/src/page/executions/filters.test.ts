import { expect, test } from "vitest";
import { readSearch, writeSearch } from "../../search";
import { bulkFilter, flags, query, requestSearch, spec } from "./filters";

const read = (s: string) => readSearch(spec, s);

test("filters go from the URL to the list and to the command line", () => {
  const q = query(
    read("?status=FAILED,ACTIVE&graphId=order&label=region:eu,tier:gold&waiting=1&nodeId=approve"),
  );
  expect(q).toEqual({
    status: ["FAILED", "ACTIVE"],
    graphId: "order",
    label: ["region:eu", "tier:gold"],
    waiting: true,
    nodeId: "approve",
  });
  expect(requestSearch(q)).toBe(
    "?status=FAILED,ACTIVE&graphId=order&label=region:eu&label=tier:gold&waiting=true&nodeId=approve",
  );
  expect(flags(q)).toBe(
    " --status FAILED,ACTIVE --graph order --label region=eu --label tier=gold --waiting --node approve",
  );
  expect(flags(query(read("?businessKey=it's")))).toBe(" --business-key 'it'\\''s'");
});

test("what the URL says wrongly is left out", () => {
  expect(query(read("?status=GONE&createdFrom=soon&label=x&waiting=yes"))).toEqual({});
});

test("a label with a comma survives the URL", () => {
  const s = writeSearch(spec, "", { label: ["note:a,b%2C", "x:y:z"] });
  expect(read(s).label).toEqual(["note:a,b%2C", "x:y:z"]);
});

test("a bulk selects what the list shows, of what its command may change", () => {
  const q = query(read("?status=ACTIVE&label=note:a:b&createdTo=2026-01-05T09:00:00Z"));
  const filter = { status: ["ACTIVE"], labels: { note: "a:b" }, createdTo: "2026-01-05T09:00:00.000Z" };
  expect(bulkFilter(q, "cancel")).toEqual(filter);
  expect(bulkFilter(q, "archive")).toBeUndefined();
  expect(bulkFilter(query(read("?status=FAILED")), "cancel")).toBeUndefined();
  expect(bulkFilter(query(read("?errorCode=X")), "cancel")).toBeUndefined();
  expect(bulkFilter(query(read("?errorCode=X")), "archive")).toEqual({ errorCode: "X" });
  expect(bulkFilter(query(read("?waiting=1")), "archive")).toBeUndefined();
  expect(bulkFilter({}, "cancel")).toEqual({});
});
