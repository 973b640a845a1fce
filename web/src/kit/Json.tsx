import { useState } from "react";
import { useWords } from "../words";
import { Button } from "./Button";
import { copyText } from "./Copy";
import { cx } from "./cx";
import { Icon } from "./Icon";

// Data as text: nothing of it is ever HTML, and only http(s) addresses become links.

const isUrl = (s: string) => /^https?:\/\/[^\s"'<>]+$/.test(s);

function Value({ v }: { v: unknown }) {
  if (typeof v === "string") {
    if (isUrl(v)) {
      return (
        <a href={v} rel="noopener noreferrer" target="_blank" className="json-string">
          {v}
        </a>
      );
    }
    return <span className="json-string">{JSON.stringify(v)}</span>;
  }
  return (
    <span className={cx("json-other", `json-${typeof v}`)}>{v === undefined ? "–" : JSON.stringify(v)}</span>
  );
}

const page = 100;

function Node({
  name,
  v,
  depth,
  open,
}: {
  name?: string | undefined;
  v: unknown;
  depth: number;
  open: number;
}) {
  const w = useWords();
  const [opened, setOpened] = useState(depth < open);
  const [shown, setShown] = useState(page);
  const key = name === undefined ? null : <span className="json-key">{name}: </span>;
  if (typeof v !== "object" || v === null) {
    return (
      <div className="json-line">
        {key}
        <Value v={v} />
      </div>
    );
  }
  const isList = Array.isArray(v);
  const entries = Object.entries(v as Record<string, unknown>);
  const [left, right] = isList ? ["[", "]"] : ["{", "}"];
  if (entries.length === 0) {
    return (
      <div className="json-line">
        {key}
        {left}
        {right}
      </div>
    );
  }
  return (
    <div>
      <button type="button" className="json-fold" aria-expanded={opened} onClick={() => setOpened(!opened)}>
        <Icon name={opened ? "down" : "right"} size={10} /> {key}
        {left}
        {!opened && (
          <span className="muted">
            {entries.length}
            {right}
          </span>
        )}
      </button>
      {opened && (
        <>
          <div className="json-children">
            {entries.slice(0, shown).map(([k, child]) => (
              <Node key={k} name={isList ? undefined : k} v={child} depth={depth + 1} open={open} />
            ))}
            {entries.length > shown && (
              <button type="button" className="link" onClick={() => setShown(shown + page * 10)}>
                {w.table.of(String(shown), String(entries.length))} · {w.do.more}
              </button>
            )}
          </div>
          <div className="json-line">{right}</div>
        </>
      )}
    </div>
  );
}

/** A JSON value, folded below `open` levels. */
export function Json({ value, open = 2, label }: { value: unknown; open?: number; label?: string }) {
  const w = useWords();
  const [copied, setCopied] = useState(false);
  return (
    <div className="json" role="group" aria-label={label ?? "JSON"}>
      <Button
        kind="quiet"
        small
        className="json-copy"
        onClick={() => void copyText(JSON.stringify(value, null, 2)).then(setCopied)}
      >
        {copied ? w.do.copied : w.do.copy}
      </Button>
      <Node v={value} depth={0} open={open} />
    </div>
  );
}
