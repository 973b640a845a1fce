import { useEffect, useRef, useState, type ReactNode } from "react";
import { previewCancelNode } from "../../flow/preview";
import { Age, Button, CopyAs, Icon, Json, StateBadge, Time, useNow, showDuration } from "../../kit";
import { Answer, Asked, shownOf } from "../../kit/wait";
import { usePrefs } from "../../prefs";
import { usePageWords, useWords } from "../../words";
import { CancelNode } from "./CancelNode";
import { useExecutionContext, type NodeState } from "./context";
import { Data } from "./Data";
import { LateResults } from "./LateResults";
import { whom } from "../../flow/whom";
import { text } from "./words";

/** Everything about one node, beside the tab. */
export function NodePanel({ nodeId }: { nodeId: string }) {
  const { id, execution, now, graph, select, at } = useExecutionContext();
  const t = usePageWords(text);
  const w = useWords();
  const [canceling, setCanceling] = useState(false);
  const heading = useRef<HTMLHeadingElement>(null);
  const node = execution.nodes.find((n) => n.nodeId === nodeId);
  const spec = graph?.nodes.find((n) => n.nodeId === nodeId);
  const late = (now.lateResults ?? []).filter((r) => r.nodeId === nodeId);
  const newest = at === undefined;

  // Whoever opens it by a key reads on here; Escape goes back.
  const opened = useRef<Element | null>(null);
  useEffect(() => {
    opened.current = document.activeElement;
    heading.current?.focus({ preventScroll: innerWidth > 900 });
  }, []);
  const close = () => {
    select(undefined);
    if (opened.current instanceof HTMLElement && opened.current.isConnected) opened.current.focus();
  };
  const canCancel =
    newest && now.status === "ACTIVE" && now.startedAt !== undefined && now.cancelRequestedAt === null;
  return (
    <aside
      className="node-panel"
      aria-label={t.nodePanel(nodeId)}
      onKeyDown={(e) => {
        if (e.key !== "Escape" || e.nativeEvent.isComposing || document.querySelector("dialog[open]")) return;
        e.stopPropagation();
        close();
      }}
    >
      <header>
        <h2 ref={heading} tabIndex={-1}>
          {nodeId}
        </h2>
        <Button kind="quiet" small className="icon" aria-label={w.do.close} onClick={close}>
          <Icon name="close" size={12} />
        </Button>
      </header>
      {!node ? (
        <p className="muted">{t.noSuchNode}</p>
      ) : (
        <>
          <p className="node-state">
            <StateBadge state={node.status} note={node.error?.code} />{" "}
            <span className="muted">{node.type}</span>
          </p>
          <Rows node={node} spec={spec} />
          {node.error && (
            <Part title={t.error}>
              <p className="node-error">
                {node.error.code && <code>{node.error.code}</code>} {node.error.message}
              </p>
              {node.error.detail !== undefined && <Json value={node.error.detail} label={t.error} />}
            </Part>
          )}
          {node.status === "WAITING" && newest && <Wait node={node} spec={spec} />}
          {late.length > 0 && <LateResults results={late} />}
          <NodeData node={node} />
          <div className="node-actions">
            {canCancel && !previewCancelNode(now, nodeId).refused && (
              <Button small scope="executions:write" onClick={() => setCanceling(true)}>
                {t.cancelNode(nodeId)} …
              </Button>
            )}
            <CopyAs
              method="GET"
              path={`executions/${id}/events?nodeId=${encodeURIComponent(nodeId)}`}
              cli={`renga execution show ${id} -o json | jq '.nodes[] | select(.nodeId == ${JSON.stringify(nodeId)})'`}
            />
          </div>
          {canceling && <CancelNode nodeId={nodeId} onClose={() => setCanceling(false)} />}
        </>
      )}
    </aside>
  );
}

type Spec = NonNullable<ReturnType<typeof useExecutionContext>["graph"]>["nodes"][number];

/** What a node asks of people, and the form that answers it. */
function Wait({ node, spec }: { node: NodeState; spec: Spec | undefined }) {
  const { id, refresh } = useExecutionContext();
  const t = usePageWords(text);
  const shown = shownOf(node.prompt);
  return (
    <Part title={shown.title ?? t.asks}>
      <Asked executionId={id} shown={shown} reference={node.promptRef} />
      {node.assignees && <p className="muted">{t.forWhom(whom(node.assignees))}</p>}
      <Answer
        executionId={id}
        node={node}
        schema={spec?.schema}
        prompt={node.prompt}
        onSent={(resumed) => resumed && void refresh()}
      />
    </Part>
  );
}

/** The plain facts of a node. */
function Rows({ node: n, spec }: { node: NodeState; spec: Spec | undefined }) {
  const t = usePageWords(text);
  const { at } = useExecutionContext();
  const rows: [string, ReactNode][] = [];
  const add = (name: string, value: ReactNode) => rows.push([name, value]);
  const max = spec?.retry?.maxAttempts;
  if (n.attempt > 0 || max !== undefined)
    add(t.attempt, max === undefined ? n.attempt : t.of(n.attempt, max));
  if (n.retryAt) add(t.retry, <Left until={n.retryAt} />);
  if (n.workerId) add(t.worker, n.workerId);
  if (spec?.queue) add(t.queue, <code>{spec.queue}</code>);
  if (n.leaseUntil && n.status === "RUNNING")
    add(t.lease, at === undefined ? <Left until={n.leaseUntil} /> : <Time at={n.leaseUntil} />);
  if (n.timeoutAt) add(t.timeout, <Left until={n.timeoutAt} />);
  if (n.progress !== undefined) add(t.progress, <Progress value={n.progress} />);
  if (n.message) add(t.message, n.message);
  if (n.waitUntil) add(t.waitUntil, <Left until={n.waitUntil} />);
  if (n.awaits) add(t.awaits, n.awaits.key ? `${n.awaits.name} · ${n.awaits.key}` : n.awaits.name);
  if (n.reminders) add(t.reminders, n.reminders);
  if (n.gate) {
    const { expectedBranches, completedBranches, failedBranches, canceledBranches } = n.gate;
    add(t.policy, spec?.policy ?? "ALL_SUCCESS");
    add(t.branchesDone, t.of(completedBranches.length, expectedBranches.length));
    if (failedBranches.length > 0) add(t.branchesFailed, failedBranches.slice(0, 20).join(", "));
    if (canceledBranches.length > 0) add(t.branchesCanceled, canceledBranches.slice(0, 20).join(", "));
  }
  if (n.failedNodeId) add(t.afterFailureOf, n.failedNodeId);
  if (n.reason) add(t.reason, n.reason);
  if (n.retryAdvice) add(t.advice, t.advices[n.retryAdvice] ?? n.retryAdvice);
  if (rows.length === 0) return null;
  return (
    <dl className="rows">
      {rows.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}

/** How long until something, with the time itself. */
function Left({ until }: { until: string }) {
  const now = useNow();
  const { language } = usePrefs();
  const left = Date.parse(until) - now;
  return (
    <>
      {left > 0 ? showDuration(Math.ceil(left / 1000) * 1000, language) : <Age at={until} />}{" "}
      <span className="muted small-text">
        <Time at={until} />
      </span>
    </>
  );
}

function Progress({ value }: { value: number }) {
  return (
    <span className="progress">
      <progress max={100} value={value} /> <span className="num">{value} %</span>
    </span>
  );
}

/** What went into a node and what came out of it. */
function NodeData({ node: n }: { node: NodeState }) {
  const t = usePageWords(text);
  const parts = [
    ["input", t.input, n.input, n.inputRef],
    ["output", t.output, n.output, n.outputRef],
    ["metrics", t.metrics, n.metrics, n.metricsRef],
  ] as const;
  return parts.map(([member, title, value, ref]) =>
    value === undefined && ref === undefined ? null : (
      <Part key={member} title={title}>
        <Data value={value} reference={ref} member={member} label={title} />
      </Part>
    ),
  );
}

export function Part({ title, children }: { title: ReactNode; children: ReactNode }) {
  return (
    <section className="node-part">
      <h3>{title}</h3>
      {children}
    </section>
  );
}
