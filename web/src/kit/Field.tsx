import { useId, type ReactNode } from "react";
import { useWords } from "../words";

export interface FieldProps {
  label: ReactNode;
  hint?: ReactNode;
  error?: ReactNode;
  required?: boolean;
  children: (id: string, describedBy: string | undefined) => ReactNode;
}

/** A label, its control, a hint and what is wrong. */
export function Field({ label, hint, error, required, children }: FieldProps) {
  const id = useId();
  const w = useWords();
  const said = `${id}-said`;
  const has = hint !== undefined || error !== undefined;
  return (
    <div className="field">
      <label htmlFor={id}>
        {label}
        {required && <span className="muted"> · {w.form.required}</span>}
      </label>
      {children(id, has ? said : undefined)}
      {has && (
        <p id={said} className={error === undefined ? "hint" : "hint wrong"}>
          {error ?? hint}
        </p>
      )}
    </div>
  );
}
