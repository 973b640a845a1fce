export { Graph, type GraphProps } from "./Graph";
export { waysOf, type Way } from "./ways";
