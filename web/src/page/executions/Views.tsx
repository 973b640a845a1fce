import { useState } from "react";
import { Button, Dialog, Field, Menu, toast, type MenuItem } from "../../kit";
import { prefs, setPref, usePrefs, type View } from "../../prefs";
import { usePageWords, useWords } from "../../words";
import { filterNames } from "./filters";
import { text } from "./words";

const page = "executions";

/** The search without what belongs to a moment, such as the row at the top. */
export function viewSearch(search: string): string {
  const params = new URLSearchParams(search);
  const kept = new URLSearchParams();
  for (const name of [...filterNames, "span"]) {
    const v = params.get(name);
    if (v !== null) kept.set(name, v);
  }
  const s = kept.toString().replaceAll("%2C", ",").replaceAll("%3A", ":");
  return s === "" ? "" : `?${s}`;
}

/** Filters under a name: some that everybody wants, and those that this browser keeps. */
export function Views({ search, onOpen }: { search: string; onOpen: (search: string) => void }) {
  const t = usePageWords(text);
  const w = useWords();
  const own = usePrefs().views[page] ?? [];
  const [saving, setSaving] = useState(false);
  const now = viewSearch(search);
  const built: View[] = [
    { name: t.builtWaiting, search: "?waiting=1" },
    { name: w.status.FAILED ?? "", search: "?status=FAILED" },
    { name: w.status.ACTIVE ?? "", search: "?status=ACTIVE" },
  ];
  const all = [...built, ...own];
  const at = all.find((v) => v.search === now);
  const set = (views: View[]) => setPref("views", { ...prefs().views, [page]: views });
  const remove = (v: View) => {
    const before = own;
    set(own.filter((o) => o !== v));
    toast(t.viewDeleted(v.name), { undo: { label: t.undo, run: () => set(before) } });
  };
  const mine = own.find((v) => v.search === now);
  const items: MenuItem[] = [
    ...all.map((v) => ({ label: v.name, checked: v === at, onSelect: () => onOpen(v.search) })),
    { label: t.saveView, onSelect: () => setSaving(true), disabled: now === "" },
    ...(mine ? [{ label: t.deleteView(mine.name), danger: true, onSelect: () => remove(mine) }] : []),
  ];
  return (
    <>
      <Menu label={at?.name ?? t.views} items={items} quiet />
      {saving && (
        <Save
          onClose={() => setSaving(false)}
          onSave={(name) => {
            set([...own.filter((v) => v.name !== name), { name, search: now }]);
            setSaving(false);
            toast(t.viewSaved(name));
          }}
        />
      )}
    </>
  );
}

function Save({ onSave, onClose }: { onSave: (name: string) => void; onClose: () => void }) {
  const t = usePageWords(text);
  const w = useWords();
  const [name, setName] = useState("");
  const save = () => {
    if (name.trim() !== "") onSave(name.trim());
  };
  return (
    <Dialog
      title={t.saveView}
      onClose={onClose}
      actions={
        <Button kind="primary" disabled={name.trim() === ""} onClick={save}>
          {w.do.save}
        </Button>
      }
    >
      <Field label={t.viewName} hint={t.viewHint}>
        {(id, by) => (
          <input
            id={id}
            aria-describedby={by}
            autoFocus
            maxLength={60}
            value={name}
            onChange={(e) => setName(e.target.value)}
            onKeyDown={(e) => {
              if (e.key === "Enter" && !e.nativeEvent.isComposing) save();
            }}
          />
        )}
      </Field>
    </Dialog>
  );
}
