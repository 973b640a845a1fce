import { useEffect, useRef, useState } from "react";
import { useWords, usePageWords } from "../../words";
import { text } from "./words";

const most = 8;

/** A field that finds nodes by a part of their name. */
export function Find({
  ids,
  onFind,
  onClose,
}: {
  ids: readonly string[];
  onFind: (id: string) => void;
  onClose: () => void;
}) {
  const t = usePageWords(text);
  const w = useWords();
  const input = useRef<HTMLInputElement>(null);
  const [part, setPart] = useState("");
  const [at, setAt] = useState(0);
  useEffect(() => input.current?.focus(), []);
  const found = part.trim() === "" ? [] : search(ids, part);
  const chosen = found[Math.min(at, found.length - 1)];
  return (
    <div className="graph-find" role="search">
      <input
        ref={input}
        value={part}
        placeholder={t.find}
        aria-label={t.find}
        role="combobox"
        aria-expanded={found.length > 0}
        aria-controls="graph-found"
        aria-activedescendant={chosen === undefined ? undefined : `found-${found.indexOf(chosen)}`}
        onChange={(e) => {
          setPart(e.target.value);
          setAt(0);
        }}
        onKeyDown={(e) => {
          if (e.nativeEvent.isComposing) return;
          const step = { ArrowDown: 1, ArrowUp: -1 }[e.key];
          if (step !== undefined) setAt(Math.max(0, Math.min(found.length - 1, at + step)));
          else if (e.key === "Enter" && chosen !== undefined) onFind(chosen);
          else if (e.key === "Escape") onClose();
          else return;
          e.preventDefault();
          e.stopPropagation();
        }}
      />
      <button type="button" className="button quiet small icon" aria-label={w.do.close} onClick={onClose}>
        ✕
      </button>
      <ul id="graph-found" role="listbox" aria-label={t.find}>
        {found.map((id, i) => (
          <li
            key={id}
            id={`found-${i}`}
            role="option"
            aria-selected={id === chosen}
            onPointerDown={(e) => {
              e.preventDefault();
              onFind(id);
            }}
          >
            {id}
          </li>
        ))}
      </ul>
      {part.trim() !== "" && found.length === 0 && <p className="muted small-text">{t.findNone}</p>}
    </div>
  );
}

/** Names that begin with the text come first. Japanese in any normal form is found. */
export function search(ids: readonly string[], part: string): string[] {
  const want = part.trim().normalize("NFKC").toLowerCase();
  const scored: [number, string][] = [];
  for (const id of ids) {
    const at = id.normalize("NFKC").toLowerCase().indexOf(want);
    if (at >= 0) scored.push([at, id]);
  }
  return scored
    .sort((a, b) => a[0] - b[0])
    .slice(0, most)
    .map(([, id]) => id);
}
