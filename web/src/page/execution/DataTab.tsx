import { Json, Section } from "../../kit";
import { usePageWords } from "../../words";
import { useExecutionContext } from "./context";
import { Data } from "./Data";
import { text } from "./words";

/** What went in, what came out, and what every node said. */
export default function DataTab() {
  const { execution: e, now, select } = useExecutionContext();
  const t = usePageWords(text);
  const outputs = e.nodes.filter((n) => n.output !== undefined || n.outputRef !== undefined);
  return (
    <div className="exe-data">
      <Section title={t.input}>
        {now.input === undefined ? (
          <p className="muted">{t.noInput}</p>
        ) : (
          <Json value={now.input} label={t.input} />
        )}
      </Section>
      <Section title={t.result}>
        {e.result === undefined && e.resultRef === undefined && !e.error ? (
          <p className="muted">{e.status === "ACTIVE" ? t.noResultYet : t.noResult}</p>
        ) : (
          <Data value={e.result} reference={e.resultRef} member="result" label={t.result} />
        )}
        {e.error && <Json value={e.error} label={t.error} />}
      </Section>
      <Section title={t.outputs}>
        {outputs.length === 0 && <p className="muted">{t.noOutputs}</p>}
        {outputs.slice(0, most).map((n) => (
          <div key={n.nodeId} className="exe-output">
            <button type="button" className="link" onClick={() => select(n.nodeId)}>
              {n.nodeId}
            </button>
            <Data value={n.output} reference={n.outputRef} member="output" label={n.nodeId} />
          </div>
        ))}
        {outputs.length > most && <p className="muted">{t.moreOutputs(String(outputs.length - most))}</p>}
      </Section>
    </div>
  );
}

const most = 50;
