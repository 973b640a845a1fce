import { useState } from "react";
import { api, data, once, useAction, type components } from "../../api";
import { Button, CopyAs, Dialog, ErrorBox, Field } from "../../kit";
import { go } from "../../router";
import { usePageWords, useWords } from "../../words";
import { useExecutionContext } from "./context";
import { useSaid } from "./useSaid";
import { text } from "./words";

type Create = components["schemas"]["CreateExecution"];

/** The same again, as a new execution: what has ended stays as it is. */
export function RunAgain({ onClose }: { onClose: () => void }) {
  const { id, now } = useExecutionContext();
  const t = usePageWords(text);
  const w = useWords();
  const said = useSaid();
  const [input, setInput] = useState(() =>
    now.input === undefined ? "" : JSON.stringify(now.input, null, 2),
  );
  const [version, setVersion] = useState<"same" | "newest">("same");
  const [start, setStart] = useState(true);
  const parsed = parse(input);
  const body = {
    graphId: now.graphId,
    rerunOf: id,
    start,
    ...(version === "same" ? { graphVersion: now.graphVersion } : {}),
    ...(parsed.value === undefined ? {} : { input: parsed.value as Create["input"] }),
    ...(now.businessKey === undefined ? {} : { businessKey: now.businessKey }),
    ...(now.labels === undefined ? {} : { labels: now.labels }),
  };
  const again = useAction((key) => data(api.POST("/executions", { params: { header: once(key) }, body })));
  const run = async () => {
    const made = await again.run();
    if (made) go({ to: "execution", params: { id: made.executionId } });
  };
  const flag = version === "same" ? ` --graph-version ${now.graphVersion}` : "";
  return (
    <Dialog
      title={t.againTitle}
      onClose={onClose}
      actions={
        <>
          <Button onClick={onClose}>{w.do.cancel}</Button>
          <Button
            kind="primary"
            scope="executions:write"
            busy={again.busy}
            disabled={!parsed.ok}
            onClick={() => void run()}
          >
            {t.againAction}
          </Button>
        </>
      }
    >
      <p>{t.againHint}</p>
      <div className="choices" role="radiogroup" aria-label={t.graph}>
        <label>
          <input type="radio" checked={version === "same"} onChange={() => setVersion("same")} />
          {t.sameVersion(now.graphId, String(now.graphVersion))}
        </label>
        <label>
          <input type="radio" checked={version === "newest"} onChange={() => setVersion("newest")} />
          {t.newestVersion(now.graphId)}
        </label>
      </div>
      <Field label={t.input} error={parsed.ok ? undefined : w.form.invalidJson}>
        {(fieldId, by) => (
          <textarea
            id={fieldId}
            aria-describedby={by}
            aria-invalid={parsed.ok ? undefined : true}
            className="code"
            rows={6}
            spellCheck={false}
            value={input}
            onChange={(e) => setInput(e.target.value)}
          />
        )}
      </Field>
      <label className="exe-check">
        <input type="checkbox" checked={start} onChange={(e) => setStart(e.target.checked)} />
        {t.startAtOnce}
      </label>
      <CopyAs
        method="POST"
        path="executions"
        body={body}
        headers={{ "X-Idempotency-Key": `again-${id}` }}
        cli={
          `renga execution create ${now.graphId}${flag} --rerun-of ${id}` +
          (parsed.value === undefined ? "" : ` --input '${JSON.stringify(parsed.value)}'`) +
          (start ? " --start" : "")
        }
      />
      {again.error && <ErrorBox error={said(again.error)} />}
    </Dialog>
  );
}

function parse(s: string): { ok: boolean; value?: unknown } {
  if (s.trim() === "") return { ok: true };
  try {
    return { ok: true, value: JSON.parse(s) as unknown };
  } catch {
    return { ok: false };
  }
}
