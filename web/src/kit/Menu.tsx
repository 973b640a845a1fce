import { useId, useRef, type KeyboardEvent, type ReactNode } from "react";
import { cx } from "./cx";
import { Icon } from "./Icon";

export interface MenuItem {
  label: ReactNode;
  onSelect: () => void;
  danger?: boolean;
  disabled?: boolean;
  title?: string;
  checked?: boolean;
}

/** A button that opens a list of actions. Arrow keys move, Escape closes. */
export function Menu({
  label,
  items,
  quiet,
  small,
  name,
  icon,
}: {
  label: ReactNode;
  items: MenuItem[];
  quiet?: boolean;
  small?: boolean;
  /** What a screen reader calls the button, when the label is a sign. */
  name?: string;
  icon?: boolean;
}) {
  const id = useId();
  const list = useRef<HTMLDivElement>(null);
  const button = useRef<HTMLButtonElement>(null);

  const place = () => {
    const el = list.current;
    const from = button.current?.getBoundingClientRect();
    if (!el || !from) return;
    const box = el.getBoundingClientRect();
    const left = Math.max(8, Math.min(from.left, innerWidth - box.width - 8));
    const below = from.bottom + 4;
    el.style.left = `${left}px`;
    el.style.top = `${below + box.height > innerHeight ? Math.max(8, from.top - box.height - 4) : below}px`;
  };
  const move = (e: KeyboardEvent<HTMLDivElement>) => {
    const step = { ArrowDown: 1, ArrowUp: -1, Home: -1000, End: 1000 }[e.key];
    if (step === undefined) return;
    e.preventDefault();
    const all = [...e.currentTarget.querySelectorAll<HTMLButtonElement>("button:not(:disabled)")];
    const at = all.indexOf(document.activeElement as HTMLButtonElement);
    const to = Math.abs(step) > 1 ? (step < 0 ? 0 : all.length - 1) : (at + step + all.length) % all.length;
    all[to]?.focus();
  };
  return (
    <>
      <button
        ref={button}
        type="button"
        className={cx("button", quiet && "quiet", small && "small", icon && "icon")}
        popoverTarget={id}
        aria-haspopup="menu"
        // What the button shows is part of its name: who speaks to a computer says what stands there.
        aria-label={name !== undefined && typeof label === "string" ? `${name}: ${label}` : name}
      >
        {label}
        {!icon && (
          <span aria-hidden className="caret">
            <Icon name="down" size={10} />
          </span>
        )}
      </button>
      <div
        ref={list}
        id={id}
        popover="auto"
        role="menu"
        className="menu"
        onKeyDown={move}
        onToggle={(e) => {
          if (e.newState !== "open") return;
          place();
          list.current?.querySelector<HTMLButtonElement>("button:not(:disabled)")?.focus();
        }}
      >
        {items.map((item, i) => (
          <button
            key={i}
            type="button"
            role={item.checked === undefined ? "menuitem" : "menuitemradio"}
            aria-checked={item.checked}
            className={cx(item.danger && "danger")}
            disabled={item.disabled}
            title={item.title}
            onClick={() => {
              list.current?.hidePopover();
              item.onSelect();
            }}
          >
            {item.checked !== undefined && (
              <span className="menu-mark" aria-hidden>
                {item.checked && <Icon name="check" size={12} />}
              </span>
            )}
            {item.label}
          </button>
        ))}
      </div>
    </>
  );
}
