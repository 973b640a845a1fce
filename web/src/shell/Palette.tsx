import { useQuery } from "@tanstack/react-query";
import { useDeferredValue, useId, useState, type KeyboardEvent } from "react";
import { read, readKey, type Answer } from "../api";
import { Dialog, StateBadge } from "../kit";
import { href, navigate } from "../router";
import { useWords } from "../words";
import { groups } from "./Rail";

type Execution = Answer<"/executions">["items"][number];

interface Hit {
  url: string;
  label: string;
  note?: string;
  status?: string;
}

const uuid = /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/i;

/** Executions by id, business key or correlation id; what a pasted text may be. */
async function find(
  q: string,
  signal: AbortSignal,
): Promise<{ item: Execution; by: "byId" | "byKey" | "byCorrelation" }[]> {
  const id = uuid.exec(q)?.[0];
  if (id) {
    const one = await read(
      "/executions/{executionId}",
      { path: { executionId: id.toLowerCase() } },
      signal,
    ).catch(() => undefined);
    return one ? [{ item: one as unknown as Execution, by: "byId" }] : [];
  }
  const [byKey, byCorrelation] = await Promise.all([
    read("/executions", { query: { businessKey: q, page_size: 10 } }, signal),
    read("/executions", { query: { correlationId: q, page_size: 10 } }, signal),
  ]);
  const seen = new Set(byKey.items.map((e) => e.executionId));
  return [
    ...byKey.items.map((item) => ({ item, by: "byKey" as const })),
    ...byCorrelation.items
      .filter((e) => !seen.has(e.executionId))
      .map((item) => ({ item, by: "byCorrelation" as const })),
  ];
}

/** Take me there: pages, ids, executions. */
export function Palette({ onClose }: { onClose: () => void }) {
  const w = useWords();
  const listId = useId();
  const [typed, setTyped] = useState("");
  const [at, setAt] = useState(0);
  const q = useDeferredValue(typed.trim());
  const searchable = q.length >= 2 && /^[ -~]+$/.test(q);
  const found = useQuery({
    queryKey: [...readKey("/executions"), "palette", q],
    queryFn: ({ signal }) => find(q, signal),
    enabled: searchable,
    staleTime: 5_000,
  });
  const lower = q.toLowerCase();
  const pages: Hit[] = groups
    .flatMap((g) => g.pages)
    .filter((p) => p.includes(lower) || w.nav[p].toLowerCase().includes(lower))
    .map((p) => ({ url: href({ to: p }), label: w.nav[p] }));
  const executions: Hit[] = (searchable ? (found.data ?? []) : []).map(({ item, by }) => ({
    url: href({ to: "execution", params: { id: item.executionId } }),
    label: `${item.graphId} · ${item.executionId.slice(-8)}`,
    note: w.palette[by],
    status: item.status,
  }));
  const tour: Hit[] = w.palette.tour.toLowerCase().includes(lower)
    ? [{ url: href({ to: "overview", search: { tour: "new" } }), label: w.palette.tour }]
    : [];
  const hits = [...executions, ...pages, ...tour];
  const chosen = Math.min(at, Math.max(0, hits.length - 1));
  const open = (h: Hit | undefined) => {
    if (!h) return;
    onClose();
    navigate(h.url);
  };
  const keys = (e: KeyboardEvent) => {
    if (e.nativeEvent.isComposing || e.keyCode === 229) return;
    if (e.key === "ArrowDown") setAt(Math.min(chosen + 1, hits.length - 1));
    else if (e.key === "ArrowUp") setAt(Math.max(chosen - 1, 0));
    else if (e.key === "Enter") open(hits[chosen]);
    else return;
    e.preventDefault();
  };
  return (
    <Dialog title={w.palette.title} onClose={onClose} top>
      <div className="palette">
        <input
          role="combobox"
          aria-expanded
          aria-controls={listId}
          aria-activedescendant={hits[chosen] ? `${listId}-${chosen}` : undefined}
          aria-label={w.palette.placeholder}
          placeholder={w.palette.placeholder}
          value={typed}
          onChange={(e) => {
            setTyped(e.target.value);
            setAt(0);
          }}
          onKeyDown={keys}
        />
        <div role="listbox" id={listId} aria-label={w.palette.title}>
          {hits.map((h, i) => (
            <div
              key={h.url}
              id={`${listId}-${i}`}
              role="option"
              aria-selected={i === chosen}
              onPointerMove={() => setAt(i)}
              onClick={() => open(h)}
            >
              <span>{h.label}</span>
              <span className="muted">
                {h.note} {h.status && <StateBadge state={h.status} />}
              </span>
            </div>
          ))}
          {hits.length === 0 && !found.isFetching && <p className="muted group">{w.palette.none}</p>}
        </div>
        <p className="hint">{w.palette.hint}</p>
      </div>
    </Dialog>
  );
}
