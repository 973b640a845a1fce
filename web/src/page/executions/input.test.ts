import { expect, test } from "vitest";
import { schemaFields } from "../../kit/fields";
import { jsonObject, labelsOf, schemaOf } from "./input";

test("an input is a JSON object or nothing", () => {
  expect(jsonObject(' {"a": 1} ')).toEqual({ a: 1 });
  expect(jsonObject("")).toEqual({});
  for (const bad of ["[1]", "null", "7", "{a:1}"]) expect(jsonObject(bad)).toBeUndefined();
});

test("labels are one a line", () => {
  expect(labelsOf("region: eu\n\n tier=gold \nat:09:00")).toEqual({
    region: "eu",
    tier: "gold",
    at: "09:00",
  });
  expect(labelsOf("no label")).toBeUndefined();
  expect(labelsOf("näme:x")).toBeUndefined();
});

test("a form is made of an input", () => {
  const fields = schemaFields(schemaOf({ total: 4200, express: true, note: "x", lines: [1] }));
  expect(fields?.map((f) => [f.name, f.type, f.initial])).toEqual([
    ["total", "number", 4200],
    ["express", "boolean", true],
    ["note", "text", "x"],
    ["lines", "json", [1]],
  ]);
});
