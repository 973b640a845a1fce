import { useState } from "react";
import { Button, Dialog, Field } from "../../kit";
import { go } from "../../router";
import { usePageWords, useWords } from "../../words";
import { text } from "./words";

const starts = ["order", "approval", "parallel"] as const;

/** Asks for the id of a new graph and the example that it begins with; the editor does the rest. */
export function NewGraph({ onClose }: { onClose: () => void }) {
  const w = useWords();
  const t = usePageWords(text);
  const [id, setId] = useState("");
  const [example, setExample] = useState<(typeof starts)[number]>("order");
  const [tried, setTried] = useState(false);
  const good = /^[A-Za-z0-9._-]{1,128}$/.test(id);
  const open = () => {
    setTried(true);
    if (good) go({ to: "graph", params: { id }, search: { tab: "edit", example } });
  };
  return (
    <Dialog
      title={t.create}
      onClose={onClose}
      actions={
        <>
          <Button onClick={onClose}>{w.do.close}</Button>
          <Button kind="primary" onClick={open}>
            {t.openEditor}
          </Button>
        </>
      }
    >
      <form
        className="form"
        noValidate
        onSubmit={(e) => {
          e.preventDefault();
          open();
        }}
      >
        <Field label={t.id} hint={t.idHint} error={tried && !good ? t.idWrong : undefined} required>
          {(field, by) => (
            <input
              id={field}
              aria-describedby={by}
              aria-invalid={tried && !good ? true : undefined}
              value={id}
              onChange={(e) => setId(e.target.value)}
              placeholder="order"
              autoComplete="off"
              spellCheck={false}
            />
          )}
        </Field>
        <fieldset className="choices">
          <legend>{t.example}</legend>
          {starts.map((s) => (
            <label key={s}>
              <input type="radio" name="example" checked={s === example} onChange={() => setExample(s)} />
              {t.examples[s]}
            </label>
          ))}
        </fieldset>
      </form>
    </Dialog>
  );
}
