import type { ReactNode } from "react";
import { useMe } from "../../api/session";
import { ErrorBox, Loading } from "../../kit";
import { useWords } from "../../words";

interface Read {
  data: unknown;
  error: Error | null;
  refetch: () => unknown;
}

/** A part of the overview: a part without its scope, or whose call fails, leaves the others alone. */
export function Part({
  title,
  note,
  scope,
  read,
  className,
  children,
}: {
  title: string;
  note?: ReactNode;
  scope: string;
  read: Read;
  className: string;
  children: () => ReactNode;
}) {
  const w = useWords();
  const me = useMe();
  const content = () => {
    if (!me.can(scope)) return <p className="muted">{w.scope.missing(scope)}</p>;
    if (read.data !== undefined) return children();
    if (read.error) return <ErrorBox error={read.error} onRetry={() => void read.refetch()} />;
    return <Loading label={w.page.loading} lines={4} />;
  };
  return (
    <section className={`section ${className}`} aria-label={title}>
      <header>
        <h2>{title}</h2>
        {note !== undefined && <span className="muted small-text">{note}</span>}
      </header>
      {content()}
    </section>
  );
}
