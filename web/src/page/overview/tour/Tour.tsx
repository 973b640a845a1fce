import { useState, type ReactNode } from "react";
import { api, data, newId, once, useAction, useRead, useRefresh } from "../../../api";
import { Graph } from "../../../draw/graph";
import { Button, cx, ErrorBox, Icon, Json, Section, StateBadge } from "../../../kit";
import { go, Link } from "../../../router";
import { usePageWords } from "../../../words";
import { delivering, graph, graphId, inputs, stepOf, steps, type Step } from "./steps";
import "./tour.css";
import { useWorker } from "./useWorker";
import { text } from "./words";

const every = 600;

/** Three minutes without a terminal: a graph runs, a person approves, a cancel wins, and nothing is lost. */
export default function Tour({ run }: { run: string }) {
  const t = usePageWords(text);
  const refresh = useRefresh();
  const known = run !== "new";
  const [fresh] = useState(() => newId().slice(0, 8));
  const name = known ? run : fresh;
  const list = useRead(
    "/executions",
    { query: { graphId, label: [`tour:${name}`], page_size: 20 } },
    { every, enabled: known },
  );
  const ids = (list.data?.items ?? []).map((e) => e.executionId).reverse();
  const firstId = ids[0];
  const secondId = ids.length > 1 ? ids.at(-1) : undefined;
  const first = useExecution(firstId);
  const second = useExecution(secondId);
  const loading = known && (list.isPending || (firstId && !first) || (secondId && !second));
  const step = stepOf(first, second);
  useWorker(
    `tour-${name}`,
    [first, second].filter((e) => e !== undefined),
    known && step !== "end",
  );

  const create = useAction(async (_key, n: number, input: object) => {
    await data(api.PUT("/graphs/{graphId}", { params: { path: { graphId } }, body: graph }));
    return data(
      api.POST("/executions", {
        // The name of the tour and the number: a second click, also after a reload, starts nothing more.
        params: { header: once(`tour-${name}-${n}`) },
        body: { graphId, input: input as never, labels: { tour: name }, start: true },
      }),
    );
  });
  const begin = async () => {
    if (await create.run(1, inputs.first)) go({ to: "overview", search: { tour: name } });
  };
  const startSecond = async () => {
    if (await create.run(ids.length + 1, inputs.second)) await refresh("/executions");
  };
  const resume = useAction(async (key, approved: boolean) => {
    const path = { executionId: firstId ?? "", nodeId: "approve" };
    const answer = await data(
      api.POST("/executions/{executionId}/nodes/{nodeId}/resume", {
        params: { path, header: once(key) },
        body: { output: { approved } as never },
      }),
    );
    await refresh("/executions/{executionId}");
    return answer;
  });
  const cancel = useAction(async (key) => {
    const answer = await data(
      api.POST("/executions/{executionId}/cancel", {
        params: { path: { executionId: secondId ?? "" }, header: once(key) },
        body: { reason: t.cancelReason },
      }),
    );
    await refresh("/executions/{executionId}");
    return answer;
  });

  const canCancel = delivering(second);
  const acts: Partial<Record<Step, ReactNode>> = {
    begin: (
      <Button kind="primary" scope="graphs:write" busy={create.busy} onClick={() => void begin()}>
        {t.begin}
      </Button>
    ),
    approve: (
      <>
        <Button
          kind="primary"
          scope="executions:write"
          busy={resume.busy}
          onClick={() => void resume.run(true)}
        >
          {t.approve}
        </Button>
        <Button scope="executions:write" disabled={resume.busy} onClick={() => void resume.run(false)}>
          {t.decline}
        </Button>
      </>
    ),
    second: (
      <Button kind="primary" scope="executions:write" busy={create.busy} onClick={() => void startSecond()}>
        {t.second}
      </Button>
    ),
    cancel: (
      <Button
        kind="danger"
        scope="executions:write"
        busy={cancel.busy}
        disabled={!canCancel}
        onClick={() => void cancel.run()}
      >
        {t.cancel}
      </Button>
    ),
  };
  const shown = step === "begin" || step === "work" || step === "approve" ? first : (second ?? first);
  const at = step === "end" ? steps.length : steps.indexOf(step);
  const error = create.error ?? resume.error ?? cancel.error ?? list.error;
  const late = second?.lateResults?.[0];
  return (
    <div className="tour">
      <Section title={t.title} actions={<Link to="overview">{t.leave}</Link>}>
        <ol className="tour-steps" aria-label={t.title}>
          {steps.map((s, i) => (
            <li
              key={s}
              data-step={s}
              className={cx(i < at && "done", i === at && "now")}
              aria-current={i === at ? "step" : undefined}
            >
              <span className="tour-mark" aria-hidden>
                {i < at ? <Icon name="check" size={12} bold /> : i + 1}
              </span>
              <div>
                <strong>{t.steps[s].title}</strong>
                {i === at && !loading && (
                  <>
                    <p>{s === "cancel" && !canCancel ? t.soon : t.steps[s].text}</p>
                    {acts[s] && <div className="form-actions">{acts[s]}</div>}
                  </>
                )}
              </div>
            </li>
          ))}
        </ol>
        {step === "end" && second && (
          <div className="tour-end" role="status">
            <h3>{t.endTitle}</h3>
            <p>{t.endText}</p>
            {late?.output !== undefined && <Json value={late.output} label={t.endLate} />}
            <p className="form-actions">
              <Link to="execution" params={{ id: second.executionId }} search={{ tab: "why" }}>
                {t.endWhy}
              </Link>
              <Link to="graph" params={{ id: graphId }}>
                {t.endGraph}
              </Link>
              <Link to="overview">{t.leave}</Link>
            </p>
          </div>
        )}
        {error && <ErrorBox error={error} />}
      </Section>
      <Section
        title={shown ? t.execution(shown === second ? "2" : "1") : t.graph}
        actions={
          shown && (
            <span>
              <StateBadge state={shown.status} />{" "}
              <Link to="execution" params={{ id: shown.executionId }}>
                {t.open}
              </Link>
            </span>
          )
        }
      >
        <div className="tour-canvas">
          <Graph graph={graph as never} states={shown?.nodes ?? []} />
        </div>
      </Section>
    </div>
  );
}

function useExecution(executionId: string | undefined) {
  const read = useRead(
    "/executions/{executionId}",
    { path: { executionId: executionId ?? "" } },
    { every, enabled: executionId !== undefined },
  );
  return executionId === undefined ? undefined : read.data;
}
