import { yaml } from "@codemirror/lang-yaml";
import { syntaxHighlighting } from "@codemirror/language";
import { lintGutter, setDiagnostics } from "@codemirror/lint";
import { classHighlighter } from "@lezer/highlight";
import { basicSetup, EditorView } from "codemirror";
import { useEffect, useEffectEvent, useRef } from "react";
import type { Graph } from "../../flow/types";
import { readGraph } from "./source";

// CodeMirror in a shadow root: there its style sheets are constructed ones, which the CSP allows. It is in a chunk of
// its own, with the reader of YAML.

export interface Mistake {
  line?: number | undefined;
  column?: number | undefined;
  message: string;
}

export interface EditorProps {
  label: string;
  /** The text that it begins with. */
  initial: string;
  mistake: Mistake | undefined;
  /** The text, and the graph as far as it can be read. */
  onText: (text: string, graph: Graph | undefined) => void;
  /** A change brings the cursor to the mistake. */
  jump: number;
}

const look = `
:host { display: block; height: 100%; min-height: 0; }
.cm-editor { height: 100%; color: var(--text); background: var(--panel); border-radius: 8px; }
.cm-editor.cm-focused { outline: 2px solid var(--accent); outline-offset: -1px; }
.cm-editor .cm-scroller { font: 12px/19px var(--mono); }
.cm-editor .cm-content { caret-color: var(--text); }
.cm-editor .cm-cursor { border-left-color: var(--text); }
.cm-editor .cm-gutters { color: var(--muted); background: var(--sunken); border-right: 1px solid var(--line); }
.cm-editor .cm-activeLine, .cm-editor .cm-activeLineGutter {
  background: color-mix(in srgb, var(--accent) 8%, transparent);
}
.cm-editor.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground,
.cm-editor .cm-selectionBackground { background: color-mix(in srgb, var(--accent) 28%, transparent); }
.cm-editor .cm-panels, .cm-editor .cm-tooltip {
  color: var(--text); background: var(--raised); border-color: var(--line);
}
.cm-editor .cm-matchingBracket { background: color-mix(in srgb, var(--ok) 24%, transparent); }
.tok-comment { color: var(--muted); font-style: italic; }
.tok-propertyName, .tok-definition { color: var(--accent-strong); }
.tok-string, .tok-string2 { color: var(--ok); }
.tok-keyword, .tok-atom, .tok-bool, .tok-number { color: var(--warn); }
.tok-meta, .tok-punctuation { color: var(--muted); }
`;

/** A text editor for a graph. Tab leaves it, so that the keyboard is never caught. */
export default function Editor({ label, initial, mistake, onText, jump }: EditorProps) {
  const host = useRef<HTMLDivElement>(null);
  const view = useRef<EditorView>(undefined);
  const told = useEffectEvent((text: string) => onText(text, readGraph(text)));
  const begin = useEffectEvent(() => ({ doc: initial, label }));

  useEffect(() => {
    const el = host.current;
    if (!el) return;
    const root = el.shadowRoot ?? el.attachShadow({ mode: "open" });
    const sheet = new CSSStyleSheet();
    sheet.replaceSync(look);
    root.adoptedStyleSheets = [sheet];
    const { doc, label: name } = begin();
    const editor = new EditorView({
      doc,
      root,
      parent: root,
      extensions: [
        syntaxHighlighting(classHighlighter),
        basicSetup,
        yaml(),
        lintGutter(),
        EditorView.contentAttributes.of({ "aria-label": name }),
        EditorView.updateListener.of((u) => {
          if (u.docChanged) told(u.state.doc.toString());
        }),
      ],
    });
    view.current = editor;
    told(doc);
    return () => editor.destroy();
  }, []);

  useEffect(() => {
    const editor = view.current;
    if (!editor) return;
    const at = mistake && placeOf(editor, mistake);
    const found = at ? [{ ...at, severity: "error" as const, message: mistake.message }] : [];
    editor.dispatch(setDiagnostics(editor.state, found));
  }, [mistake]);

  const go = useEffectEvent(() => {
    const editor = view.current;
    const at = editor && mistake && placeOf(editor, mistake);
    if (!at) return;
    editor.dispatch({ selection: { anchor: at.from }, scrollIntoView: true });
    editor.focus();
  });
  useEffect(() => {
    if (jump > 0) go();
  }, [jump]);

  return <div ref={host} className="graph-editor" data-editor />;
}

/** The part of the text that a mistake is about: from its column, which counts bytes, to the end of the line. */
function placeOf(editor: EditorView, m: Mistake): { from: number; to: number } | undefined {
  if (m.line === undefined) return undefined;
  const { doc } = editor.state;
  const line = doc.line(Math.min(Math.max(1, m.line), doc.lines));
  const bytes = new TextEncoder().encode(line.text).subarray(0, Math.max(0, (m.column ?? 1) - 1));
  const from = Math.min(line.from + new TextDecoder().decode(bytes).length, line.to);
  const end = line.from + line.text.trimEnd().length;
  return from < end ? { from, to: end } : { from: line.from, to: line.to };
}
