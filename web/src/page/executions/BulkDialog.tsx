import { api, data, once, useAction, useRead } from "../../api";
import { Button, Confirm, CopyAs, Dialog } from "../../kit";
import { go } from "../../router";
import { useLocale, usePageWords } from "../../words";
import { bulkFilter, flags, type Query } from "./filters";
import { text } from "./words";

/** All that match: the server freezes the set, and the page of the bulk shows it before anything is done. */
export function BulkDialog({ query, total, onClose }: { query: Query; total: number; onClose: () => void }) {
  const t = usePageWords(text);
  const locale = useLocale();
  const filter = bulkFilter(query);
  const n = total.toLocaleString(locale);
  const active = useRead(
    "/executions",
    { query: { ...query, status: ["ACTIVE"], page: 1, page_size: 10 } },
    { enabled: filter !== undefined },
  );
  const freeze = useAction(async (key, reason: string) => {
    const body = { command: "cancel" as const, filter: filter ?? {}, ...(reason === "" ? {} : { reason }) };
    const answer = await data(api.POST("/bulks", { params: { header: once(key) }, body }));
    go({ to: "bulk", params: { id: answer.bulkId } });
    return answer;
  });
  if (!filter) {
    return (
      <Dialog title={t.bulkTitle(n)} onClose={onClose} actions={<Button onClick={onClose}>{t.close}</Button>}>
        <p>{t.bulkEnded}</p>
      </Dialog>
    );
  }
  return (
    <Confirm
      title={t.bulkTitle(n)}
      action={t.bulkFreeze}
      reason="optional"
      scope="executions:write"
      busy={freeze.busy}
      error={freeze.error}
      onConfirm={(reason) => void freeze.run(reason)}
      onClose={onClose}
    >
      <p>{t.bulkHint}</p>
      {active.data && <p>{t.bulkActive(active.data.total.toLocaleString(locale))}</p>}
      <div>
        <CopyAs
          method="POST"
          path="bulks"
          body={{ command: "cancel", filter }}
          headers={{ "X-Idempotency-Key": "NAME-THIS-INTENT" }}
          cli={`renga bulk cancel${flags(query).replace("--correlation-id", "--of-correlation-id")}`}
        />
      </div>
    </Confirm>
  );
}
