import type { FoldBox, FoldedNode } from "../../flow/fold";
import type { GraphNode } from "../../flow/types";

// How large a node is drawn. Its name decides, never its state: a status must not move a node.

export const nodeHeight = 48;
export const smallHeight = 40;
export const foldHeight = 60;
/** How much of a condition is written at its edge. */
export const labelWidth = 124;

/** About how many pixels a text takes at 13 px: without asking the browser, for thousands of names. */
export function textWidth(text: string, size = 13): number {
  let w = 0;
  for (const c of text) {
    const code = c.codePointAt(0) ?? 0;
    if (code >= 0x300 && code < 0x370) continue; // combining marks
    if (code >= 0x1100) w += code >= 0x2e80 || code < 0x1200 ? 13 : 7.5;
    else if ("iljtfr.,:;'|!()[] ".includes(c)) w += 4.4;
    else if ("mwMW@%—".includes(c)) w += 11.5;
    else w += c >= "A" && c <= "Z" ? 8.8 : 7.4;
  }
  return (w * size) / 13;
}

/** The beginning of a text that fits into so many pixels. */
export function clip(text: string, width: number, size = 13): string {
  if (textWidth(text, size) <= width) return text;
  let out = "";
  for (const c of text) {
    if (textWidth(out + c + "…", size) > width) break;
    out += c;
  }
  return out + "…";
}

const small = new Set(["Start", "Fork", "Join", "Success", "Failed", "Canceled"]);

export function isSmall(node: GraphNode): boolean {
  return small.has(node.type);
}

export interface Size {
  width: number;
  height: number;
}

/** The size of a node or of a box of folded branches. */
export function sizeOf(n: FoldedNode): Size {
  if (n.node === undefined) return { width: 232, height: foldHeight };
  const least = isSmall(n.node) ? 140 : 192;
  const width = Math.min(232, Math.max(least, Math.ceil(textWidth(n.node.nodeId) + 66)));
  return { width, height: isSmall(n.node) ? smallHeight : nodeHeight };
}

/** The parts of the bar of a folded box, in the order in which they are drawn. */
export const foldParts = [
  ["failed", "FAILED"],
  ["waiting", "WAITING"],
  ["running", "RUNNING"],
  ["ready", "READY"],
  ["canceled", "CANCELED"],
  ["succeeded", "SUCCEEDED"],
  ["created", "CREATED"],
] as const satisfies readonly (readonly [keyof FoldBox["counts"], string])[];

/** The outline of a node by its type: forks and joins have cut corners, what begins and ends is round. */
export function outline(type: string | undefined, w: number, h: number): string {
  if (type === "Fork" || type === "Join") {
    const c = 10;
    return `M${c} 0H${w - c}L${w} ${h / 2}L${w - c} ${h}H${c}L0 ${h / 2}Z`;
  }
  const r = type === "Task" ? 6 : type === "Wait" ? 2 : type === undefined ? 8 : h / 2;
  return (
    `M${r} 0H${w - r}A${r} ${r} 0 0 1 ${w} ${r}V${h - r}A${r} ${r} 0 0 1 ${w - r} ${h}` +
    `H${r}A${r} ${r} 0 0 1 0 ${h - r}V${r}A${r} ${r} 0 0 1 ${r} 0Z`
  );
}

/** A sign of 12 × 12 pixels for each type of node. */
export const typeSigns: Record<string, string> = {
  Start: "M3 1.5L10.5 6L3 10.5Z",
  Task: "M1.5 3h9v7.5h-9ZM4 3V1.5h4V3M1.5 6.5h9",
  Wait: "M2.5 1h7M2.5 11h7M3.5 1v2L6 6l-2.5 3v2M8.5 1v2L6 6l2.5 3v2",
  Fork: "M1 6h4M5 6L10.5 2M5 6L10.5 10M5 6h5.5",
  Join: "M11 6h-4M7 6L1.5 2M7 6L1.5 10M7 6H1.5",
  Success: "M1.5 6.5L4.5 9.5L10.5 2.5",
  Failed: "M2.5 2.5L9.5 9.5M9.5 2.5L2.5 9.5",
  Canceled: "M6 1.2a4.8 4.8 0 1 0 .01 0ZM2.7 2.7L9.3 9.3",
};
