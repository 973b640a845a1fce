import { api, data, once, useAction } from "../../api";
import { previewCancelNode } from "../../flow/preview";
import { Confirm, toast } from "../../kit";
import { usePageWords } from "../../words";
import { useExecutionContext } from "./context";
import { useSaid } from "./useSaid";
import { text } from "./words";

/** Cancels one node: the execution goes on over its failure edge, its Join, or to its end. */
export function CancelNode({ nodeId, onClose }: { nodeId: string; onClose: () => void }) {
  const { id, now, graph, refresh } = useExecutionContext();
  const t = usePageWords(text);
  const said = useSaid();
  const preview = previewCancelNode(now, nodeId);
  const caught = graph?.edges.some((e) => e.from === nodeId && e.on === "failure") ?? false;
  const cancel = useAction((key, reason: string) =>
    data(
      api.POST("/executions/{executionId}/nodes/{nodeId}/cancel", {
        params: { path: { executionId: id, nodeId }, header: once(key) },
        body: reason === "" ? {} : { reason },
      }),
    ),
  );
  const run = async (reason: string) => {
    if (!(await cancel.run(reason))) return;
    await refresh();
    onClose();
    toast(t.nodeCanceled(nodeId));
  };
  return (
    <Confirm
      title={t.cancelNode(nodeId)}
      action={t.cancelNode(nodeId)}
      danger
      scope="executions:write"
      reason="optional"
      busy={cancel.busy}
      error={said(cancel.error)}
      onConfirm={(reason) => void run(reason)}
      onClose={onClose}
    >
      <p>
        {preview.running.length > 0
          ? preview.workers.length > 0
            ? t.nodeRuns(preview.workers.join(", "))
            : t.nodeRunsNobody
          : t.nodeNotRunning}
      </p>
      <p>{caught ? t.nodeCaught : t.nodeNotCaught}</p>
    </Confirm>
  );
}
