// Where a person looks at a drawing: pure functions, so that panning and zooming need no render.

export interface View {
  /** Where the corner of the drawing is, in pixels of the container. */
  x: number;
  y: number;
  /** Pixels for each unit of the drawing. */
  k: number;
}

export interface Area {
  width: number;
  height: number;
}

export interface Rect {
  x: number;
  y: number;
  width: number;
  height: number;
}

export const minScale = 0.02;
export const maxScale = 2;
/** From this scale on texts are drawn. */
export const textScale = 0.5;
const margin = 24;

export function clampScale(k: number): number {
  return Math.min(maxScale, Math.max(minScale, k));
}

/** The whole drawing in the middle, at most in its own size. */
export function fit(drawing: Area, area: Area): View {
  const k = clampScale(
    Math.min(
      1,
      (area.width - 2 * margin) / Math.max(1, drawing.width),
      (area.height - 2 * margin) / Math.max(1, drawing.height),
    ),
  );
  return centreOn({ x: drawing.width / 2, y: drawing.height / 2 }, k, area);
}

/** A point of the drawing in the middle of the area. */
export function centreOn(p: { x: number; y: number }, k: number, area: Area): View {
  return { x: area.width / 2 - p.x * k, y: area.height / 2 - p.y * k, k };
}

/** Zooms so that the point of the container under the pointer stays. */
export function zoomAt(v: View, at: { x: number; y: number }, factor: number): View {
  const k = clampScale(v.k * factor);
  const f = k / v.k;
  return { x: at.x - (at.x - v.x) * f, y: at.y - (at.y - v.y) * f, k };
}

export function panBy(v: View, dx: number, dy: number): View {
  return { ...v, x: v.x + dx, y: v.y + dy };
}

/** Some of the drawing always stays in sight. */
export function keepInSight(v: View, drawing: Area, area: Area): View {
  const rest = 80;
  const x = Math.min(area.width - rest, Math.max(rest - drawing.width * v.k, v.x));
  const y = Math.min(area.height - rest, Math.max(rest - drawing.height * v.k, v.y));
  return { ...v, x, y };
}

/** As much of the drawing in sight as there is room for: no empty border while more of it is beyond the other. */
export function fill(v: View, drawing: Area, area: Area): View {
  const inside = (from: number, size: number, room: number) =>
    size + 2 * margin <= room ? (room - size) / 2 : Math.min(margin, Math.max(room - margin - size, from));
  return {
    x: inside(v.x, drawing.width * v.k, area.width),
    y: inside(v.y, drawing.height * v.k, area.height),
    k: v.k,
  };
}

/** What is in sight, in units of the drawing. */
export function sight(v: View, area: Area): Rect {
  return { x: -v.x / v.k, y: -v.y / v.k, width: area.width / v.k, height: area.height / v.k };
}

export function overlaps(a: Rect, b: Rect): boolean {
  return a.x < b.x + b.width && b.x < a.x + a.width && a.y < b.y + b.height && b.y < a.y + a.height;
}

export function holds(outer: Rect, inner: Rect): boolean {
  return (
    inner.x >= outer.x &&
    inner.y >= outer.y &&
    inner.x + inner.width <= outer.x + outer.width &&
    inner.y + inner.height <= outer.y + outer.height
  );
}

/** A rectangle grown by a part of its size on each side. */
export function grow(r: Rect, part: number): Rect {
  const dx = r.width * part;
  const dy = r.height * part;
  return { x: r.x - dx, y: r.y - dy, width: r.width + 2 * dx, height: r.height + 2 * dy };
}

/** The least move of a view after which a rectangle of the drawing is in sight. */
export function reveal(v: View, r: Rect, area: Area): View {
  const shift = (from: number, size: number, room: number) => {
    if (size + 2 * margin > room) return room / 2 - (from + size / 2);
    if (from < margin) return margin - from;
    return from + size > room - margin ? room - margin - from - size : 0;
  };
  const dx = shift(v.x + r.x * v.k, r.width * v.k, area.width);
  const dy = shift(v.y + r.y * v.k, r.height * v.k, area.height);
  return dx === 0 && dy === 0 ? v : panBy(v, dx, dy);
}
