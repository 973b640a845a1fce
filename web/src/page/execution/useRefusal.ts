import type { Refused } from "../../flow/refused";
import { useLocale, usePageWords, useWords } from "../../words";
import { whom } from "../../flow/whom";
import { text } from "./whyWords";

/** The sentence of a refusal: what its guard saw. */
export function useRefusal(): (r: Refused) => string {
  const t = usePageWords(text);
  const w = useWords();
  const locale = useLocale();
  return (r) =>
    t.guard[r.kind]({
      node: r.nodeId ?? r.saw.node ?? "",
      execution: w.status[r.saw.execution] ?? r.saw.execution,
      nodeStatus: w.status[r.saw.nodeStatus ?? ""] ?? r.saw.nodeStatus ?? "",
      attempt: String(r.saw.attempt ?? ""),
      fence: (r.fence ?? 0).toLocaleString(locale),
      assignees: r.assignees ? whom(r.assignees) : "",
      text: r.text,
    });
}
