import { useState, type ReactNode } from "react";
import { useWords } from "../words";
import { Field } from "./Field";
import { draftOf, valueOf, type FormField } from "./fields";

export interface FormProps {
  fields: readonly FormField[];
  onSubmit: (value: Record<string, unknown>) => void;
  /** The buttons; the one that sends has type="submit". */
  actions: ReactNode;
  /** What the server said about a field, by its name. */
  errors?: Readonly<Record<string, string>> | undefined;
}

/** A form from fields: see promptFields and schemaFields. Problems show when it is sent, then as one types. */
export function Form({ fields, onSubmit, actions, errors = {} }: FormProps) {
  const w = useWords();
  const [draft, setDraft] = useState(() => draftOf(fields));
  const [tried, setTried] = useState(false);
  const { value, problems } = valueOf(fields, draft);
  const said = { required: w.form.required, number: w.form.number, json: w.form.invalidJson };
  const set = (name: string, v: string | boolean) => setDraft((d) => ({ ...d, [name]: v }));

  const control = (f: FormField, id: string, by: string | undefined) => {
    const common = {
      id,
      "aria-describedby": by,
      "aria-invalid": (tried && f.name in problems) || f.name in errors ? true : undefined,
    };
    const text = String(draft[f.name] ?? "");
    if (f.type === "boolean") {
      const on = draft[f.name] === true;
      return (
        <input {...common} type="checkbox" checked={on} onChange={(e) => set(f.name, e.target.checked)} />
      );
    }
    const change = (e: { target: { value: string } }) => set(f.name, e.target.value);
    if (f.type === "choice") {
      return (
        <select {...common} value={text} onChange={change}>
          <option value="">{w.form.choose}</option>
          {f.options?.map((o, i) => (
            <option key={i} value={String(i)}>
              {o.label}
            </option>
          ))}
        </select>
      );
    }
    if (f.type === "longtext" || f.type === "json") {
      const code = f.type === "json" ? "code" : undefined;
      return (
        <textarea {...common} className={code} rows={4} value={text} onChange={change} spellCheck={!code} />
      );
    }
    const type = { date: "date", datetime: "datetime-local" }[f.type as string] ?? "text";
    const mode = f.type === "number" || f.type === "integer" ? "decimal" : undefined;
    return <input {...common} type={type} inputMode={mode} value={text} onChange={change} />;
  };

  return (
    <form
      className="form"
      noValidate
      onSubmit={(e) => {
        e.preventDefault();
        setTried(true);
        if (Object.keys(problems).length === 0) onSubmit(value);
      }}
    >
      {fields.map((f) => {
        const problem = tried ? problems[f.name] : undefined;
        return (
          <Field
            key={f.name}
            label={f.label}
            hint={f.hint}
            required={f.required}
            error={problem ? said[problem] : errors[f.name]}
          >
            {(id, by) => control(f, id, by)}
          </Field>
        );
      })}
      <div className="form-actions">{actions}</div>
    </form>
  );
}
