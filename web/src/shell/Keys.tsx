import { Fragment, useState } from "react";
import { Dialog } from "../kit";
import { jumps, pageKeys } from "../kit/keys";
import { useWords } from "../words";

/** All keys, on `?`. */
export function KeyList({ onClose }: { onClose: () => void }) {
  const w = useWords();
  const [ofPage] = useState(pageKeys);
  return (
    <Dialog title={w.keys.title} onClose={onClose}>
      <dl className="keys">
        <h3>{w.keys.global}</h3>
        <dt>{w.keys.palette}</dt>
        <dd>
          <kbd>Ctrl</kbd> / <kbd>⌘</kbd> <kbd>K</kbd>
        </dd>
        <dt>{w.keys.help}</dt>
        <dd>
          <kbd>?</kbd>
        </dd>
        <dt>{w.keys.close}</dt>
        <dd>
          <kbd>Esc</kbd>
        </dd>
        <dt>{w.keys.table}</dt>
        <dd>
          <kbd>↑</kbd> <kbd>↓</kbd> <kbd>Enter</kbd>
        </dd>
        {ofPage.length > 0 && <h3>{w.keys.page}</h3>}
        {ofPage.map(({ does, keys }) => (
          <Fragment key={does}>
            <dt>{does}</dt>
            <dd>
              {keys.map((key) => (
                <kbd key={key}>{key}</kbd>
              ))}
            </dd>
          </Fragment>
        ))}
        <h3>{w.keys.jumps}</h3>
        {Object.entries(jumps).map(([key, page]) => (
          <Jump key={key} letter={key} label={w.keys.go(w.nav[page])} then={w.keys.then} />
        ))}
      </dl>
    </Dialog>
  );
}

function Jump({ letter, label, then }: { letter: string; label: string; then: string }) {
  return (
    <>
      <dt>{label}</dt>
      <dd>
        <kbd>g</kbd> <span className="muted">{then}</span> <kbd>{letter}</kbd>
      </dd>
    </>
  );
}
