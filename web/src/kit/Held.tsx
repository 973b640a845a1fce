import { useEffect, useId, useRef, useState, type ButtonHTMLAttributes } from "react";

interface HeldProps extends ButtonHTMLAttributes<HTMLButtonElement> {
  /** Why it cannot act, in a sentence. */
  reason: string;
}

/**
 * A button that cannot act and says why. It keeps its place in the order of the Tab key; a screen reader reads the
 * reason with its name, and everybody else sees it on focus, under the mouse, or after a touch. Escape hides it.
 */
export function Held({ reason, children, ...rest }: HeldProps) {
  const id = useId();
  const button = useRef<HTMLButtonElement>(null);
  const tip = useRef<HTMLSpanElement>(null);
  const [open, setOpen] = useState(false);

  useEffect(() => {
    const el = tip.current;
    const from = button.current?.getBoundingClientRect();
    if (!open || !el || !from) return;
    el.showPopover();
    const box = el.getBoundingClientRect();
    el.style.left = `${Math.max(8, Math.min(from.left, innerWidth - box.width - 8))}px`;
    // It touches the button, so that the mouse can move onto it.
    const above = from.bottom + box.height > innerHeight;
    el.style.top = `${above ? Math.max(0, from.top - box.height) : from.bottom}px`;
    const hide = (e: Event) => {
      if (!button.current?.contains(e.target as Node)) setOpen(false);
    };
    addEventListener("pointerdown", hide);
    addEventListener("scroll", hide, true);
    return () => {
      removeEventListener("pointerdown", hide);
      removeEventListener("scroll", hide, true);
      el.hidePopover();
    };
  }, [open]);

  const leave = (e: { relatedTarget: EventTarget | null }) => {
    const to = e.relatedTarget;
    if (to !== tip.current && !button.current?.contains(to as Node | null)) setOpen(false);
  };
  return (
    <>
      <span ref={tip} id={id} role="tooltip" popover="manual" className="reason" onMouseLeave={leave}>
        {reason}
      </span>
      <button
        type="button"
        {...rest}
        ref={button}
        disabled={false}
        title={undefined}
        aria-disabled
        aria-describedby={id}
        onClick={(e) => {
          // Nor does it send the form that it stands in.
          e.preventDefault();
          e.stopPropagation();
          setOpen(true);
        }}
        onMouseEnter={() => setOpen(true)}
        onMouseLeave={leave}
        onFocus={(e) => e.target.matches(":focus-visible") && setOpen(true)}
        onBlur={() => setOpen(false)}
        onKeyDown={(e) => {
          if (e.key !== "Escape" || !open) return;
          e.preventDefault();
          e.stopPropagation();
          setOpen(false);
        }}
      >
        {children}
      </button>
    </>
  );
}
