import { api, data, once, useAction } from "../../api";
import { Confirm } from "../../kit";
import { usePageWords } from "../../words";
import { useExecutionContext } from "./context";
import { useSaid } from "./useSaid";
import { text } from "./words";

/** Marks what has ended as settled. */
export function ArchiveDialog({ onClose, onDone }: { onClose: () => void; onDone: () => void }) {
  const { id, refresh } = useExecutionContext();
  const t = usePageWords(text);
  const said = useSaid();
  const archive = useAction((key, reason: string) =>
    data(
      api.POST("/executions/{executionId}/archive", {
        params: { path: { executionId: id }, header: once(key) },
        body: reason === "" ? {} : { reason },
      }),
    ),
  );
  const run = async (reason: string) => {
    if (!(await archive.run(reason))) return;
    await refresh();
    onDone();
  };
  return (
    <Confirm
      title={t.archiveTitle}
      action={t.archive}
      scope="executions:write"
      reason="optional"
      busy={archive.busy}
      error={said(archive.error)}
      onConfirm={(reason) => void run(reason)}
      onClose={onClose}
    >
      <p>{t.archiveHint}</p>
    </Confirm>
  );
}
