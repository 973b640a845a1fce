import { useSyncExternalStore, type ReactNode } from "react";
import { useWords } from "../words";
import { Icon } from "./Icon";

interface Note {
  id: number;
  text: ReactNode;
  undo?: { label: string; run: () => void } | undefined;
}

let notes: Note[] = [];
let last = 0;
const listeners = new Set<() => void>();

function set(next: Note[]) {
  notes = next;
  for (const l of listeners) l();
}

function drop(id: number) {
  set(notes.filter((n) => n.id !== id));
}

/** Say something that needs no answer. It goes after a while; errors do not belong here. */
export function toast(
  text: ReactNode,
  options: { undo?: { label: string; run: () => void }; ms?: number } = {},
) {
  const id = ++last;
  set([...notes.slice(-2), { id, text, undo: options.undo }]);
  setTimeout(() => drop(id), options.ms ?? (options.undo ? 10_000 : 5_000));
}

export function Toasts() {
  const w = useWords();
  const all = useSyncExternalStore(
    (l) => {
      listeners.add(l);
      return () => void listeners.delete(l);
    },
    () => notes,
    () => notes,
  );
  return (
    <div className="toasts" role="status" aria-live="polite">
      {all.map((n) => (
        <div key={n.id} className="toast">
          <span>{n.text}</span>
          {n.undo && (
            <button
              type="button"
              className="link"
              onClick={() => {
                n.undo?.run();
                drop(n.id);
              }}
            >
              {n.undo.label}
            </button>
          )}
          <button type="button" className="link" aria-label={w.do.close} onClick={() => drop(n.id)}>
            <Icon name="close" size={12} />
          </button>
        </div>
      ))}
    </div>
  );
}
