import { useId, useState, type ReactNode } from "react";
import { usePrefs } from "../prefs";
import { useWords } from "../words";
import { Button } from "./Button";
import { Dialog } from "./Dialog";
import { Field } from "./Field";
import { Icon } from "./Icon";
import { fromControl, showTime, toControl } from "./instant";
import { Menu } from "./Menu";

export interface FilterField {
  id: string;
  label: string;
  /** The values to choose from; without them a text is asked for. */
  options?: readonly { value: string; label: string }[];
  /** Several values at once; several texts are written one a line. */
  many?: boolean;
  hint?: string;
  /** An instant is written and shown in the chosen zone; its value is that of the API. */
  type?: "text" | "instant";
  /** Texts to choose from, beside any other. */
  suggest?: readonly string[];
}

export interface FilterBarProps {
  fields: readonly FilterField[];
  /** The values by field; a field without a value has no chip. */
  values: Readonly<Record<string, readonly string[]>>;
  onChange: (field: string, values: string[]) => void;
  children?: ReactNode;
}

/** Filters as chips. The page keeps them in the URL. */
export function FilterBar({ fields, values, onChange, children }: FilterBarProps) {
  const w = useWords();
  const [editing, setEditing] = useState<FilterField>();
  const active = fields.filter((f) => (values[f.id]?.length ?? 0) > 0);
  const { zone } = usePrefs();
  const show = (f: FilterField, v: string) =>
    f.type === "instant" ? showTime(v, zone) : (f.options?.find((o) => o.value === v)?.label ?? v);
  return (
    <div className="filters" role="group" aria-label={w.filter.label}>
      {active.map((f) => (
        <Chip
          key={f.id}
          label={f.label}
          value={(values[f.id] ?? []).map((v) => show(f, v)).join(", ")}
          onEdit={() => setEditing(f)}
          onRemove={() => onChange(f.id, [])}
        />
      ))}
      <Menu
        quiet
        small
        label={w.filter.add}
        items={fields
          .filter((f) => !active.includes(f))
          .map((f) => ({ label: f.label, onSelect: () => setEditing(f) }))}
      />
      {active.length > 1 && (
        <Button kind="quiet" small onClick={() => active.forEach((f) => onChange(f.id, []))}>
          {w.filter.clear}
        </Button>
      )}
      {children}
      {editing && (
        <Editor
          field={editing}
          values={values[editing.id] ?? []}
          onClose={() => setEditing(undefined)}
          onApply={(v) => {
            onChange(editing.id, v);
            setEditing(undefined);
          }}
        />
      )}
    </div>
  );
}

function Editor({
  field,
  values,
  onApply,
  onClose,
}: {
  field: FilterField;
  values: readonly string[];
  onApply: (v: string[]) => void;
  onClose: () => void;
}) {
  const w = useWords();
  const { zone } = usePrefs();
  const listId = useId();
  const instant = field.type === "instant";
  const [chosen, setChosen] = useState<readonly string[]>(
    instant ? values.map((v) => toControl(v, zone)) : values,
  );
  const apply = () => {
    const all = chosen.map((v) => (instant ? fromControl(v, zone) : v.trim()));
    onApply(all.filter((v) => v !== ""));
  };
  return (
    <Dialog
      title={field.label}
      onClose={onClose}
      actions={
        <>
          <Button onClick={() => onApply([])}>{w.do.clear}</Button>
          <Button kind="primary" onClick={apply}>
            {w.do.apply}
          </Button>
        </>
      }
    >
      {field.options ? (
        <div className="choices">
          {field.options.map((o) => (
            <label key={o.value}>
              <input
                type={field.many ? "checkbox" : "radio"}
                name={field.id}
                checked={chosen.includes(o.value)}
                onChange={(e) => {
                  if (!field.many) setChosen([o.value]);
                  else
                    setChosen(e.target.checked ? [...chosen, o.value] : chosen.filter((v) => v !== o.value));
                }}
              />
              {o.label}
            </label>
          ))}
        </div>
      ) : (
        <Field label={w.filter.value} hint={instant ? w.zone[zone] : field.hint}>
          {(id, by) =>
            field.many ? (
              <textarea
                id={id}
                aria-describedby={by}
                rows={3}
                value={chosen.join("\n")}
                onChange={(e) => setChosen(e.target.value.split("\n"))}
              />
            ) : (
              <input
                id={id}
                aria-describedby={by}
                type={instant ? "datetime-local" : "text"}
                step={instant ? 1 : undefined}
                list={field.suggest && listId}
                value={chosen[0] ?? ""}
                onChange={(e) => setChosen([e.target.value])}
                onKeyDown={(e) => {
                  if (e.key === "Enter" && !e.nativeEvent.isComposing) apply();
                }}
              />
            )
          }
        </Field>
      )}
      {field.suggest && (
        <datalist id={listId}>
          {field.suggest.map((v) => (
            <option key={v} value={v} />
          ))}
        </datalist>
      )}
    </Dialog>
  );
}

/** A thing that holds and can be taken away. */
export function Chip({
  label,
  value,
  onEdit,
  onRemove,
}: {
  label: ReactNode;
  value?: ReactNode;
  onEdit?: () => void;
  onRemove?: () => void;
}) {
  const w = useWords();
  const text = (
    <>
      <span className="muted">{label}</span> {value}
    </>
  );
  return (
    <span className="chip">
      {onEdit ? (
        <button type="button" onClick={onEdit}>
          {text}
        </button>
      ) : (
        <span>{text}</span>
      )}
      {onRemove && (
        <button type="button" aria-label={w.do.remove} onClick={onRemove}>
          <Icon name="close" size={10} />
        </button>
      )}
    </span>
  );
}
