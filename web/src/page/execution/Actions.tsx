import { useState } from "react";
import { api, data, once, sentence, useAction } from "../../api";
import { Button, CopyAs, toast } from "../../kit";
import { usePageWords, useWords } from "../../words";
import { ArchiveDialog } from "./ArchiveDialog";
import { CancelDialog } from "./CancelDialog";
import { useExecutionContext } from "./context";
import { RunAgain } from "./RunAgain";
import { useSaid } from "./useSaid";
import { text } from "./words";

type Open = "cancel" | "archive" | "again" | undefined;

/** What can be done to an execution as it is now. */
export function Actions() {
  const { id, now, refresh, at } = useExecutionContext();
  const t = usePageWords(text);
  const w = useWords();
  const said = useSaid();
  const [open, setOpen] = useState<Open>();
  const start = useAction((key) =>
    data(
      api.POST("/executions/{executionId}/start", {
        params: { path: { executionId: id }, header: once(key) },
        body: {},
      }),
    ),
  );
  const active = now.status === "ACTIVE";
  const close = () => setOpen(undefined);
  const begin = async () => {
    await start.run();
    await refresh();
  };
  return (
    <>
      {start.error && <span className="exe-action-error">{sentence(said(start.error), w)}</span>}
      {active && now.startedAt === undefined && now.cancelRequestedAt === null && (
        <Button kind="primary" scope="executions:write" busy={start.busy} onClick={() => void begin()}>
          {t.start}
        </Button>
      )}
      {!active && now.archivedAt === undefined && (
        <Button scope="executions:write" onClick={() => setOpen("archive")}>
          {t.archive}
        </Button>
      )}
      <Button scope="executions:write" onClick={() => setOpen("again")}>
        {t.again}
      </Button>
      {active && now.cancelRequestedAt === null && (
        <Button scope="executions:write" onClick={() => setOpen("cancel")}>
          {t.cancelThis}
        </Button>
      )}
      <CopyAs
        method="GET"
        path={`executions/${id}${at === undefined ? "" : `?at=${at}`}`}
        cli={`renga execution show ${id}${at === undefined ? "" : ` --at ${at}`}`}
      />
      {open === "cancel" && <CancelDialog onClose={close} />}
      {open === "archive" && (
        <ArchiveDialog
          onClose={close}
          onDone={() => {
            close();
            toast(t.archivedNow);
          }}
        />
      )}
      {open === "again" && <RunAgain onClose={close} />}
    </>
  );
}
