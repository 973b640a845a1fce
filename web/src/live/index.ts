export { useChanges } from "./changes";
export { useStream, type UseStream } from "./useStream";
export { useLiveState, report, type State } from "./status";
export { type Frame } from "./sse";
export { Coalescer } from "./frames";
