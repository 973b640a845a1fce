import { api, data, useAction, useRefresh } from "../../api";
import type { components } from "../../api";
import { Button, Confirm, Dialog } from "../../kit";
import { Link } from "../../router";
import { useLocale, usePageWords } from "../../words";
import { text } from "./words";

type Result = components["schemas"]["CommandResults"]["results"][number];

const refusal = (r: Result) => ("error" in r ? r.error : undefined);

/** Cancels or archives the executions that were selected, and shows what each was answered. */
export function CommandDialog({
  command,
  ids,
  unfit,
  onClose,
  onDone,
}: {
  command: "cancel" | "archive";
  ids: readonly string[];
  /** How many of them are known to be refused. */
  unfit: number;
  onClose: () => void;
  onDone: () => void;
}) {
  const t = usePageWords(text);
  const locale = useLocale();
  const refresh = useRefresh();
  const name = command === "cancel" ? t.cancelN : t.archiveN;
  const title = name(ids.length.toLocaleString(locale), ids.length === 1);
  const act = useAction(async (key, reason: string) => {
    const commands = ids.map((executionId) => ({
      command: command === "cancel" ? ("CancelExecution" as const) : ("ArchiveExecution" as const),
      idempotencyKey: `${key}-${executionId}`,
      executionId,
      ...(reason === "" || command === "archive" ? {} : { reason }),
    }));
    const answer = await data(api.POST("/commands", { body: { commands } }));
    void refresh("/executions", "/executions/counts", "/executions/histogram", "/executions/{executionId}");
    return answer.results;
  });
  const { done } = act;
  if (!done) {
    return (
      <Confirm
        title={title}
        action={title}
        danger={command === "cancel"}
        {...(command === "cancel" ? { reason: "optional" as const } : {})}
        scope="executions:write"
        busy={act.busy}
        error={act.error}
        onConfirm={(reason) => void act.run(reason)}
        onClose={onClose}
      >
        <p>{command === "cancel" ? t.cancelHint : t.archiveHint}</p>
        {unfit > 0 && <p className="warn">{t.unfit[command](unfit.toLocaleString(locale))}</p>}
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
      title={t.did[command]((done.length - refused.length).toLocaleString(locale))}
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
