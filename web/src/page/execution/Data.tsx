import type { DataRef } from "../../flow/types";
import { EventData, Json } from "../../kit";
import { useExecutionContext } from "./context";

interface DataProps {
  value: unknown;
  reference: DataRef | undefined;
  /** Which member of the event's payload it is. */
  member: string;
  label: string;
}

/** Data of an execution: as it stands in the state, or in its event when it is large. */
export function Data({ value, reference, member, label }: DataProps) {
  const { id } = useExecutionContext();
  if (reference) return <EventData executionId={id} reference={reference} member={member} label={label} />;
  return value === undefined ? null : <Json value={value} label={label} />;
}
