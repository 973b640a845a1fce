// The lines of edges: through which points one goes, the curve through them, and where its label stands.

export interface Point {
  x: number;
  y: number;
}

export interface Route {
  from: string;
  to: string;
  /** Which edge of the graph it is. */
  index: number;
  points: Point[];
  /** It ends where it meets the way that another edge of its kind goes to the same node: no arrow head there. */
  merged: boolean;
  /** The data of an SVG path: straight along ranks, curved between them. */
  path: string;
  /** The middle of its label: in the gap after its first node, apart from those of other edges. */
  label: Point;
}

/** Makes the routes of edges. A way without points is that of an edge whose nodes are not there. */
export function routeEdges(
  links: readonly { from: string; to: string }[],
  ways: readonly Point[][],
  down: boolean,
  merges: (index: number) => boolean,
): Route[] {
  const routes: Route[] = [];
  ways.forEach((points, index) => {
    const link = links[index];
    if (link === undefined || points.length < 2) return;
    routes.push({
      from: link.from,
      to: link.to,
      index,
      points,
      merged: merges(index),
      path: curve(points, down),
      label: labelAt(points),
    });
  });
  return routes;
}

/** A curve that leaves and reaches each gap between two ranks in the direction of the flow. */
export function curve(points: readonly Point[], down: boolean): string {
  const first = points[0];
  if (first === undefined) return "";
  let path = `M${first.x} ${first.y}`;
  for (let i = 1; i < points.length; i++) {
    const a = points[i - 1] as Point;
    const b = points[i] as Point;
    const straight = a.x === b.x || a.y === b.y;
    if (straight) path += `L${b.x} ${b.y}`;
    else if (down) path += `C${a.x} ${mid(a.y, b.y)} ${b.x} ${mid(a.y, b.y)} ${b.x} ${b.y}`;
    else path += `C${mid(a.x, b.x)} ${a.y} ${mid(a.x, b.x)} ${b.y} ${b.x} ${b.y}`;
  }
  return path;
}

/** The middle of the first gap: edges that leave one node have parted there. */
function labelAt(points: readonly Point[]): Point {
  const a = points[0] as Point;
  const b = points[1] as Point;
  return { x: mid(a.x, b.x), y: mid(a.y, b.y) };
}

function mid(a: number, b: number): number {
  return Math.round((a + b) * 50) / 100;
}
