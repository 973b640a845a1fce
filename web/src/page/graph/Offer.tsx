import { Age, Button } from "../../kit";
import { usePageWords } from "../../words";
import type { Draft } from "./context";
import { text } from "./words";

/** An edit that somebody left: to go on with, or to discard. */
export function Offer({
  draft,
  onRestore,
  onDiscard,
}: {
  draft: Draft;
  onRestore: () => void;
  onDiscard: () => void;
}) {
  const t = usePageWords(text);
  return (
    <div className="graph-offer">
      <p role="status">
        {t.left(t.v(String(draft.from)), draft.from === 0)} <Age at={draft.at} />
      </p>
      <Button small onClick={onRestore}>
        {t.goOnWithIt}
      </Button>
      <Button small kind="quiet" onClick={onDiscard}>
        {t.reset}
      </Button>
    </div>
  );
}
