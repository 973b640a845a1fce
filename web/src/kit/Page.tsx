import { useEffect, type ReactNode } from "react";
import { useWords } from "../words";

/** The frame of every page: its heading, what can be done, and the content. It also names the document. */
export function Page({
  title,
  heading,
  subtitle,
  actions,
  children,
}: {
  /** The plain text of the heading, for the title of the tab. */
  title: string;
  heading?: ReactNode;
  subtitle?: ReactNode;
  actions?: ReactNode;
  children?: ReactNode;
}) {
  const w = useWords();
  useEffect(() => {
    document.title = `${title} · ${w.product}`;
  }, [title, w]);
  return (
    <div className="page">
      <header className="page-head">
        <div>
          <h1>{heading ?? title}</h1>
          {subtitle && <p className="muted">{subtitle}</p>}
        </div>
        {actions && <div className="page-actions">{actions}</div>}
      </header>
      {children}
    </div>
  );
}

/** A part of a page with a heading. */
export function Section({
  title,
  actions,
  children,
}: {
  title: ReactNode;
  actions?: ReactNode;
  children: ReactNode;
}) {
  return (
    <section className="section">
      <header>
        <h2>{title}</h2>
        {actions}
      </header>
      {children}
    </section>
  );
}
