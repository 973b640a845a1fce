import { useState } from "react";
import { useRead } from "../../api";
import type { Why } from "../../flow/why";
import { whyNotMoving } from "../../flow/why";
import { Button, Icon, Section, showDuration, useNow, type IconName } from "../../kit";
import { usePrefs } from "../../prefs";
import { Link } from "../../router";
import { useLocale, usePageWords } from "../../words";
import { useExecutionContext } from "./context";
import { Refusals } from "./Refusals";
import { whom } from "../../flow/whom";
import { text } from "./whyWords";

const most = 20;

/** Why does it not move, and why was something refused? */
export default function WhyTab() {
  const { id, execution, graph, at, now } = useExecutionContext();
  const t = usePageWords(text);
  const locale = useLocale();
  const clock = useNow();
  const active = execution.status === "ACTIVE";
  const queues = useRead("/tasks/queues", { query: { page_size: 100 } }, { every: 2_000, enabled: active });
  const attempts = useRead(
    "/executions/{executionId}/attempts",
    { path: { executionId: id } },
    { every: active ? 4_000 : undefined, keep: true },
  );
  const [all, setAll] = useState(false);
  const reasons = whyNotMoving({
    state: execution,
    graph,
    queues: queues.data?.items,
    attempts: at === undefined ? attempts.data?.nodes : undefined,
    now: at === undefined ? clock : Date.parse(execution.endedAt ?? now.createdAt),
  });
  const shown = all ? reasons : reasons.slice(0, most);
  return (
    <div className="exe-why">
      <Section title={t.why}>
        <ul className="why">
          {shown.map((why, i) => (
            <Reason key={"nodeId" in why ? why.nodeId : i} why={why} />
          ))}
        </ul>
        {reasons.length > shown.length && (
          <Button small onClick={() => setAll(true)}>
            {t.showAll} ({reasons.length.toLocaleString(locale)})
          </Button>
        )}
      </Section>
      <Section title={t.refused}>
        <Refusals />
      </Section>
    </div>
  );
}

function Reason({ why }: { why: Why }) {
  const t = usePageWords(text);
  const { select } = useExecutionContext();
  const sentences = useSentences(why);
  const nodeId = "nodeId" in why ? why.nodeId : undefined;
  return (
    <li data-why={why.kind} className={`why-${why.kind}`}>
      <span className="why-mark">
        <Icon name={marks[why.kind]} bold />
      </span>
      <p>
        {nodeId !== undefined && (
          <>
            <button type="button" className="link" title={t.showNode} onClick={() => select(nodeId)}>
              {nodeId}
            </button>{" "}
          </>
        )}
        {sentences.join(t.space)}
        {why.kind === "unclaimed" && (
          <>
            {" "}
            <Link to="queues">{t.openQueue}</Link>
          </>
        )}
        {why.kind === "wait" && nodeId !== undefined && (
          <>
            {" "}
            <Button small onClick={() => select(nodeId)}>
              {t.resumeIt}
            </Button>
          </>
        )}
      </p>
    </li>
  );
}

const marks: Record<Why["kind"], IconName> = {
  ended: "check",
  not_started: "ring",
  canceling: "flag",
  ready: "quarter",
  unclaimed: "warn",
  retry: "refresh",
  running: "play",
  wait: "pause",
  timer: "waiting",
  message: "mail",
  join: "join",
  resting: "ring",
};

/** A reason in sentences: what it waits for first, then what else is known. */
function useSentences(why: Why): string[] {
  const t = usePageWords(text);
  const { language } = usePrefs();
  const locale = useLocale();
  const span = (ms: number | undefined) =>
    ms === undefined ? "" : showDuration(Math.max(0, Math.ceil(ms / 1000) * 1000), language);
  const n = (value: number | undefined) => (value ?? 0).toLocaleString(locale);
  const said: (string | false | undefined)[] = [];
  switch (why.kind) {
    case "ended":
      return [t.movesNot[why.status] ?? why.status];
    case "not_started":
      return [t.notStarted(span(why.since))];
    case "canceling":
      return [t.canceling(n(why.seq))];
    case "resting":
      return [t.resting];
    case "ready":
      said.push(why.queue === undefined ? t.readyHere : t.ready(why.queue, span(why.since)));
      said.push(why.ahead.ready !== undefined && why.ahead.ready > 1 && t.ahead(n(why.ahead.ready)));
      break;
    case "unclaimed":
      said.push(t.unclaimed(why.queue ?? "default", span(why.since)));
      said.push(why.ahead.ready !== undefined && why.ahead.ready > 1 && t.ahead(n(why.ahead.ready)));
      break;
    case "retry": {
      const of = why.maxAttempts === undefined ? n(why.attempt) : `${n(why.attempt)}/${n(why.maxAttempts)}`;
      said.push(why.in > 0 ? t.retry(of, span(why.in)) : t.retryDue(of));
      const error = [why.errorCode, why.errorMessage].filter(Boolean).join(" · ");
      said.push(error !== "" && t.lastFailed(error));
      break;
    }
    case "running":
      said.push(t.running(why.workerId ?? "", span(why.since)));
      said.push(why.progress !== undefined && t.progress(n(why.progress)), why.message);
      if (why.leaseLeft !== undefined)
        said.push(why.leaseLeft > 0 ? t.lease(span(why.leaseLeft)) : t.leaseOver);
      said.push(why.timeoutLeft !== undefined && why.timeoutLeft > 0 && t.timeout(span(why.timeoutLeft)));
      break;
    case "wait":
      said.push(t.wait(span(why.since)), why.waitKey !== undefined && t.waitKey(why.waitKey));
      said.push(why.assignees ? t.mayDecide(whom(why.assignees)) : t.anybody);
      said.push(why.endsIn !== undefined && t.endsIn(span(why.endsIn)));
      said.push(why.reminders > 0 && t.reminded(n(why.reminders)));
      said.push(why.remindsIn !== undefined && t.remindsIn(span(why.remindsIn)));
      break;
    case "timer":
      said.push(t.timer(span(why.endsIn)));
      break;
    case "message":
      said.push(t.message(why.awaits.name), why.awaits.key !== undefined && t.messageKey(why.awaits.key));
      said.push(why.endsIn !== undefined && t.endsIn(span(why.endsIn)));
      break;
    case "join":
      said.push(t.join(n(why.completed), n(why.expected)));
      said.push(why.needs !== undefined && why.needs > 0 && t.joinNeeds(n(why.needs)));
      said.push(why.failed > 0 && t.failedBranches(n(why.failed)));
      said.push(why.missing.length > 0 && t.missing(listed(why.missing, (rest) => t.more(n(rest)))));
  }
  return said.filter((s): s is string => typeof s === "string" && s !== "");
}

function listed(all: readonly string[], more: (n: number) => string): string {
  const shown = all.slice(0, 6).join(", ");
  return all.length > 6 ? `${shown} ${more(all.length - 6)}` : shown;
}
