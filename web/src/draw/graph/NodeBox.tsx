import { memo } from "react";
import type { FoldBox } from "../../flow/fold";
import type { Placed } from "../../flow/layout";
import { nodeEnded, type GraphNode, type NodeState } from "../../flow/types";
import type { Tone } from "../../flow/versions";
import { cx, iconPath, showDuration, stateIcon, useNow } from "../../kit";
import { usePrefs } from "../../prefs";
import { useLocale, usePageWords, useWords } from "../../words";
import { clip, foldParts, outline, textWidth, typeSigns } from "./shape";
import { text } from "./words";

/** How much wider a bold text is. */
const bold = 1.1;

export interface NodeBoxProps {
  at: Placed;
  node: GraphNode;
  state: NodeState | undefined;
  cursor: boolean;
  selected: boolean;
  tone: Tone | undefined;
}

/** A node as a person reads it: its name, the sign of its type, and its state as icon, word, colour and form. */
export const NodeBox = memo(function NodeBox({ at, node, state, cursor, selected, tone }: NodeBoxProps) {
  const w = useWords();
  const t = usePageWords(text);
  const { width, height } = at;
  const retry = state?.status === "CREATED" && state.retryAt !== undefined;
  const status = state?.status ?? "";
  const shape = outline(node.type, width, height);
  const progress = state?.status === "RUNNING" ? state.progress : undefined;
  const inset = node.type === "Task" || node.type === "Wait" ? 12 : 16;
  const room = width - inset * 2 - 16;
  const stands = tone ? `${t.tones[tone]} · ${node.type}` : node.type;
  const word = status === "" ? stands : (w.status[status] ?? status);
  return (
    <g
      transform={`translate(${at.x - width / 2} ${at.y - height / 2})`}
      className={cx(
        "gnode",
        status && `is-${status.toLowerCase()}`,
        retry && "is-retry",
        tone && `tone-${tone}`,
      )}
      data-node={node.nodeId}
      data-type={node.type}
      data-status={status}
    >
      <title>{[node.nodeId, ...(status === "" ? [] : [node.type]), word].join(" · ")}</title>
      {(cursor || selected) && (
        <path
          className={cx("gring", selected && "chosen")}
          d={outline(node.type, width + 10, height + 10)}
          transform="translate(-5 -5)"
        />
      )}
      <path className="gbox" d={shape} />
      {status === "WAITING" && <path className="ghatch" d={shape} />}
      <path className="gtype" d={typeSigns[node.type]} transform={`translate(${width - inset - 12} 9)`} />
      <text className="gname" x={inset} y={height / 2 - 4}>
        {clip(node.nodeId, (width - inset * 2 - 18) / bold)}
      </text>
      {status !== "" && (
        <path
          className="gmark"
          d={iconPath(retry ? "refresh" : stateIcon(status))}
          transform={`translate(${inset - 1} ${height / 2 + 3}) scale(0.75)`}
        />
      )}
      <text className="gstate" x={status === "" ? inset : inset + 16} y={height / 2 + 13}>
        {!retry && <tspan>{word}</tspan>}
        {state && <Detail state={state} max={node.retry?.maxAttempts} room={room} word={retry ? "" : word} />}
      </text>
      {progress !== undefined && (
        <>
          <path className="gtrack" d={`M${inset} ${height - 4}H${width - inset}`} />
          <path className="gdone" d={`M${inset} ${height - 4}h${((width - inset * 2) * progress) / 100}`} />
        </>
      )}
    </g>
  );
});

interface DetailProps {
  state: NodeState;
  max: number | undefined;
  room: number;
  word: string;
}

/** What a state has to say beside its word. */
function Detail(p: DetailProps) {
  const { state } = p;
  const t = usePageWords(text);
  const ticks = state.retryAt ?? (state.status === "RUNNING" ? state.leaseUntil : state.waitUntil);
  if (ticks !== undefined) return <Ticking {...p} until={ticks} />;
  const parts: string[] = [];
  if (state.gate && !state.gate.passed && !nodeEnded(state.status)) {
    const { expectedBranches: all, completedBranches: done } = state.gate;
    parts.push(t.joined(String(done.length), String(all.length)));
  }
  if (state.status === "FAILED" && state.error?.code) parts.push(state.error.code);
  if (state.attempt > 1) parts.push(attempts(state.attempt, p.max, t.attempt));
  return <Rest parts={parts} {...p} />;
}

/** The same with a clock in it: only nodes that have one render each second. */
function Ticking(p: DetailProps & { until: string }) {
  const t = usePageWords(text);
  const now = useNow();
  const { language } = usePrefs();
  const { state } = p;
  const left = Date.parse(p.until) - now;
  const span = showDuration(Math.max(0, Math.ceil(left / 1000) * 1000), language);
  const parts: string[] = [];
  if (state.retryAt !== undefined) parts.push(left > 0 ? t.retryIn(span) : t.retryDue);
  else if (state.status === "RUNNING") {
    if (state.progress !== undefined) parts.push(`${state.progress} %`);
    if (state.attempt > 1) parts.push(attempts(state.attempt, p.max, t.attempt));
    if (left <= 0) parts.push(t.leaseOver);
    else if (parts.length === 0) parts.push(t.lease(span));
  } else if (left > 0) parts.push(t.ends(span));
  return <Rest parts={parts} {...p} />;
}

function Rest({ parts, room, word }: DetailProps & { parts: string[] }) {
  if (parts.length === 0) return null;
  const said = parts.join(" · ");
  const left = room - (word === "" ? 0 : textWidth(word, 12.5) + 5);
  return (
    <tspan dx={word === "" ? 0 : 5} className="gdetail">
      {clip(word === "" ? said : `· ${said}`, Math.max(left, 24), 11.5)}
    </tspan>
  );
}

function attempts(n: number, max: number | undefined, say: (n: string) => string): string {
  return say(max === undefined ? String(n) : `${n}/${max}`);
}

/** Folded branches: how many there are and how they are getting on, as words and as a bar. */
export const FoldNode = memo(function FoldNode({
  at,
  box,
  cursor,
}: {
  at: Placed;
  box: FoldBox;
  cursor: boolean;
}) {
  const t = usePageWords(text);
  const locale = useLocale();
  const { width, height } = at;
  const number = (n: number) => n.toLocaleString(locale);
  const said = foldParts
    .filter(([part]) => box.counts[part] > 0)
    .map(([part]) => t.counts[part](number(box.counts[part])))
    .join(", ");
  const room = width - 24;
  const widths = foldParts.map(([part]) => (box.counts[part] / Math.max(1, box.counts.branches)) * room);
  return (
    <g
      transform={`translate(${at.x - width / 2} ${at.y - height / 2})`}
      className="gnode gfold"
      data-fold={box.fork}
      data-node={box.id}
    >
      <title>{`${t.branches(number(box.counts.branches))}: ${said}\n${t.unfold(box.fork)}`}</title>
      {cursor && <rect className="gring" x={-5} y={-5} width={width + 10} height={height + 10} rx={12} />}
      <rect className="gbehind" x={6} y={6} width={width} height={height} rx={8} />
      <rect className="gbehind" x={3} y={3} width={width} height={height} rx={8} />
      <rect className="gbox" width={width} height={height} rx={8} />
      <text className="gname" x={12} y={20}>
        {t.branches(number(box.counts.branches))}
      </text>
      <path className="gopen" d={iconPath("plus")} transform={`translate(${width - 26} 8) scale(0.85)`} />
      <text className="gstate" x={12} y={37}>
        {clip(said, room, 11.5)}
      </text>
      {foldParts.map(([part, status], i) =>
        box.counts[part] === 0 ? null : (
          <rect
            key={part}
            className={`gpart is-${status.toLowerCase()}`}
            x={12 + widths.slice(0, i).reduce((a, b) => a + b, 0)}
            y={height - 13}
            width={Math.max(2, widths[i] ?? 0)}
            height={5}
          />
        ),
      )}
    </g>
  );
});
