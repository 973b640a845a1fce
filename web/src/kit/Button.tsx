import type { ButtonHTMLAttributes, ReactNode } from "react";
import { useMe } from "../api/session";
import { useWords } from "../words";
import { cx } from "./cx";

export interface ButtonProps extends ButtonHTMLAttributes<HTMLButtonElement> {
  /** Only one primary button a screen; danger names the object and the number. */
  kind?: "plain" | "primary" | "danger" | "quiet";
  small?: boolean;
  busy?: boolean;
  /** The scope that it needs: without it the button is disabled and says so. */
  scope?: string;
  icon?: ReactNode;
}

export function Button({
  kind = "plain",
  small,
  busy,
  scope,
  icon,
  className,
  children,
  ...rest
}: ButtonProps) {
  const me = useMe();
  const w = useWords();
  const missing = scope !== undefined && !me.can(scope);
  return (
    <button
      type="button"
      {...rest}
      className={cx("button", kind, small && "small", className)}
      disabled={rest.disabled === true || missing}
      aria-busy={busy || undefined}
      title={missing ? w.scope.missing(scope) : rest.title}
    >
      {busy ? <span className="spinner" aria-hidden /> : icon}
      {children}
    </button>
  );
}
