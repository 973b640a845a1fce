export { Timeline, type TimelineProps } from "./Timeline";
export { TimelineTable } from "./TimelineTable";
export { Legend } from "./Legend";
export { readRange, writeRange, type Range } from "./scale";
