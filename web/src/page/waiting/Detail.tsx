import type { ReactNode } from "react";
import { useRead, useRefresh, type Answer } from "../../api";
import type { Assignees } from "../../flow/types";
import { Age, CopyAs, Empty, ErrorBox, Icon, Id, Loading, Time } from "../../kit";
import { Answer as AnswerForm, Asked, shownOf } from "../../kit/wait";
import { Link } from "../../router";
import { usePageWords, useWords } from "../../words";
import { text } from "./words";

export type Wait = Answer<"/waits">["items"][number];
export type Execution = Answer<"/executions/{executionId}">;
export type NodeState = Execution["nodes"][number];

/** One wait: what it asks, of whom, since when, and the form that answers it. */
export function Detail({
  executionId,
  nodeId,
  wait,
  onDone,
}: {
  executionId: string;
  nodeId: string;
  /** Its row of the list, while it is there. */
  wait: Wait | undefined;
  onDone: () => void;
}) {
  const w = useWords();
  const t = usePageWords(text);
  const read = useRead("/executions/{executionId}", { path: { executionId } }, { every: 3_000 });
  const execution = read.data;
  const refresh = useRefresh();
  const sent = async (resumed: boolean) => {
    await refresh("/waits", "/executions/{executionId}", "/executions/counts");
    if (resumed) onDone();
  };
  const graph = useRead(
    "/graphs/{graphId}",
    { path: { graphId: execution?.graphId ?? "" }, query: { version: execution?.graphVersion ?? 1 } },
    { enabled: execution !== undefined },
  );
  if (read.error && !execution) return <ErrorBox error={read.error} onRetry={() => void read.refetch()} />;
  if (!execution || graph.isLoading) return <Loading label={w.page.loading} lines={6} />;
  const node = execution.nodes.find((n) => n.nodeId === nodeId);
  if (!node) return <Empty title={t.over}>{t.choose}</Empty>;
  const shown = shownOf(wait?.prompt ?? node.prompt);
  const spec = graph.data?.nodes.find((n) => n.nodeId === nodeId);
  return (
    <article className="wait-detail" aria-label={shown.title ?? nodeId}>
      <header>
        <h2>{shown.title ?? nodeId}</h2>
        <p className="muted small-text">
          {execution.graphId} · {nodeId}
        </p>
      </header>
      {node.status !== "WAITING" && <Over execution={execution} node={node} />}
      <Asked executionId={executionId} shown={shown} reference={node.promptRef} />
      {execution.graphId.startsWith("approval:") ? (
        <Approval execution={execution} />
      ) : (
        <AnswerForm
          executionId={executionId}
          node={node}
          schema={spec?.schema}
          prompt={wait?.prompt ?? node.prompt}
          onSent={(resumed) => void sent(resumed)}
        />
      )}
      <dl className="facts wait-about">
        <Fact name={t.forWhom}>
          {node.assignees ? <Whom of={node.assignees} /> : <span className="muted">{t.everybody}</span>}
        </Fact>
        {wait && (
          <Fact name={t.since}>
            <Time at={wait.since} age />
          </Fact>
        )}
        <Fact name={t.until}>
          {node.waitUntil ? (
            <>
              <Time at={node.waitUntil} /> <Age at={node.waitUntil} />
            </>
          ) : (
            <span className="muted">{t.noEnd}</span>
          )}
        </Fact>
        {node.awaits && (
          <Fact name={t.awaits}>
            <code>{[node.awaits.name, node.awaits.key].filter(Boolean).join(" · ")}</code>
          </Fact>
        )}
        {node.reminders !== undefined && <Fact name={t.reminders}>{node.reminders}</Fact>}
        {execution.businessKey !== undefined && <Fact name={t.key}>{execution.businessKey}</Fact>}
        <Fact name={t.execution}>
          <Link to="execution" params={{ id: executionId }} search={{ node: nodeId }}>
            {executionId.slice(-8)}
          </Link>{" "}
          <Id id={executionId} mark />
        </Fact>
      </dl>
    </article>
  );
}

function Fact({ name, children }: { name: string; children: ReactNode }) {
  return (
    <>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </>
  );
}

function Whom({ of }: { of: Assignees }) {
  const t = usePageWords(text);
  const kinds = (["users", "roles", "groups"] as const).filter((k) => of[k]?.length);
  return (
    <>
      {kinds.map((k) => (
        <span key={k} className="wait-whom">
          <span className="muted">{t[k]}</span> {of[k]?.join(", ")}
        </span>
      ))}
    </>
  );
}

/** It ended while somebody looked at it. */
function Over({ execution, node }: { execution: Execution; node: NodeState }) {
  const w = useWords();
  const t = usePageWords(text);
  const { cancel } = execution;
  return (
    <div className="wait-over" role="status">
      <Icon name="ban" />
      <div>
        <strong>{t.over}</strong>{" "}
        {execution.status === "CANCELED" ? (
          <>
            {cancel?.requestedBy?.id ? t.overBy(cancel.requestedBy.id) : t.overCanceled}{" "}
            {cancel?.reason && t.overReason(cancel.reason)}
          </>
        ) : (
          <>
            {t.overResumed} {t.overNode(w.status[node.status] ?? node.status)}
          </>
        )}{" "}
        <Link to="execution" params={{ id: execution.executionId }} search={{ tab: "why" }}>
          {t.openIt}
        </Link>
      </div>
    </div>
  );
}

/** A stage of an approval has its own command, which keeps the comment and the decision. */
function Approval({ execution }: { execution: Execution }) {
  const t = usePageWords(text);
  const input = execution.input as { approvalInstanceId?: string } | undefined;
  const id = input?.approvalInstanceId ?? "";
  return (
    <div className="wait-approval">
      <div>
        <strong>{t.approvalTitle}</strong>
        <p className="muted">{t.approvalHint}</p>
        <pre>renga approval show {id}</pre>
      </div>
      <CopyAs method="GET" path={`approvals/${id}`} cli={`renga approval show ${id}`} />
    </div>
  );
}
