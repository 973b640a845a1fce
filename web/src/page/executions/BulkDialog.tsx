import { useState } from "react";
import { api, data, once, useAction, useRead } from "../../api";
import { Confirm, CopyAs, Segmented } from "../../kit";
import { go } from "../../router";
import { useLocale, usePageWords } from "../../words";
import { bulkFilter, flags, type BulkCommand, type Query } from "./filters";
import { text } from "./words";

/** All that match: the server freezes the set, and the page of the bulk shows it before anything is done. */
export function BulkDialog({ query, total, onClose }: { query: Query; total: number; onClose: () => void }) {
  const t = usePageWords(text);
  const locale = useLocale();
  const [command, setCommand] = useState<BulkCommand>(() =>
    bulkFilter(query, "cancel") || !bulkFilter(query, "archive") ? "cancel" : "archive",
  );
  const filter = bulkFilter(query, command);
  const n = total.toLocaleString(locale);
  const all = command === "cancel" ? (["ACTIVE"] as const) : (["COMPLETED", "FAILED", "CANCELED"] as const);
  const status = all.filter((s) => !query.status || query.status.includes(s));
  const subject = useRead(
    "/executions",
    { query: { ...query, status, page: 1, page_size: 10 } },
    { enabled: filter !== undefined, keep: true },
  );
  const freeze = useAction(async (key, reason: string) => {
    const body = { command, filter: filter ?? {}, ...(reason === "" ? {} : { reason }) };
    const answer = await data(api.POST("/bulks", { params: { header: once(key) }, body }));
    go({ to: "bulk", params: { id: answer.bulkId } });
    return answer;
  });
  return (
    <Confirm
      title={t.bulkTitle(n)}
      action={t.bulkFreeze}
      reason="optional"
      scope="executions:write"
      busy={freeze.busy}
      error={freeze.error}
      disabled={filter === undefined}
      onConfirm={(reason) => void freeze.run(reason)}
      onClose={onClose}
    >
      <Segmented
        label={t.bulkCommand}
        value={command}
        options={[
          { value: "cancel", label: t.bulkCancel },
          { value: "archive", label: t.bulkArchive },
        ]}
        onChange={setCommand}
      />
      {filter === undefined && <p className="warn">{t.bulkNone[command]}</p>}
      <p>{t.bulkHint}</p>
      {filter && subject.data && <p>{t.bulkOf[command](subject.data.total.toLocaleString(locale))}</p>}
      <div>
        <CopyAs
          method="POST"
          path="bulks"
          body={{ command, filter: filter ?? {} }}
          headers={{ "X-Idempotency-Key": "NAME-THIS-INTENT" }}
          cli={`renga bulk ${command}${flags(query).replace("--correlation-id", "--of-correlation-id")}`}
        />
      </div>
    </Confirm>
  );
}
