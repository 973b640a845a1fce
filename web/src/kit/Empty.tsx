import type { ReactNode } from "react";

/** An empty state teaches: what this is, one command, one button. */
export function Empty({
  title,
  children,
  command,
  action,
}: {
  title: ReactNode;
  children?: ReactNode;
  command?: string;
  action?: ReactNode;
}) {
  return (
    <div className="empty">
      <h2>{title}</h2>
      {children && <p>{children}</p>}
      {command && <pre>{command}</pre>}
      {action}
    </div>
  );
}

/** Grey lines where data will be, after a moment, so that fast answers do not flicker. */
export function Loading({ label, lines = 4 }: { label: string; lines?: number }) {
  return (
    <div className="loading" role="status" aria-label={label}>
      {Array.from({ length: lines }, (_, i) => (
        <span key={i} />
      ))}
    </div>
  );
}
