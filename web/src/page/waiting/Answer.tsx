import { useState, type ReactNode } from "react";
import { api, data, once, useAction, useRefresh } from "../../api";
import { Button, CopyAs, ErrorBox, Field, Form, Icon, promptFields, schemaFields, toast } from "../../kit";
import { Link } from "../../router";
import { usePageWords, useWords } from "../../words";
import type { Execution, NodeState } from "./Detail";
import { refusalOf, type Refusal } from "./refusal";
import { text } from "./words";

/** The form of a wait: by the schema of its node, else by the fields of its prompt, else plain JSON. */
export function Answer({
  execution,
  node,
  schema,
  prompt,
  onDone,
}: {
  execution: Execution;
  node: NodeState;
  schema: unknown;
  prompt: unknown;
  onDone: () => void;
}) {
  const t = usePageWords(text);
  const refresh = useRefresh();
  const id = execution.executionId;
  const fields = schemaFields(schema) ?? promptFields(prompt)?.fields ?? [];
  const [key, setKey] = useState(node.waitKey ?? "");
  const resume = useAction((intent, output: unknown) =>
    data(
      api.POST("/executions/{executionId}/nodes/{nodeId}/resume", {
        params: { path: { executionId: id, nodeId: node.nodeId }, header: once(intent) },
        body: {
          ...(output === undefined ? {} : { output: output as never }),
          ...(key === "" ? {} : { resumeKey: key }),
        },
      }),
    ),
  );
  const send = async (output: unknown) => {
    const done = await resume.run(output);
    await refresh("/waits", "/executions/{executionId}", "/executions/counts");
    if (!done) return;
    toast(t.resumed(node.nodeId));
    onDone();
  };
  const refusal = refusalOf(
    resume.error,
    fields.map((f) => f.name),
  );
  const keyed = key === "" ? "" : ` --key '${key}'`;
  const actions = (
    <>
      <Button kind="primary" type="submit" scope="executions:write" busy={resume.busy}>
        {t.resume}
      </Button>
      <CopyAs
        method="POST"
        path={`executions/${id}/nodes/${encodeURIComponent(node.nodeId)}/resume`}
        headers={{ "X-Idempotency-Key": `resume-${node.nodeId}` }}
        body={key === "" ? { output: {} } : { resumeKey: key, output: {} }}
        cli={`renga execution resume ${id} ${node.nodeId}${keyed} --output '{}'`}
      />
    </>
  );
  return (
    <div className="wait-answer">
      {node.waitKey !== undefined && (
        <Field label={t.resumeKey} hint={t.resumeKeyHint}>
          {(fieldId, by) => (
            <input id={fieldId} aria-describedby={by} value={key} onChange={(e) => setKey(e.target.value)} />
          )}
        </Field>
      )}
      {fields.length > 0 ? (
        <Form fields={fields} onSubmit={(v) => void send(v)} actions={actions} errors={refusal?.fields} />
      ) : (
        <Plain onSubmit={(v) => void send(v)} actions={actions} />
      )}
      {refusal && <Refused refusal={refusal} id={id} />}
      {resume.error && !refusal && <ErrorBox error={resume.error} />}
    </div>
  );
}

/** Why the answer was not applied, and what can be done. */
function Refused({ refusal, id }: { refusal: Refusal; id: string }) {
  const t = usePageWords(text);
  const { guard, assignees, seq, rest } = refusal;
  const whom = [...(assignees?.users ?? []), ...(assignees?.roles ?? []), ...(assignees?.groups ?? [])];
  return (
    <div className="error-box" role="alert">
      <span className="error-mark" aria-hidden>
        <Icon name="warn" />
      </span>
      <div>
        <p>
          <strong>{t.refused}.</strong> {guard === "" ? t.invalid : (t.guards[guard] ?? guard)}{" "}
          {whom.length > 0 && t.toWhom(whom.join(", "))}
        </p>
        {rest.length > 0 && (
          <ul>
            {rest.map((r) => (
              <li key={r}>{r}</li>
            ))}
          </ul>
        )}
        {seq !== undefined && (
          <p className="muted small-text">
            {t.atEvent(String(seq))}{" "}
            <Link to="execution" params={{ id }} search={{ tab: "why" }}>
              {t.openIt}
            </Link>
          </p>
        )}
      </div>
    </div>
  );
}

/** An output as JSON, for a node that does not say what it wants. */
function Plain({ onSubmit, actions }: { onSubmit: (v: unknown) => void; actions: ReactNode }) {
  const t = usePageWords(text);
  const w = useWords();
  const [json, setJson] = useState("");
  const [wrong, setWrong] = useState(false);
  const submit = () => {
    if (json.trim() === "") return onSubmit(undefined);
    let value: unknown;
    try {
      value = JSON.parse(json);
    } catch {
      return setWrong(true);
    }
    setWrong(false);
    onSubmit(value);
  };
  return (
    <form
      className="form"
      onSubmit={(e) => {
        e.preventDefault();
        submit();
      }}
    >
      <Field label={t.output} hint={t.outputHint} error={wrong ? w.form.invalidJson : undefined}>
        {(id, by) => (
          <textarea
            id={id}
            aria-describedby={by}
            aria-invalid={wrong || undefined}
            className="code"
            rows={3}
            spellCheck={false}
            value={json}
            onChange={(e) => setJson(e.target.value)}
          />
        )}
      </Field>
      <div className="form-actions">{actions}</div>
    </form>
  );
}
