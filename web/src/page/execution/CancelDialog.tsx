import { api, data, once, useAction } from "../../api";
import { previewCancel } from "../../flow/preview";
import { Confirm, CopyAs, toast } from "../../kit";
import { useLocale, usePageWords } from "../../words";
import { useExecutionContext } from "./context";
import { Preview } from "./Preview";
import { useSaid } from "./useSaid";
import { text } from "./words";

/** Says what a cancel does before it does it. */
export function CancelDialog({ onClose }: { onClose: () => void }) {
  const { id, now, graph, refresh } = useExecutionContext();
  const t = usePageWords(text);
  const said = useSaid();
  const locale = useLocale();
  const preview = previewCancel(now, graph?.onCancel);
  const cancel = useAction((key, why: string) =>
    data(
      api.POST("/executions/{executionId}/cancel", {
        params: { path: { executionId: id }, header: once(key) },
        body: why === "" ? {} : { reason: why },
      }),
    ),
  );
  const run = async (why: string) => {
    const done = await cancel.run(why);
    if (!done) return;
    await refresh();
    onClose();
    toast(t.fence(done.cancelSeq.toLocaleString(locale)));
  };
  if (preview.refused && !cancel.busy && !cancel.done) {
    return (
      <Confirm title={t.cancelTitle} action={t.cancelThis} danger onConfirm={onClose} onClose={onClose}>
        <p>{t.tooLate}</p>
      </Confirm>
    );
  }
  return (
    <Confirm
      title={t.cancelTitle}
      action={t.cancelAction}
      danger
      scope="executions:write"
      reason="optional"
      busy={cancel.busy}
      error={said(cancel.error)}
      onConfirm={(why) => void run(why)}
      onClose={onClose}
    >
      <Preview preview={preview} />
      <CopyAs
        method="POST"
        path={`executions/${id}/cancel`}
        headers={{ "X-Idempotency-Key": `cancel-${id}` }}
        body={{}}
        cli={`renga execution cancel ${id}`}
      />
    </Confirm>
  );
}
