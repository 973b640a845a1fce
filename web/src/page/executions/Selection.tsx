import { useState } from "react";
import { read, useAction } from "../../api";
import { Button, Menu, toast } from "../../kit";
import { useLocale, usePageWords } from "../../words";
import { BulkDialog } from "./BulkDialog";
import { CommandDialog } from "./CommandDialog";
import type { Query } from "./filters";
import type { Execution } from "./listed";
import { text } from "./words";

/** One request takes at most so many commands. */
export const most = 500;

export interface SelectionProps {
  query: Query;
  total: number;
  selected: ReadonlySet<string>;
  /** Of the rows on screen. */
  shown: () => Execution[];
  /** Which of the selected are known, with their status. */
  known: ReadonlyMap<string, string>;
  onSelect: (rows: readonly Execution[]) => void;
  onClear: () => void;
}

/** What can be done with rows: the selected ones, or all that match. */
export function Selection(p: SelectionProps) {
  const t = usePageWords(text);
  const locale = useLocale();
  const [open, setOpen] = useState<"cancel" | "archive" | "bulk">();
  const number = (n: number) => n.toLocaleString(locale);
  const n = p.selected.size;
  const first = useAction(async () => {
    const rows: Execution[] = [];
    let cursor: string | undefined;
    do {
      const page = await read("/executions", {
        query: { ...p.query, page_size: 100, ...(cursor === undefined ? {} : { cursor }) },
      });
      rows.push(...page.items);
      cursor = page.next;
    } while (cursor !== undefined && rows.length < most);
    p.onSelect(rows.slice(0, most));
  });
  const ended = [...p.selected].filter((id) => (p.known.get(id) ?? "ACTIVE") !== "ACTIVE").length;
  return (
    <div className="selection">
      <Menu
        small
        label={n === 0 ? t.select : t.selected(number(n))}
        items={[
          { label: t.selectShown, onSelect: () => p.onSelect(p.shown()) },
          { label: t.selectFirst(number(Math.min(most, p.total))), onSelect: () => void first.run() },
          { label: t.selectAll(number(p.total)), onSelect: () => setOpen("bulk"), disabled: p.total === 0 },
        ]}
      />
      {n > 0 && (
        <>
          <Button small kind="danger" scope="executions:write" onClick={() => setOpen("cancel")}>
            {t.cancelN(number(n), n === 1)}
          </Button>
          <Button small scope="executions:write" onClick={() => setOpen("archive")}>
            {t.archiveN(number(n), n === 1)}
          </Button>
          <Button small kind="quiet" onClick={p.onClear}>
            {t.unselect}
          </Button>
        </>
      )}
      {(open === "cancel" || open === "archive") && (
        <CommandDialog
          command={open}
          ids={[...p.selected]}
          unfit={open === "cancel" ? ended : n - ended}
          onClose={() => setOpen(undefined)}
          onDone={() => p.onClear()}
        />
      )}
      {open === "bulk" && <BulkDialog query={p.query} total={p.total} onClose={() => setOpen(undefined)} />}
    </div>
  );
}

/** At most `most` of them, and a word about it when there were more. */
export function cut(keys: readonly string[], say: string): readonly string[] {
  if (keys.length <= most) return keys;
  toast(say);
  return keys.slice(0, most);
}
