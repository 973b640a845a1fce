// A layered layout of a graph: ranks by the longest path, four barycentre sweeps against crossings, and a pull of each
// node towards the median of its neighbours. It looks at the graph alone, so a status never moves a node, and equal
// graphs have equal pictures. It is a generator that gives control back every few milliseconds: a page drives it
// between two frames, without a worker.

import type { Point, Route } from "./route";
import { routeEdges } from "./route";

export interface Box {
  id: string;
  width?: number | undefined;
  height?: number | undefined;
}

export interface Link {
  from: string;
  to: string;
  /** Edges of one kind to one node share the way there: "success", "failure" … */
  on?: string | undefined;
}

export interface LayoutOptions {
  /** Where the flow goes; down unless given. */
  direction?: "down" | "right" | undefined;
  /** The size of a node that names none. */
  width?: number | undefined;
  height?: number | undefined;
  /** The gap between nodes of a rank. */
  gap?: number | undefined;
  /** The gap between ranks. */
  rankGap?: number | undefined;
  /** Milliseconds of work after which the generator yields; 8 unless given. */
  slice?: number | undefined;
  /** The clock that slices are measured with, in milliseconds; by default there is one slice per phase. */
  now?: (() => number) | undefined;
}

export interface Placed {
  id: string;
  /** The middle of the node. */
  x: number;
  y: number;
  width: number;
  height: number;
  rank: number;
  /** Its place among the nodes of its rank. */
  order: number;
}

export interface Layout {
  nodes: Placed[];
  byId: Map<string, Placed>;
  routes: Route[];
  width: number;
  height: number;
  ranks: string[][];
}

/** A node, or the place at which an edge that spans several ranks passes one of them. */
interface Cell {
  node: number; // -1 for a passing edge
  rank: number;
  order: number;
  across: number; // size along its rank
  along: number; // size in the direction of the flow
  pos: number; // its middle along its rank
  up: number[];
  down: number[];
}

const sweeps = 4;
const pulls = 4;

/** Runs a layout to its end. */
export function layout(boxes: readonly Box[], links: readonly Link[], options: LayoutOptions = {}): Layout {
  const steps = layoutSteps(boxes, links, options);
  for (;;) {
    const step = steps.next();
    if (step.done === true) return step.value;
  }
}

/** A layout in slices: it yields what part is done, and returns the layout. */
export function* layoutSteps(
  boxes: readonly Box[],
  links: readonly Link[],
  options: LayoutOptions = {},
): Generator<number, Layout> {
  const o = withDefaults(options);
  const pause = pauser(o);
  const net = connect(boxes, links);
  const ranks = rankNodes(net);
  if (pause()) yield 0.1;
  const { cells, rows, paths } = makeCells(boxes, links, net, ranks, o);
  if (pause()) yield 0.2;
  for (let i = 0; i < sweeps; i++) {
    for (const r of rowsOf(rows, i)) {
      sortRow(rows, cells, r, i % 2 === 0);
      if (pause()) yield 0.2 + (0.4 * i) / sweeps;
    }
  }
  for (const row of rows) pack(row, cells, o.gap);
  for (let i = 0; i < pulls; i++) {
    for (const r of rowsOf(rows, i)) {
      pullRow(rows[r] as number[], cells, i % 2 === 0, o.gap);
      if (pause()) yield 0.6 + (0.3 * i) / pulls;
    }
  }
  return finish(boxes, links, { cells, rows, paths }, o);
}

interface Settings {
  direction: "down" | "right";
  width: number;
  height: number;
  gap: number;
  rankGap: number;
  slice: number;
  now: (() => number) | undefined;
}

function withDefaults(o: LayoutOptions): Settings {
  return {
    direction: o.direction ?? "down",
    width: o.width ?? 160,
    height: o.height ?? 44,
    gap: o.gap ?? 24,
    rankGap: o.rankGap ?? 56,
    slice: o.slice ?? 8,
    now: o.now,
  };
}

/** Says when a slice is over. */
function pauser(o: Settings): () => boolean {
  const now = o.now;
  if (now === undefined) return () => false;
  let since = now();
  return () => {
    const t = now();
    if (t - since < o.slice) return false;
    since = t;
    return true;
  };
}

interface Net {
  count: number;
  edges: ([from: number, to: number] | undefined)[]; // by link; none when an end is missing or both are one
  down: number[][];
  up: number[][];
}

function connect(boxes: readonly Box[], links: readonly Link[]): Net {
  const index = new Map(boxes.map((b, i) => [b.id, i]));
  const down: number[][] = boxes.map(() => []);
  const up: number[][] = boxes.map(() => []);
  const edges = links.map((l): [number, number] | undefined => {
    const from = index.get(l.from);
    const to = index.get(l.to);
    if (from === undefined || to === undefined || from === to) return undefined;
    (down[from] as number[]).push(to);
    (up[to] as number[]).push(from);
    return [from, to];
  });
  return { count: boxes.length, edges, down, up };
}

/** The rank of a node is the longest way to it. A draft may have a cycle, whose nodes come in their order. */
function rankNodes(net: Net): number[] {
  const ranks = new Array<number>(net.count).fill(0);
  const left = net.up.map((u) => u.length);
  const queue: number[] = [];
  const queued = new Array<boolean>(net.count).fill(false);
  const add = (i: number) => {
    queued[i] = true;
    queue.push(i);
  };
  for (let i = 0; i < net.count; i++) if (left[i] === 0) add(i);
  for (let done = 0, rest = 0; ; done++) {
    if (done === queue.length) {
      while (rest < net.count && queued[rest]) rest++;
      if (rest === net.count) return ranks;
      add(rest); // one of a cycle
    }
    const i = queue[done] as number;
    for (const to of net.down[i] as number[]) {
      if (queued[to]) continue;
      ranks[to] = Math.max(ranks[to] as number, (ranks[i] as number) + 1);
      left[to] = (left[to] as number) - 1;
      if (left[to] === 0) add(to);
    }
  }
}

interface Grid {
  cells: Cell[];
  rows: number[][]; // cells by rank
  paths: number[][]; // by link: the cells that it passes, from end to end
}

/** Makes a cell of each node, and of each rank that an edge passes. */
function makeCells(
  boxes: readonly Box[],
  links: readonly Link[],
  net: Net,
  ranks: number[],
  o: Settings,
): Grid {
  const down = o.direction === "down";
  const cells: Cell[] = [];
  const rows: number[][] = [];
  const add = (node: number, rank: number, across: number, along: number): number => {
    const row = (rows[rank] ??= []);
    cells.push({ node, rank, order: row.length, across, along, pos: 0, up: [], down: [] });
    row.push(cells.length - 1);
    return cells.length - 1;
  };
  boxes.forEach((b, i) => {
    const width = b.width ?? o.width;
    const height = b.height ?? o.height;
    add(i, ranks[i] as number, down ? width : height, down ? height : width);
  });
  const passing = new Map<string, number>();
  const paths = net.edges.map((edge, link) => {
    if (edge === undefined) return [];
    const [from, to] = edge;
    const low = ranks[from] as number;
    const high = ranks[to] as number;
    if (high <= low) return [from, to]; // of a cycle
    const path = [from];
    let merged = false;
    for (let r = low + 1; r < high && !merged; r++) {
      const key = `${to} ${r} ${links[link]?.on ?? "success"}`;
      const shared = passing.get(key);
      path.push(shared ?? add(-1, r, 0, 0));
      merged = shared !== undefined; // from here on another edge draws the way
      if (!merged) passing.set(key, path.at(-1) as number);
    }
    if (!merged) path.push(to);
    for (let k = 1; k < path.length; k++) join(cells, path[k - 1] as number, path[k] as number);
    return path;
  });
  for (let r = 0; r < rows.length; r++) rows[r] ??= [];
  return { cells, rows, paths };
}

function join(cells: Cell[], from: number, to: number): void {
  const down = (cells[from] as Cell).down;
  if (down.at(-1) === to) return; // two edges lead there, or a way that edges share
  down.push(to);
  const up = (cells[to] as Cell).up;
  if (up.at(-1) !== from) up.push(from);
}

/** The ranks in the order of a sweep: down, up, down … */
function rowsOf(rows: number[][], sweep: number): number[] {
  const all = rows.map((_, r) => r);
  return sweep % 2 === 0 ? all.slice(1) : all.reverse().slice(1);
}

/** Orders a rank by the mean place of the neighbours in the rank that the sweep comes from. */
function sortRow(rows: number[][], cells: Cell[], r: number, fromAbove: boolean): void {
  const row = rows[r] as number[];
  if (row.length < 2) return;
  const key = new Map<number, number>();
  for (const c of row) {
    const cell = cells[c] as Cell;
    const near = fromAbove ? cell.up : cell.down;
    let sum = 0;
    for (const n of near) sum += (cells[n] as Cell).order;
    key.set(c, near.length === 0 ? cell.order : sum / near.length);
  }
  row.sort(
    (a, b) =>
      (key.get(a) as number) - (key.get(b) as number) || (cells[a] as Cell).order - (cells[b] as Cell).order,
  );
  row.forEach((c, i) => ((cells[c] as Cell).order = i));
}

/** Puts the cells of a rank side by side, around 0. */
function pack(row: number[], cells: Cell[], gap: number): void {
  let at = 0;
  for (const c of row) {
    const cell = cells[c] as Cell;
    cell.pos = at + cell.across / 2;
    at += cell.across + gap;
  }
  for (const c of row) (cells[c] as Cell).pos -= (at - gap) / 2;
}

/**
 * Moves the cells of a rank as near to the median of their neighbours as their order allows: runs of cells that want
 * to overlap stand side by side around the mean of what they want.
 */
function pullRow(row: number[], cells: Cell[], fromAbove: boolean, gap: number): void {
  const runs: { from: number; to: number; start: number; size: number; sum: number; weight: number }[] = [];
  row.forEach((c, i) => {
    const cell = cells[c] as Cell;
    const want = median(fromAbove ? cell.up : cell.down, cells) ?? cell.pos;
    let run = { from: i, to: i, start: 0, size: cell.across, sum: want - cell.across / 2, weight: 1 };
    run.start = run.sum;
    for (let last = runs.at(-1); last && last.start + last.size + gap > run.start; last = runs.at(-1)) {
      runs.pop();
      const shift = last.size + gap;
      const weight = last.weight + run.weight;
      const sum = last.sum + run.sum - shift * run.weight;
      run = { from: last.from, to: i, start: sum / weight, size: shift + run.size, sum, weight };
    }
    runs.push(run);
  });
  for (const run of runs) {
    let at = run.start;
    for (let i = run.from; i <= run.to; i++) {
      const cell = cells[row[i] as number] as Cell;
      cell.pos = at + cell.across / 2;
      at += cell.across + gap;
    }
  }
}

/** The median of the positions of neighbours, which are in no order. */
function median(near: number[], cells: Cell[]): number | undefined {
  if (near.length === 0) return undefined;
  if (near.length === 1) return (cells[near[0] as number] as Cell).pos;
  const at = near.map((n) => (cells[n] as Cell).pos).sort((a, b) => a - b);
  const mid = at.length >> 1;
  return at.length % 2 === 1 ? (at[mid] as number) : ((at[mid - 1] as number) + (at[mid] as number)) / 2;
}

/** Turns positions into a picture whose corner is 0, 0. */
function finish(boxes: readonly Box[], links: readonly Link[], grid: Grid, o: Settings): Layout {
  const { cells, rows, paths } = grid;
  const down = o.direction === "down";
  let left = 0;
  let right = 0;
  for (const c of cells) {
    left = Math.min(left, c.pos - c.across / 2);
    right = Math.max(right, c.pos + c.across / 2);
  }
  let depth = 0;
  const bands = rows.map((row) => {
    let along = 0;
    for (const c of row) along = Math.max(along, (cells[c] as Cell).along);
    const band = { start: depth, middle: depth + along / 2, end: depth + along };
    depth += along + o.rankGap;
    return band;
  });
  const length = Math.max(0, depth - o.rankGap);
  const round = (n: number) => Math.round(n * 100) / 100;
  const point = (across: number, along: number): Point =>
    down ? { x: round(across - left), y: round(along) } : { x: round(along), y: round(across - left) };
  const nodes = boxes.map((b, i): Placed => {
    const cell = cells[i] as Cell;
    const at = point(cell.pos, bands[cell.rank]?.middle ?? 0);
    const { rank, order } = cell;
    return { id: b.id, ...at, width: b.width ?? o.width, height: b.height ?? o.height, rank, order };
  });
  const ways = paths.map((path) =>
    path.flatMap((c, i) => {
      const cell = cells[c] as Cell;
      const band = bands[cell.rank] as { start: number; middle: number; end: number };
      const begin = point(cell.pos, band.start);
      if (cell.node < 0) return i === path.length - 1 ? [begin] : [begin, point(cell.pos, band.end)];
      const edge = i === 0 ? band.middle + cell.along / 2 : band.middle - cell.along / 2;
      return [point(cell.pos, edge)];
    }),
  );
  return {
    nodes,
    byId: new Map(nodes.map((n) => [n.id, n])),
    routes: routeEdges(links, ways, down, (i) => (cells[paths[i]?.at(-1) ?? 0]?.node ?? 0) < 0),
    width: round(down ? right - left : length),
    height: round(down ? length : right - left),
    ranks: rows.map((row) => row.flatMap((c) => boxes[(cells[c] as Cell).node]?.id ?? [])),
  };
}
