import { useState } from "react";
import { api, ApiError, data, once, read, useAction, useRead, useRefresh } from "../../api";
import { Button, CopyAs, Dialog, Empty, ErrorBox, Field, Segmented } from "../../kit";
import { schemaFields } from "../../kit";
import { go, Link } from "../../router";
import { usePageWords, useWords } from "../../words";
import { jsonObject, labelsOf, schemaOf } from "./input";
import { InputForm } from "./InputForm";
import { text } from "./words";

/** Starts an execution: its graph, input, business key and labels. */
export function StartDialog({ graphId, onClose }: { graphId: string; onClose: () => void }) {
  const t = usePageWords(text);
  const w = useWords();
  const refresh = useRefresh();
  const graphs = useRead("/graphs", { query: { page_size: 100 } });
  const [graph, setGraph] = useState(graphId === "*" ? "" : graphId);
  const [input, setInput] = useState("{}");
  const [mode, setMode] = useState<"form" | "json">("json");
  const [key, setKey] = useState("");
  const [labels, setLabels] = useState("");
  const [start, setStart] = useState(true);
  const [tried, setTried] = useState(false);
  const [without, setWithout] = useState(false);
  // One graph alone needs no choice.
  const only = graphs.data?.total === 1 ? (graphs.data.items[0]?.graphId ?? "") : "";
  const chosen = graph === "" ? only : graph;
  const value = jsonObject(input);
  const named = labelsOf(labels);
  const fields = value && schemaFields(schemaOf(value));
  const problem = chosen === "" || value === undefined || named === undefined;
  const body = {
    graphId: chosen,
    ...(value && Object.keys(value).length > 0 ? { input: value as Record<string, never> } : {}),
    ...(key.trim() === "" ? {} : { businessKey: key.trim() }),
    ...(named && Object.keys(named).length > 0 ? { labels: named } : {}),
    start,
  };

  const create = useAction(async (idempotencyKey) => {
    const answer = await data(api.POST("/executions", { params: { header: once(idempotencyKey) }, body }));
    void refresh("/executions", "/executions/counts", "/executions/histogram");
    go({ to: "execution", params: { id: answer.executionId } });
    return answer;
  });
  const take = useAction(async () => {
    const newest = await read("/executions", { query: { graphId: chosen, page_size: 10 } });
    const id = newest.items[0]?.executionId;
    setWithout(id === undefined);
    if (id === undefined) return;
    const state = await read("/executions/{executionId}", { path: { executionId: id } });
    setInput(JSON.stringify(state.input ?? {}, null, 2));
    setMode("form");
  });
  const holder = create.error instanceof ApiError ? create.error.details.executionId : undefined;
  const send = () => {
    setTried(true);
    if (!problem) void create.run();
  };
  const pairs = Object.entries(named ?? {}).map(([n, v]) => ` --label '${n}=${v}'`);
  const cli = [
    `renga execution create ${chosen}`,
    body.input ? ` --input '${JSON.stringify(body.input).replaceAll("'", `'\\''`)}'` : "",
    start ? " --start" : "",
    body.businessKey ? ` --business-key '${body.businessKey}'` : "",
    ...pairs,
  ].join("");

  return (
    <Dialog
      title={t.start}
      onClose={onClose}
      wide
      actions={
        <>
          <CopyAs
            method="POST"
            path="executions"
            body={body}
            headers={{ "X-Idempotency-Key": "NAME-THIS-INTENT" }}
            cli={cli}
          />
          <Button onClick={onClose}>{w.do.close}</Button>
          <Button
            kind="primary"
            busy={create.busy}
            scope="executions:write"
            disabled={graphs.data?.total === 0}
            onClick={send}
          >
            {start ? t.startGo : t.startCreate}
          </Button>
        </>
      }
    >
      {graphs.data?.total === 0 && (
        <Empty title={t.startNoGraph} command="renga graph put order examples/order.yaml" />
      )}
      <Field
        label={t.startGraph}
        hint={t.startGraphHint}
        required
        error={tried && chosen === "" ? w.form.choose : undefined}
      >
        {(id, by) => (
          <select
            id={id}
            aria-describedby={by}
            value={chosen}
            onChange={(e) => {
              setGraph(e.target.value);
              setWithout(false);
            }}
          >
            <option value="">{w.form.choose}</option>
            {chosen !== "" && !graphs.data?.items.some((g) => g.graphId === chosen) && (
              <option value={chosen}>{chosen}</option>
            )}
            {graphs.data?.items.map((g) => (
              <option key={g.graphId} value={g.graphId}>
                {g.graphId} · {g.version}
              </option>
            ))}
          </select>
        )}
      </Field>
      <div className="start-input">
        <Segmented
          label={t.startInput}
          value={mode}
          options={[
            { value: "json", label: t.jsonMode },
            { value: "form", label: t.formMode },
          ]}
          onChange={setMode}
        />
        <Button kind="quiet" small busy={take.busy} disabled={chosen === ""} onClick={() => void take.run()}>
          {t.startTake}
        </Button>
        {without && <span className="muted">{t.startTakeNone}</span>}
      </div>
      {mode === "form" && fields && fields.length > 0 ? (
        <InputForm fields={fields} value={value} onChange={(v) => setInput(JSON.stringify(v, null, 2))} />
      ) : (
        <Field
          label={<span className="unseen">{t.startInput}</span>}
          hint={t.startInputHint}
          error={value === undefined ? t.badObject : undefined}
        >
          {(id, by) => (
            <textarea
              id={id}
              aria-describedby={by}
              aria-invalid={value === undefined || undefined}
              className="code"
              rows={8}
              spellCheck={false}
              value={input}
              onChange={(e) => setInput(e.target.value)}
            />
          )}
        </Field>
      )}
      <div className="start-two">
        <Field label={t.startKey} hint={t.startKeyHint}>
          {(id, by) => (
            <input
              id={id}
              aria-describedby={by}
              maxLength={256}
              value={key}
              onChange={(e) => setKey(e.target.value)}
            />
          )}
        </Field>
        <Field
          label={t.startLabels}
          hint={t.startLabelsHint}
          error={named === undefined ? t.badLabel : undefined}
        >
          {(id, by) => (
            <textarea
              id={id}
              aria-describedby={by}
              aria-invalid={named === undefined || undefined}
              rows={2}
              spellCheck={false}
              value={labels}
              onChange={(e) => setLabels(e.target.value)}
            />
          )}
        </Field>
      </div>
      <label className="check">
        <input type="checkbox" checked={start} onChange={(e) => setStart(e.target.checked)} /> {t.startNow}
      </label>
      {create.error && <ErrorBox error={create.error} />}
      {typeof holder === "string" && (
        <p>
          <Link to="execution" params={{ id: holder }}>
            {t.startOpen}
          </Link>
        </p>
      )}
      {take.error && <ErrorBox error={take.error} />}
    </Dialog>
  );
}
