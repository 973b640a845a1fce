import { describe, expect, it } from "vitest";
import { draftOf, promptFields, schemaFields, valueOf } from "./fields";

describe("forms", () => {
  const prompt = {
    title: "Approve?",
    fields: [
      { name: "approved", label: "Approved", type: "boolean" },
      { name: "amount", type: "number", required: true },
      { name: "size", options: ["S", { value: 2, label: "Large" }] },
    ],
  };

  it("come from a prompt, and what is not one is refused", () => {
    const got = promptFields(prompt);
    expect(got?.title).toBe("Approve?");
    expect(got?.fields.map((f) => [f.name, f.label, f.type, f.required])).toEqual([
      ["approved", "Approved", "boolean", false],
      ["amount", "amount", "number", true],
      ["size", "size", "choice", false],
    ]);
    for (const other of [null, "text", { text: "no fields" }, { fields: [{ label: "nameless" }] }]) {
      expect(promptFields(other)).toBeUndefined();
    }
  });

  it("make a value, or say what is wrong", () => {
    const fields = promptFields(prompt)!.fields;
    const draft = draftOf(fields);
    expect(valueOf(fields, draft).problems).toEqual({ amount: "required" });
    expect(valueOf(fields, { ...draft, amount: "1x" }).problems).toEqual({ amount: "number" });
    expect(valueOf(fields, { approved: true, amount: "12.5", size: "1" })).toEqual({
      value: { approved: true, amount: 12.5, size: 2 },
      problems: {},
    });
  });

  it("come from a JSON Schema; members that are not plain are edited as JSON", () => {
    const schema = {
      type: "object",
      required: ["name"],
      properties: {
        name: { type: "string" },
        n: { type: ["integer", "null"] },
        tags: { type: "array" },
        k: { enum: ["a", 1] },
      },
    };
    const fields = schemaFields(schema)!;
    expect(fields.map((f) => f.type)).toEqual(["text", "integer", "json", "choice"]);
    expect(valueOf(fields, { name: "x", n: "3", tags: '["a"]', k: "1" }).value).toEqual({
      name: "x",
      n: 3,
      tags: ["a"],
      k: 1,
    });
    expect(valueOf(fields, { name: "x", n: "3.5", tags: "[" }).problems).toEqual({
      n: "number",
      tags: "json",
    });
    expect(schemaFields({ type: "string" })).toBeUndefined();
  });
});
