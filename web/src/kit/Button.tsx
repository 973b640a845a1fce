import type { ButtonHTMLAttributes, ReactNode } from "react";
import { useMe } from "../api/session";
import { useWords } from "../words";
import { cx } from "./cx";
import { Held } from "./Held";

export interface ButtonProps extends ButtonHTMLAttributes<HTMLButtonElement> {
  /** Only one primary button a screen; danger names the object and the number. */
  kind?: "plain" | "primary" | "danger" | "quiet";
  small?: boolean;
  busy?: boolean;
  /** The scope that it needs: without it the button does nothing and says so. */
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
  const look = cx("button", kind, small && "small", className);
  if (scope !== undefined && !me.can(scope)) {
    return (
      <Held {...rest} className={look} reason={w.scope.missing(scope)}>
        {icon}
        {children}
      </Held>
    );
  }
  return (
    <button type="button" {...rest} className={look} aria-busy={busy || undefined}>
      {busy ? <span className="spinner" aria-hidden /> : icon}
      {children}
    </button>
  );
}
