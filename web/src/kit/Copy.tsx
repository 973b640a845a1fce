import { useEffect, useState, type ReactNode } from "react";
import { actAsHeaders } from "../api/session";
import { base } from "../base";
import { useWords } from "../words";
import { Icon } from "./Icon";
import { Menu } from "./Menu";
import { toast } from "./Toast";

/** Copy a text; a selection is the way out where the clipboard is forbidden (plain http). */
export async function copyText(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return false;
  }
}

/** The last eight of an id, the whole, or only the sign beside a link; a click copies the whole. */
export function Id({ id, full = false, mark = false }: { id: string; full?: boolean; mark?: boolean }) {
  const w = useWords();
  const [copied, setCopied] = useState(false);
  const shown = full || id.length <= 12 ? id : id.slice(-8);
  useEffect(() => {
    if (!copied) return;
    const t = setTimeout(() => setCopied(false), 1200);
    return () => clearTimeout(t);
  }, [copied]);
  return (
    <button
      type="button"
      className="id"
      title={`${id}\n${w.do.copy}`}
      aria-label={`${w.do.copy} ${shown}`}
      onClick={(e) => {
        e.stopPropagation();
        e.preventDefault();
        void copyText(id).then(setCopied);
      }}
    >
      {!mark && <code>{shown}</code>}
      <span className="id-mark" aria-hidden>
        <Icon name={copied ? "check" : "copy"} size={12} />
      </span>
    </button>
  );
}

export interface CopyAsProps {
  method: string;
  /** Below the base, without a leading slash: `executions?status=FAILED`. */
  path: string;
  body?: unknown;
  headers?: Record<string, string>;
  /** The same with the command line: `renga execution list --status FAILED`. */
  cli?: string;
  label?: ReactNode;
}

function quote(s: string): string {
  return /^[\w@%+=:,./?&-]+$/.test(s) && !/[?&]/.test(s) ? s : `'${s.replaceAll("'", `'\\''`)}'`;
}

/** The request as a line for a shell. */
export function curl(p: CopyAsProps): string {
  const url = new URL(base + p.path, location.origin).href;
  const parts = ["curl -s", p.method === "GET" ? "" : `-X ${p.method}`, quote(url)];
  for (const [k, v] of Object.entries({ ...actAsHeaders(), ...p.headers }))
    parts.push(`-H ${quote(`${k}: ${v}`)}`);
  if (p.body !== undefined) parts.push(`--json ${quote(JSON.stringify(p.body))}`);
  return parts.filter((s) => s !== "").join(" ");
}

/** "Copy as curl" and "as command", on every action and list. */
export function CopyAs(p: CopyAsProps) {
  const w = useWords();
  const copy = async (text: string) => toast((await copyText(text)) ? w.do.copied : text);
  const items = [{ label: w.do.copyCurl, onSelect: () => void copy(curl(p)) }];
  const { cli } = p;
  if (cli !== undefined) items.push({ label: w.do.copyCli, onSelect: () => void copy(cli) });
  return <Menu label={p.label ?? w.do.copy} items={items} quiet />;
}
