import { useState } from "react";
import { useRead } from "../../api";
import { Button, ErrorBox, Field, Loading, Section, StateBadge, Time } from "../../kit";
import { usePageWords, useWords } from "../../words";
import { text } from "./compareWords";
import { useExecutionContext } from "./context";

const uuid = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/i;

/** Which execution to compare with: one of the same graph, or any by its id. */
export function ComparePick({ onPick }: { onPick: (id: string) => void }) {
  const { id, now } = useExecutionContext();
  const t = usePageWords(text);
  const w = useWords();
  const [typed, setTyped] = useState("");
  const list = useRead("/executions", { query: { graphId: now.graphId, page_size: 20 } }, { keep: true });
  const others = list.data?.items.filter((e) => e.executionId !== id && e.executionId !== now.rerunOf);
  const named = uuid.exec(typed)?.[0];
  const { rerunOf } = now;
  return (
    <div className="compare">
      <Section title={t.choose}>
        <p className="muted">{t.chooseHint}</p>
        <form
          className="compare-form"
          onSubmit={(e) => {
            e.preventDefault();
            if (named) onPick(named.toLowerCase());
          }}
        >
          <Field label={t.id} error={typed !== "" && !named ? t.notAnId : undefined}>
            {(fieldId, by) => (
              <input
                id={fieldId}
                aria-describedby={by}
                value={typed}
                spellCheck={false}
                onChange={(e) => setTyped(e.target.value)}
              />
            )}
          </Field>
          <Button type="submit" disabled={!named}>
            {t.compare}
          </Button>
        </form>
        {rerunOf !== undefined && (
          <p>
            {t.original}:{" "}
            <button type="button" className="link" onClick={() => onPick(rerunOf)}>
              <code>{rerunOf.slice(-8)}</code>
            </button>
          </p>
        )}
      </Section>
      <Section title={t.recent}>
        {list.error && <ErrorBox error={list.error} onRetry={() => void list.refetch()} />}
        {!others && !list.error && <Loading label={w.page.loading} />}
        {others?.length === 0 && <p className="muted">{t.noOther}</p>}
        <ul className="compare-list">
          {others?.map((e) => (
            <li key={e.executionId}>
              <button type="button" className="link" onClick={() => onPick(e.executionId)}>
                {e.businessKey ?? e.executionId.slice(-8)}
              </button>
              <StateBadge state={e.status} note={e.errorCode} />
              <span className="muted">
                <Time at={e.createdAt} age />
              </span>
            </li>
          ))}
        </ul>
      </Section>
    </div>
  );
}
