import { useEffect } from "react";
import { api, data, useAction, useRefresh, type components } from "../../api";
import { Confirm } from "../../kit";
import { useLocale, usePageWords } from "../../words";
import { useGraphContext } from "./context";
import { text } from "./words";

export type StoredAs = components["schemas"]["GraphVersion"];

/** Asks before a text becomes the newest version, and says who goes on with the old ones. */
export function Store({
  source,
  from,
  onClose,
  onStored,
}: {
  source: string;
  /** The newest version when the edit began; 0 when there was none. */
  from: number;
  onClose: () => void;
  onStored: (as: StoredAs) => void;
}) {
  const { id, newest, running } = useGraphContext();
  const t = usePageWords(text);
  const locale = useLocale();
  const refresh = useRefresh();
  // Somebody may have stored a version since the last look.
  useEffect(() => void refresh("/graphs/{graphId}", "/executions"), [refresh]);
  const put = useAction((_key: string) =>
    data(
      api.PUT("/graphs/{graphId}", {
        params: { path: { graphId: id } },
        headers: { "Content-Type": /^\s*[[{]/.test(source) ? "application/json" : "application/yaml" },
        // The text as it is written, not as JSON.
        body: source as unknown as components["schemas"]["Graph"],
        bodySerializer: () => source,
      }),
    ),
  );
  const now = newest?.version ?? 0;
  const n = [...running.byVersion.values()].reduce((a, b) => a + b, 0);
  return (
    <Confirm
      title={t.storeTitle(id)}
      action={t.storeAs(t.v(String(now + 1)))}
      scope="graphs:write"
      busy={put.busy}
      error={put.error}
      onClose={onClose}
      onConfirm={() => {
        void put.run().then(async (as) => {
          if (!as) return;
          await refresh("/graphs", "/graphs/{graphId}", "/graphs/{graphId}/versions", "/executions");
          onStored(as);
        });
      }}
    >
      <p>{now === 0 ? t.storeFirst : t.storeNext}</p>
      {n > 0 && <p>{t.goOn(n.toLocaleString(locale))}</p>}
      {now !== from && <p className="graph-meanwhile">{t.meanwhile(t.v(String(now)), t.v(String(from)))}</p>}
    </Confirm>
  );
}
