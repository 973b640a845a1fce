import { useState } from "react";
import { useRead } from "../../api";
import type { DataRef } from "../../flow/types";
import { Button, ErrorBox, Json, Loading } from "../../kit";
import { usePageWords, useWords } from "../../words";
import { useExecutionContext } from "./context";
import { text } from "./words";

interface DataProps {
  value: unknown;
  reference: DataRef | undefined;
  /** Which member of the event's payload it is. */
  member: string;
  label: string;
}

/** Data of an execution. What is large stands in its event and is read when somebody asks for it. */
export function Data({ value, reference, member, label }: DataProps) {
  const t = usePageWords(text);
  const [asked, setAsked] = useState(false);
  if (reference === undefined) return value === undefined ? null : <Json value={value} label={label} />;
  if (!asked) {
    return (
      <p>
        <Button small onClick={() => setAsked(true)}>
          {t.readLarge(kilobytes(reference.size))}
        </Button>{" "}
        <span className="muted">{t.ofEvent(String(reference.seq))}</span>
      </p>
    );
  }
  return <Large seq={reference.seq} member={member} label={label} />;
}

function Large({ seq, member, label }: { seq: number; member: string; label: string }) {
  const { id } = useExecutionContext();
  const w = useWords();
  const read = useRead("/executions/{executionId}/events/{seq}", { path: { executionId: id, seq } });
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
