/** The colours of the drawing, as the theme has them now. */
export interface Colours {
  text: string;
  muted: string;
  line: string;
  panel: string;
  sunken: string;
  accent: string;
  accentSoft: string;
  state: Record<"READY" | "RUNNING" | "WAITING" | "SUCCEEDED" | "FAILED" | "CANCELED", string>;
  onFailed: string;
  font: string;
}

export function coloursOf(el: Element): Colours {
  const style = getComputedStyle(el);
  const v = (name: string) => style.getPropertyValue(name).trim();
  return {
    text: v("--text"),
    muted: v("--muted"),
    line: v("--line"),
    panel: v("--panel"),
    sunken: v("--sunken"),
    accent: v("--accent"),
    accentSoft: v("--accent-soft"),
    state: {
      READY: v("--state-ready"),
      RUNNING: v("--state-running"),
      WAITING: v("--state-waiting"),
      SUCCEEDED: v("--state-succeeded"),
      FAILED: v("--state-failed"),
      CANCELED: v("--state-canceled"),
    },
    onFailed: v("--on-failed"),
    font: style.fontFamily,
  };
}
