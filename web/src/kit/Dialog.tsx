import { useEffect, useId, useRef, type ReactNode } from "react";
import { useWords } from "../words";
import { cx } from "./cx";
import { Icon } from "./Icon";

export interface DialogProps {
  title: ReactNode;
  onClose: () => void;
  children: ReactNode;
  /** Buttons, right-aligned; the last one is the main one. */
  actions?: ReactNode;
  wide?: boolean;
  /** At the top of the window, so that it does not jump as it grows. */
  top?: boolean;
  /** A drawer at the right edge. */
  side?: boolean;
  /** Escape and the backdrop do not close it. */
  stays?: boolean;
}

/** A modal dialog. Mount it to open it; the focus returns to where it was. */
export function Dialog({ title, onClose, children, actions, wide, top, side, stays }: DialogProps) {
  const ref = useRef<HTMLDialogElement>(null);
  const id = useId();
  const w = useWords();
  useEffect(() => {
    const d = ref.current;
    const before = document.activeElement;
    d?.showModal();
    // Not the cross, which comes first: the first control of the content, or else the main button.
    const first = d?.querySelector<HTMLElement>(
      ".dialog-content :is(input, textarea, select):not(:disabled), .dialog-content [data-autofocus]",
    );
    (first ?? d?.querySelector<HTMLElement>("footer .button:last-child"))?.focus();
    return () => {
      d?.close();
      if (before instanceof HTMLElement && before.isConnected) before.focus();
    };
  }, []);
  return (
    <dialog
      ref={ref}
      className={cx("dialog", wide && "wide", top && "high", side && "side")}
      aria-labelledby={id}
      onCancel={(e) => {
        e.preventDefault();
        if (!stays) onClose();
      }}
      onPointerDown={(e) => {
        if (e.target === ref.current && !stays) onClose();
      }}
    >
      <div className="dialog-body">
        <header>
          <h2 id={id}>{title}</h2>
          {!stays && (
            <button
              type="button"
              className="button quiet small icon"
              onClick={onClose}
              aria-label={w.do.close}
            >
              <Icon name="close" size={12} />
            </button>
          )}
        </header>
        <div className="dialog-content">{children}</div>
        {actions && <footer>{actions}</footer>}
      </div>
    </dialog>
  );
}
