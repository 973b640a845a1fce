import { useEffect, useEffectEvent, useMemo, useRef, useState, type KeyboardEvent } from "react";
import { blocksOf, pathTo, type FoldChoice } from "../../flow/fold";
import { guide, stepOf, type Place } from "../../flow/guide";
import type { Layout, Placed } from "../../flow/layout";
import type { Graph as GraphSpec, NodeState } from "../../flow/types";
import { nodeLive } from "../../flow/types";
import type { Tone } from "../../flow/versions";
import { Button, Icon, usePageKey } from "../../kit";
import { useLocale, usePageWords, useWords } from "../../words";
import { Far } from "./Far";
import { Find } from "./Find";
import "./graph.css";
import { Lines } from "./Lines";
import { Minimap } from "./Minimap";
import { FoldNode, NodeBox } from "./NodeBox";
import { useLayout, type Drawing } from "./useLayout";
import { usePointer } from "./usePointer";
import { useView } from "./useView";
import { centreOn, fill, fit, overlaps, reveal, zoomAt, type Rect } from "./view";
import { waysOf } from "./ways";
import { text } from "./words";

export interface GraphProps {
  graph: GraphSpec;
  /** The states of its nodes; none for a graph that does not run. */
  states?: readonly NodeState[];
  selected?: string | undefined;
  onSelect?: ((nodeId: string) => void) | undefined;
  /** Forks that are folded or unfolded otherwise than by themselves. */
  choice?: FoldChoice;
  onFold?: ((fork: string, folded: boolean) => void) | undefined;
  /** Of versions that are compared: what became of a node. */
  tones?: ReadonlyMap<string, Tone> | undefined;
  /** And of an edge, by its place in the graph. */
  edgeTones?: ReadonlyMap<number, Tone> | undefined;
}

const none: readonly NodeState[] = [];
const noChoice: FoldChoice = {};

/** A graph with the states of its nodes. Arrows walk along edges, Enter opens, f fits, / finds. */
export function Graph({
  graph,
  states = none,
  selected,
  onSelect,
  choice = noChoice,
  onFold,
  tones,
  edgeTones,
}: GraphProps) {
  const t = usePageWords(text);
  const w = useWords();
  const locale = useLocale();
  const [wide] = useState(() => innerWidth > 760);
  const drawing = useLayout(graph, states, choice, wide, (edgeTones?.size ?? 0) > 0);
  const control = useView(drawing?.layout);
  const [place, setPlace] = useState<Place>();
  const [finding, setFinding] = useState(false);
  const byId = useMemo(() => new Map(states.map((n) => [n.nodeId, n])), [states]);
  const ways = useMemo(() => waysOf(graph, states), [graph, states]);
  const { container, world, frame, move, area } = control;
  const cursor = place?.id;
  const at = cursor ?? selected;
  const setCursor = (id: string) => setPlace({ id, trail: [] });
  const walks = useMemo(() => drawing && guide(drawing.layout, drawing.folded.edges), [drawing]);

  useFirstSight(drawing, states, control);

  const show = (id: string, k?: number) => {
    const placed = drawing?.layout.byId.get(id);
    if (!placed) return;
    move((v) => {
      const next = k !== undefined && v.k < k ? centreOn(placed, k, area()) : v;
      return reveal(next, rectOf(placed), area());
    });
  };
  const open = (id: string) => {
    setCursor(id);
    const box = drawing?.folded.boxes.find((b) => b.id === id);
    if (box) onFold?.(box.fork, false);
    else onSelect?.(id);
  };
  const fitAll = () => control.fitAll();
  const find = (id: string) => {
    setFinding(false);
    const around = drawing?.folded.hidden.get(id);
    if (around !== undefined) for (const fork of pathTo(id, blocksOf(graph))) onFold?.(fork, false);
    wanted.current = around === undefined ? undefined : id;
    setCursor(id);
    if (around === undefined) show(id, 0.8);
    container.current?.focus();
  };
  // What was found in folded branches is shown as soon as they are unfolded.
  const wanted = useRef<string>(undefined);
  const showWanted = useEffectEvent(() => {
    const id = wanted.current;
    if (id === undefined || !drawing?.layout.byId.has(id)) return;
    wanted.current = undefined;
    show(id, 0.8);
  });
  useEffect(() => showWanted(), [drawing]);

  usePointer(control, (point, target) => {
    const forkToFold = target.closest("[data-fold-fork]")?.getAttribute("data-fold-fork");
    if (forkToFold) return onFold?.(forkToFold, true);
    const v = control.view();
    if (!v || !drawing) return;
    const hit = hitOf(drawing.layout, (point.x - v.x) / v.k, (point.y - v.y) / v.k);
    if (hit !== undefined) open(hit);
  });
  usePageKey("f", fitAll, t.fit);
  usePageKey("/", () => setFinding(true), t.find);

  const keys = (e: KeyboardEvent) => {
    if (e.target !== e.currentTarget || e.nativeEvent.isComposing || !drawing) return;
    if (e.metaKey || e.ctrlKey || e.altKey) return;
    const step = stepOf(e.key, drawing.direction);
    if (step && walks) {
      const known = at !== undefined && drawing.layout.byId.has(at);
      const from = place && known ? place : known ? { id: at, trail: [] } : undefined;
      const next = from ? walks.step(from, step) : walks.start();
      if (next) {
        setPlace(next);
        show(next.id, 0.5);
      }
    } else if ((e.key === "Enter" || e.key === " ") && at !== undefined) open(at);
    else if (e.key === "+" || e.key === "=") zoom(1.25);
    else if (e.key === "-") zoom(0.8);
    else return;
    e.preventDefault();
  };
  const zoom = (factor: number) => {
    const a = area();
    move((v) => zoomAt(v, { x: a.width / 2, y: a.height / 2 }, factor));
  };

  const said = at === undefined ? undefined : byId.get(at);
  const forks = useMemo(() => forksToFold(drawing), [drawing]);
  return (
    <div className="graph">
      <div
        ref={container}
        className="graph-area"
        tabIndex={0}
        role="application"
        aria-label={t.label(graph.nodes.length.toLocaleString(locale))}
        onKeyDown={keys}
        data-drawn={drawing && frame ? drawing.layout.nodes.length : undefined}
        data-direction={drawing?.direction}
        data-cursor={at}
      >
        <svg className="graph-svg" aria-hidden="true">
          <defs>
            <pattern
              id="ghatch"
              width="7"
              height="7"
              patternUnits="userSpaceOnUse"
              patternTransform="rotate(45)"
            >
              <rect width="3" height="7" />
            </pattern>
          </defs>
          <g ref={world}>
            {drawing && frame && (
              <>
                <Lines
                  folded={drawing.folded}
                  layout={drawing.layout}
                  direction={drawing.direction}
                  ways={ways}
                  tones={edgeTones}
                  part={frame.part}
                  texts={frame.texts}
                />
                {frame.texts ? (
                  drawing.folded.nodes.map((n) => {
                    const placed = drawing.layout.byId.get(n.id);
                    if (!placed || !overlaps(rectOf(placed), frame.part)) return null;
                    if (n.box) return <FoldNode key={n.id} at={placed} box={n.box} cursor={n.id === at} />;
                    if (!n.node) return null;
                    return (
                      <NodeBox
                        key={n.id}
                        at={placed}
                        node={n.node}
                        state={byId.get(n.id)}
                        cursor={n.id === at}
                        selected={n.id === selected}
                        tone={tones?.get(n.id)}
                      />
                    );
                  })
                ) : (
                  <Far folded={drawing.folded} layout={drawing.layout} states={byId} />
                )}
                {!frame.texts && at !== undefined && <FarCursor at={drawing.layout.byId.get(at)} />}
                {frame.texts &&
                  forks.map(({ fork, branches }) => (
                    <FoldHandle
                      key={fork}
                      fork={fork}
                      at={drawing.layout.byId.get(fork)}
                      title={t.fold(fork)}
                      branches={branches}
                    />
                  ))}
              </>
            )}
          </g>
        </svg>
      </div>
      <p className="unseen" aria-live="polite">
        {cursor !== undefined && `${cursor} ${said ? (w.status[said.status] ?? said.status) : ""}`}
      </p>
      <div className="graph-tools">
        <Button
          kind="quiet"
          small
          className="icon"
          aria-label={t.find}
          title={`${t.find} (/)`}
          onClick={() => setFinding(true)}
        >
          <Icon name="search" size={14} />
        </Button>
        <Button
          kind="quiet"
          small
          className="icon"
          aria-label={t.zoomOut}
          title={`${t.zoomOut} (−)`}
          onClick={() => zoom(0.8)}
        >
          <Icon name="minus" size={14} />
        </Button>
        <Button
          kind="quiet"
          small
          className="icon"
          aria-label={t.zoomIn}
          title={`${t.zoomIn} (+)`}
          onClick={() => zoom(1.25)}
        >
          <Icon name="plus" size={14} />
        </Button>
        <Button
          kind="quiet"
          small
          className="icon"
          aria-label={t.fit}
          title={`${t.fit} (f)`}
          onClick={fitAll}
        >
          <Icon name="fit" size={14} />
        </Button>
      </div>
      {finding && (
        <Find
          ids={graph.nodes.map((n) => n.nodeId)}
          onFind={find}
          onClose={() => {
            setFinding(false);
            container.current?.focus();
          }}
        />
      )}
      {drawing && drawing.layout.nodes.length > 12 && (
        <Minimap folded={drawing.folded} layout={drawing.layout} states={byId} control={control} />
      )}
    </div>
  );
}

/** A sign at an unfolded Fork that folds its branches. */
function FoldHandle({
  fork,
  at,
  title,
  branches,
}: {
  fork: string;
  at: Placed | undefined;
  title: string;
  branches: number;
}) {
  if (!at) return null;
  return (
    <g
      className="gfoldhandle"
      data-fold-fork={fork}
      transform={`translate(${at.x + at.width / 2 - 16} ${at.y + at.height / 2 - 6})`}
    >
      <title>{title}</title>
      <rect width={34} height={16} rx={8} />
      <text x={17} y={12} textAnchor="middle">{`⊟ ${branches}`}</text>
    </g>
  );
}

function FarCursor({ at }: { at: Placed | undefined }) {
  if (!at) return null;
  return (
    <rect
      className="gring chosen far"
      x={at.x - at.width / 2 - 16}
      y={at.y - at.height / 2 - 16}
      width={at.width + 32}
      height={at.height + 32}
      rx={16}
    />
  );
}

/** The forks whose branches are all shown, and how many they have. */
function forksToFold(drawing: Drawing | undefined): { fork: string; branches: number }[] {
  if (!drawing) return [];
  const folded = new Set(drawing.folded.boxes.map((b) => b.fork));
  const count = new Map<string, number>();
  for (const e of drawing.folded.edges) count.set(e.from, (count.get(e.from) ?? 0) + 1);
  return drawing.folded.nodes.flatMap((n) => {
    const branches = count.get(n.id) ?? 0;
    return n.node?.type === "Fork" && !folded.has(n.id) && branches > 2 ? [{ fork: n.id, branches }] : [];
  });
}

function rectOf(p: Placed): Rect {
  return { x: p.x - p.width / 2, y: p.y - p.height / 2, width: p.width, height: p.height };
}

function hitOf(layout: Layout, x: number, y: number): string | undefined {
  return layout.nodes.find((n) => Math.abs(n.x - x) <= n.width / 2 && Math.abs(n.y - y) <= n.height / 2)?.id;
}

/** The first look: the whole when it can be read, else where the execution is. Later folds keep what is in sight. */
function useFirstSight(
  drawing: Drawing | undefined,
  states: readonly NodeState[],
  control: ReturnType<typeof useView>,
) {
  const before = useRef<Layout>(undefined);
  const look = useEffectEvent(() => {
    if (!drawing) return;
    const { layout } = drawing;
    const a = control.area();
    const old = before.current;
    before.current = layout;
    const v = control.view();
    if (!v || !old) {
      const whole = fit(layout, a);
      const focus =
        whole.k >= 0.5 || (whole.k > 0.1 && layout.nodes.length > 200) ? undefined : focusOf(layout, states);
      if (focus) control.set(fill(centreOn(focus, 0.75, a), layout, a));
      else control.fitAll();
      return;
    }
    // What was nearest to the middle stays where it is.
    const middle = { x: (a.width / 2 - v.x) / v.k, y: (a.height / 2 - v.y) / v.k };
    let anchor: [Placed, Placed] | undefined;
    let least = Infinity;
    for (const n of old.nodes) {
      const now = layout.byId.get(n.id);
      const far = Math.hypot(n.x - middle.x, n.y - middle.y);
      if (now && far < least) [least, anchor] = [far, [n, now]];
    }
    const [was, is] = anchor ?? [];
    control.set(was && is ? { ...v, x: v.x + (was.x - is.x) * v.k, y: v.y + (was.y - is.y) * v.k } : v);
  });
  const layout = drawing?.layout;
  useEffect(() => {
    if (layout) look();
  }, [layout]);
}

/** Where to look first: what failed, else what is going on, else the beginning. */
function focusOf(layout: Layout, states: readonly NodeState[]): Placed | undefined {
  const of = (want: (n: NodeState) => boolean) => {
    const hit = states.find((n) => want(n) && layout.byId.has(n.nodeId));
    return hit && layout.byId.get(hit.nodeId);
  };
  return of((n) => n.status === "FAILED" && n.type !== "Join") ?? of((n) => nodeLive(n)) ?? layout.nodes[0];
}
