import { useState } from "react";
import { api, ApiError, data, once, useAction } from "../../api";
import { Button, CopyAs, ErrorBox, Field, Form, Json, promptFields, schemaFields, toast } from "../../kit";
import { usePageWords, useWords } from "../../words";
import { useExecutionContext, type Graph, type NodeState } from "./context";
import { Data } from "./Data";
import { Part } from "./NodePanel";
import { useSaid } from "./useSaid";
import { whom } from "./whom";
import { text } from "./words";

interface ResumeProps {
  node: NodeState;
  spec: Graph["nodes"][number] | undefined;
}

/** What a node asks of people, and the form that answers it: by its schema, else as its prompt names fields. */
export function Resume({ node, spec }: ResumeProps) {
  const { id, refresh } = useExecutionContext();
  const t = usePageWords(text);
  const prompt = node.prompt;
  const said = useSaid();
  const asked = promptFields(prompt);
  const fields = schemaFields(spec?.schema) ?? asked?.fields;
  const shown = factsOf(prompt);
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
    if (!(await resume.run(output))) return;
    await refresh();
    toast(t.resumed(node.nodeId));
  };
  const button = (
    <>
      <Button kind="primary" type="submit" scope="executions:write" busy={resume.busy}>
        {t.resume}
      </Button>
      <CopyAs
        method="POST"
        path={`executions/${id}/nodes/${encodeURIComponent(node.nodeId)}/resume`}
        headers={{ "X-Idempotency-Key": `resume-${node.nodeId}` }}
        body={key === "" ? { output: {} } : { resumeKey: key, output: {} }}
        cli={`renga execution resume ${id} ${node.nodeId}${key === "" ? "" : ` --key '${key}'`} --output '{}'`}
      />
    </>
  );
  return (
    <Part title={shown.title ?? t.asks}>
      {shown.text && <p>{shown.text}</p>}
      {shown.facts.length > 0 && (
        <dl className="rows">
          {shown.facts.map(([name, value]) => (
            <div key={name}>
              <dt>{name}</dt>
              <dd>{typeof value === "object" ? JSON.stringify(value) : String(value)}</dd>
            </div>
          ))}
        </dl>
      )}
      {shown.other !== undefined && <Json value={shown.other} label={t.asks} />}
      <Data value={undefined} reference={node.promptRef} member="prompt" label={t.asks} />
      {node.assignees && <p className="muted">{t.forWhom(whom(node.assignees))}</p>}
      {node.waitKey !== undefined && (
        <Field label={t.resumeKey} hint={t.resumeKeyHint}>
          {(fieldId, by) => (
            <input id={fieldId} aria-describedby={by} value={key} onChange={(e) => setKey(e.target.value)} />
          )}
        </Field>
      )}
      {fields && fields.length > 0 ? (
        <Form fields={fields} onSubmit={(v) => void send(v)} actions={button} />
      ) : (
        <Plain onSubmit={(v) => void send(v)} actions={button} />
      )}
      {resume.error && <ErrorBox error={said(resume.error)} />}
      <Problems error={resume.error} />
    </Part>
  );
}

/** Where an output does not fit the schema. */
function Problems({ error }: { error: Error | undefined }) {
  const problems = error instanceof ApiError ? error.details.problems : undefined;
  if (!Array.isArray(problems)) return null;
  return (
    <ul className="problems">
      {problems.map((p, i) => (
        <li key={i}>{problem(p)}</li>
      ))}
    </ul>
  );
}

function problem(p: unknown): string {
  if (typeof p !== "object" || p === null) return String(p);
  return Object.values(p)
    .filter((v) => typeof v === "string" && v !== "")
    .join(": ");
}

/** An output as JSON, for a node that does not say what it wants. */
function Plain({ onSubmit, actions }: { onSubmit: (v: unknown) => void; actions: React.ReactNode }) {
  const t = usePageWords(text);
  const w = useWords();
  const [json, setJson] = useState("");
  const [wrong, setWrong] = useState(false);
  return (
    <form
      className="form"
      onSubmit={(e) => {
        e.preventDefault();
        if (json.trim() === "") return onSubmit(undefined);
        try {
          const value = JSON.parse(json) as unknown;
          setWrong(false);
          onSubmit(value);
        } catch {
          setWrong(true);
        }
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

/** A prompt of the graph has values to read; one of a worker may be anything. */
export function factsOf(prompt: unknown): {
  title?: string;
  text?: string;
  facts: [string, unknown][];
  other?: unknown;
} {
  if (prompt === undefined) return { facts: [] };
  if (typeof prompt === "string") return { text: prompt, facts: [] };
  if (typeof prompt !== "object" || prompt === null || Array.isArray(prompt))
    return { facts: [], other: prompt };
  const { title, text: said, fields, ...rest } = prompt as Record<string, unknown>;
  const facts =
    typeof fields === "object" && fields !== null && !Array.isArray(fields) ? Object.entries(fields) : [];
  return {
    ...(typeof title === "string" ? { title } : {}),
    ...(typeof said === "string" ? { text: said } : {}),
    facts,
    ...(Object.keys(rest).length > 0 ? { other: rest } : {}),
  };
}
