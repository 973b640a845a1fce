export { Graph, type GraphProps } from "./Graph";
export { type Tone } from "./NodeBox";
export { waysOf, type Way } from "./ways";
