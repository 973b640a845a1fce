import { useState } from "react";
import { Field, type FormField } from "../../kit";
import { useWords } from "../../words";
import type { JsonObject } from "./input";

/** The members of an input, each with a control of its kind; what is not plain is edited as JSON. */
export function InputForm({
  fields,
  value,
  onChange,
}: {
  fields: readonly FormField[];
  value: JsonObject;
  onChange: (v: JsonObject) => void;
}) {
  return (
    <div className="start-form">
      {fields.map((f) => (
        <Member
          key={f.name}
          field={f}
          value={value[f.name]}
          onChange={(v) => onChange({ ...value, [f.name]: v })}
        />
      ))}
    </div>
  );
}

function Member({
  field,
  value,
  onChange,
}: {
  field: FormField;
  value: unknown;
  onChange: (v: unknown) => void;
}) {
  const w = useWords();
  // The kind stays while it is edited, whatever the JSON becomes.
  const [kind] = useState(field.type);
  const plain = kind === "text";
  const [draft, setDraft] = useState(plain ? String(value) : JSON.stringify(value));
  const [wrong, setWrong] = useState(false);
  const set = (s: string) => {
    setDraft(s);
    if (plain) return onChange(s);
    const v = parse(s, kind === "number");
    setWrong(v === undefined);
    if (v !== undefined) onChange(v);
  };
  const problem = kind === "number" ? w.form.number : w.form.invalidJson;
  return (
    <Field label={<code>{field.label}</code>} error={wrong ? problem : undefined}>
      {(id, by) => {
        const common = { id, "aria-describedby": by, "aria-invalid": wrong || undefined };
        if (kind === "boolean") {
          const on = value === true;
          return (
            <input {...common} type="checkbox" checked={on} onChange={(e) => onChange(e.target.checked)} />
          );
        }
        if (kind === "json") {
          return (
            <textarea
              {...common}
              className="code"
              rows={2}
              value={draft}
              onChange={(e) => set(e.target.value)}
            />
          );
        }
        const mode = kind === "number" ? "decimal" : undefined;
        return <input {...common} inputMode={mode} value={draft} onChange={(e) => set(e.target.value)} />;
      }}
    </Field>
  );
}

function parse(s: string, number: boolean): unknown {
  try {
    const v: unknown = JSON.parse(s);
    return number && typeof v !== "number" ? undefined : v;
  } catch {
    return undefined;
  }
}
