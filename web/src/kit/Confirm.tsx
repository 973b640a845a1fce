import { useState, type ReactNode } from "react";
import { useWords } from "../words";
import { Button } from "./Button";
import { Dialog } from "./Dialog";
import { ErrorBox } from "./ErrorBox";
import { Field } from "./Field";

export interface ConfirmProps {
  title: ReactNode;
  /** What it does, before it does it: "2 running, 1 waiting closes, 14 never run". */
  children?: ReactNode;
  /** Names the object and the number: "Cancel 3 executions". Never "OK". */
  action: string;
  danger?: boolean;
  scope?: string;
  /** Ask for a reason: it may be given, or it must. */
  reason?: "optional" | "required";
  busy?: boolean;
  /** It cannot be done as it stands; the content says why. */
  disabled?: boolean;
  error?: Error | undefined;
  onConfirm: (reason: string) => void;
  onClose: () => void;
}

/** Asks before something that cannot be undone. */
export function Confirm(p: ConfirmProps) {
  const w = useWords();
  const [reason, setReason] = useState("");
  const missing = p.reason === "required" && reason.trim() === "";
  return (
    <Dialog
      title={p.title}
      onClose={p.onClose}
      actions={
        <>
          <Button onClick={p.onClose}>{w.do.cancel}</Button>
          <Button
            kind={p.danger ? "danger" : "primary"}
            busy={p.busy ?? false}
            disabled={missing || p.disabled === true}
            {...(p.scope ? { scope: p.scope } : {})}
            onClick={() => p.onConfirm(reason.trim())}
          >
            {p.action}
          </Button>
        </>
      }
    >
      {p.children}
      {p.reason && (
        <Field label={w.form.reason} required={p.reason === "required"}>
          {(id) => (
            <textarea
              id={id}
              value={reason}
              maxLength={1000}
              rows={2}
              onChange={(e) => setReason(e.target.value)}
            />
          )}
        </Field>
      )}
      {p.error && <ErrorBox error={p.error} />}
    </Dialog>
  );
}
