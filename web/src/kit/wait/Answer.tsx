import { useState, type ReactNode } from "react";
import { api, data, once, useAction } from "../../api";
import { whom } from "../../flow/whom";
import { Link } from "../../router";
import { usePageWords, useWords } from "../../words";
import { Button } from "../Button";
import { CopyAs } from "../Copy";
import { ErrorBox } from "../ErrorBox";
import { Field } from "../Field";
import { promptFields, schemaFields } from "../fields";
import { Form } from "../Form";
import { Icon } from "../Icon";
import { toast } from "../Toast";
import { refusalOf, type Refusal } from "./refusal";
import { text } from "./words";

interface AnswerProps {
  executionId: string;
  node: { nodeId: string; waitKey?: string | undefined };
  schema: unknown;
  prompt: unknown;
  /** An answer was sent; resumed says whether it was applied. */
  onSent: (resumed: boolean) => void;
}

/** The form of a Wait: by the schema of its node, else by the fields of its prompt, else plain JSON. */
export function Answer({ executionId, node, schema, prompt, onSent }: AnswerProps) {
  const t = usePageWords(text);
  const { nodeId, waitKey } = node;
  const fields = schemaFields(schema) ?? promptFields(prompt)?.fields ?? [];
  const names = fields.map((f) => f.name);
  const [key, setKey] = useState(waitKey ?? "");
  const resume = useAction((intent, output: unknown) =>
    data(
      api.POST("/executions/{executionId}/nodes/{nodeId}/resume", {
        params: { path: { executionId, nodeId }, header: once(intent) },
        body: {
          ...(output === undefined ? {} : { output: output as never }),
          ...(key === "" ? {} : { resumeKey: key }),
        },
      }),
    ),
  );
  const send = async (output: unknown) => {
    const resumed = (await resume.run(output)) !== undefined;
    if (resumed) toast(t.resumed(nodeId));
    onSent(resumed);
  };
  const refusal = refusalOf(resume.error, names);
  const keyed = key === "" ? "" : ` --key '${key}'`;
  const actions = (
    <>
      <Button kind="primary" type="submit" scope="executions:write" busy={resume.busy}>
        {t.resume}
      </Button>
      <CopyAs
        method="POST"
        path={`executions/${executionId}/nodes/${encodeURIComponent(nodeId)}/resume`}
        headers={{ "X-Idempotency-Key": `resume-${nodeId}` }}
        body={key === "" ? { output: {} } : { resumeKey: key, output: {} }}
        cli={`renga execution resume ${executionId} ${nodeId}${keyed} --output '{}'`}
      />
    </>
  );
  return (
    <div className="wait-answer">
      {waitKey !== undefined && (
        <Field label={t.resumeKey} hint={t.resumeKeyHint}>
          {(id, by) => (
            <input id={id} aria-describedby={by} value={key} onChange={(e) => setKey(e.target.value)} />
          )}
        </Field>
      )}
      {fields.length > 0 ? (
        // The graph may come after the prompt: other fields are another form.
        <Form
          key={names.join("\n")}
          fields={fields}
          onSubmit={(v) => void send(v)}
          actions={actions}
          errors={refusal?.fields}
        />
      ) : (
        <Plain onSubmit={(v) => void send(v)} actions={actions} />
      )}
      {refusal && <Refused refusal={refusal} id={executionId} />}
      {resume.error && !refusal && <ErrorBox error={resume.error} />}
    </div>
  );
}

/** Why the answer was not applied, and what can be done. */
function Refused({ refusal, id }: { refusal: Refusal; id: string }) {
  const t = usePageWords(text);
  const { guard, assignees, seq, rest } = refusal;
  const who = assignees ? whom(assignees) : "";
  return (
    <div className="error-box" role="alert">
      <span className="error-mark" aria-hidden>
        <Icon name="warn" />
      </span>
      <div>
        <p>
          <strong>{t.refused}.</strong> {guard === "" ? t.invalid : (t.guards[guard] ?? guard)}{" "}
          {who !== "" && t.toWhom(who)}
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
              {t.why}
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
