export { Answer } from "./Answer";
export { Asked } from "./Asked";
export { shownOf, type Shown } from "./refusal";
