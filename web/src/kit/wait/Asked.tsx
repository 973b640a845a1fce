import { Fragment } from "react";
import type { DataRef } from "../../flow/types";
import { usePageWords } from "../../words";
import { EventData } from "../EventData";
import { Json } from "../Json";
import type { Shown } from "./refusal";
import { text } from "./words";

/** What a Wait asks, without its title: its text, the values to read, and what else its prompt has. */
export function Asked({
  executionId,
  shown,
  reference,
}: {
  executionId: string;
  shown: Shown;
  /** Where a large prompt stands. */
  reference: DataRef | undefined;
}) {
  const t = usePageWords(text);
  return (
    <>
      {shown.text && <p className="wait-text">{shown.text}</p>}
      {shown.facts.length > 0 && (
        <dl className="facts wait-facts">
          {shown.facts.map(([name, value]) => (
            <Fragment key={name}>
              <dt>{name}</dt>
              <dd>{typeof value === "object" ? <code>{JSON.stringify(value)}</code> : String(value)}</dd>
            </Fragment>
          ))}
        </dl>
      )}
      {shown.other !== undefined && <Json value={shown.other} label={t.asks} />}
      {reference && (
        <EventData executionId={executionId} reference={reference} member="prompt" label={t.asks} />
      )}
    </>
  );
}
