import { useEffect, useMemo, useState } from "react";
import type { Folded, FoldChoice } from "../../flow/fold";
import { blocksOf, fold } from "../../flow/fold";
import { layout, layoutSteps, type Layout, type LayoutOptions } from "../../flow/layout";
import type { Graph, NodeState } from "../../flow/types";
import { labelWidth, sizeOf } from "./shape";

/** Up to so many nodes the layout is there in the first render; larger ones are made between frames. */
const atOnce = 300;

export type Direction = "down" | "right";

export interface Drawing {
  folded: Folded;
  layout: Layout;
  direction: Direction;
}

/**
 * The layout of a graph with its folds; marked: something is written at edges without a condition, too. The last one
 * stays until the next is there.
 */
export function useLayout(
  graph: Graph,
  states: readonly NodeState[],
  choice: FoldChoice,
  wide: boolean,
  marked: boolean,
): Drawing | undefined {
  const blocks = useMemo(() => blocksOf(graph), [graph]);
  const folded = useMemo(() => fold(graph, states, choice, blocks), [graph, states, choice, blocks]);
  const direction = useMemo(() => directionOf(graph, wide, marked), [graph, wide, marked]);
  // States change often, and the picture with them seldom: only what is drawn counts.
  const key = JSON.stringify([
    direction,
    marked,
    folded.nodes.map((n) => n.id),
    folded.edges.map((e) => e.index),
  ]);
  const shape = useMemo(
    () => ({ key, nodes: folded.nodes, edges: folded.edges, direction, marked, graph }),
    // eslint-disable-next-line react-hooks/exhaustive-deps
    [key, graph],
  );
  const small = shape.nodes.length <= atOnce;
  const direct = useMemo(
    () =>
      small ? layout(boxes(shape), shape.edges, optionsOf(shape.edges, direction, shape.marked)) : undefined,
    [shape, small, direction],
  );
  const [made, setMade] = useState<{ of: typeof shape; layout: Layout }>();

  useEffect(() => {
    if (direct) return;
    const steps = layoutSteps(boxes(shape), shape.edges, {
      ...optionsOf(shape.edges, shape.direction, shape.marked),
      now: () => performance.now(),
    });
    let timer = setTimeout(function step() {
      const s = steps.next();
      if (s.done === true) setMade({ of: shape, layout: s.value });
      else timer = setTimeout(step);
    });
    return () => clearTimeout(timer);
  }, [shape, direct]);

  return useMemo(() => {
    if (direct) return { folded, layout: direct, direction };
    if (made?.of === shape) return { folded, layout: made.layout, direction };
    return undefined;
  }, [direct, made, shape, folded, direction]);
}

function boxes(shape: { nodes: Folded["nodes"] }) {
  return shape.nodes.map((n) => ({ id: n.id, ...sizeOf(n) }));
}

/** Room between ranks for what is written at edges. */
function optionsOf(edges: Folded["edges"], direction: Direction, marked: boolean): LayoutOptions {
  const labels = marked || edges.some((e) => e.when !== undefined || e.on !== "success");
  if (direction === "down") return { direction, rankGap: labels ? 60 : 44 };
  return { direction, rankGap: labels ? labelWidth + 24 : 56 };
}

/** Where the flow goes: as it fills the room better. It depends on the graph alone, so that it does not turn. */
function directionOf(graph: Graph, wide: boolean, marked: boolean): Direction {
  if (!wide || graph.nodes.length > atOnce) return "down";
  const folded = fold(graph);
  const of = { nodes: folded.nodes };
  const room = { width: 900, height: 420 };
  const scale = (direction: Direction) => {
    const l = layout(boxes(of), folded.edges, optionsOf(folded.edges, direction, marked));
    return Math.min(1, room.width / l.width, room.height / l.height);
  };
  return scale("right") >= scale("down") ? "right" : "down";
}
