import { useState } from "react";
import { useRead } from "../api/query";
import type { DataRef } from "../flow/types";
import { useWords } from "../words";
import { Button } from "./Button";
import { Loading } from "./Empty";
import { ErrorBox } from "./ErrorBox";
import { Json } from "./Json";

interface EventDataProps {
  executionId: string;
  reference: DataRef;
  /** Which member of the event's payload it is. */
  member: string;
  label: string;
}

/** What is large stands in its event and is read when somebody asks for it. */
export function EventData(p: EventDataProps) {
  const w = useWords();
  const [asked, setAsked] = useState(false);
  if (asked) return <Large {...p} />;
  return (
    <p>
      <Button small onClick={() => setAsked(true)}>
        {w.large.read(kilobytes(p.reference.size))}
      </Button>{" "}
      <span className="muted">{w.large.ofEvent(String(p.reference.seq))}</span>
    </p>
  );
}

function Large({ executionId, reference, member, label }: EventDataProps) {
  const w = useWords();
  const path = { executionId, seq: reference.seq };
  const read = useRead("/executions/{executionId}/events/{seq}", { path });
  if (read.error) return <ErrorBox error={read.error} onRetry={() => void read.refetch()} />;
  if (!read.data) return <Loading label={w.page.loading} lines={3} />;
  const payload = read.data.payload as Record<string, unknown>;
  return <Json value={payload[member]} label={label} />;
}

function kilobytes(bytes: number): string {
  return bytes < 10_240
    ? `${bytes} B`
    : bytes < 1 << 20
      ? `${Math.round(bytes / 1024)} KiB`
      : `${(bytes / (1 << 20)).toFixed(1)} MiB`;
}
