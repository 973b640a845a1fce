import { api, data, useAction, useRefresh } from "../../api";
import type { components } from "../../api";
import { Button, Confirm, Dialog } from "../../kit";
import { Link } from "../../router";
import { useLocale, usePageWords } from "../../words";
import { text } from "./words";

type Result = components["schemas"]["CommandResults"]["results"][number];

const refusal = (r: Result) => ("error" in r ? r.error : undefined);

/** Cancels the executions that were selected, and shows what each was answered. */
export function CancelDialog({
  ids,
  ended,
  onClose,
  onDone,
}: {
  ids: readonly string[];
  /** How many of them are known to have ended. */
  ended: number;
  onClose: () => void;
  onDone: () => void;
}) {
  const t = usePageWords(text);
  const locale = useLocale();
  const refresh = useRefresh();
  const n = ids.length.toLocaleString(locale);
  const cancel = useAction(async (key, reason: string) => {
    const commands = ids.map((executionId) => ({
      command: "CancelExecution" as const,
      idempotencyKey: `${key}-${executionId}`,
      executionId,
      ...(reason === "" ? {} : { reason }),
    }));
    const answer = await data(api.POST("/commands", { body: { commands } }));
    void refresh("/executions", "/executions/counts", "/executions/histogram", "/executions/{executionId}");
    return answer.results;
  });
  const { done } = cancel;
  if (!done) {
    return (
      <Confirm
        title={t.cancelN(n, ids.length === 1)}
        action={t.cancelN(n, ids.length === 1)}
        danger
        reason="optional"
        scope="executions:write"
        busy={cancel.busy}
        error={cancel.error}
        onConfirm={(reason) => void cancel.run(reason)}
        onClose={onClose}
      >
        <p>{t.cancelHint}</p>
        {ended > 0 && <p className="warn">{t.endedAmong(ended.toLocaleString(locale))}</p>}
      </Confirm>
    );
  }
  const refused = done.flatMap((r, i) => {
    const error = refusal(r);
    return error ? [{ id: ids[i] ?? "", message: error.message }] : [];
  });
  const close = () => {
    onDone();
    onClose();
  };
  return (
    <Dialog
      title={t.canceled((done.length - refused.length).toLocaleString(locale))}
      onClose={close}
      actions={
        <Button kind="primary" onClick={close}>
          {t.close}
        </Button>
      }
    >
      {refused.length > 0 && (
        <>
          <p>
            {t.refused(refused.length.toLocaleString(locale))}. {t.refusedWhy}
          </p>
          <ul className="refusals">
            {refused.slice(0, 500).map((r) => (
              <li key={r.id}>
                <Link to="execution" params={{ id: r.id }}>
                  <code>{r.id.slice(-8)}</code>
                </Link>{" "}
                {r.message}
              </li>
            ))}
          </ul>
        </>
      )}
    </Dialog>
  );
}
