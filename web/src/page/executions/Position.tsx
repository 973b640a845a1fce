import { useState } from "react";
import { Button } from "../../kit";
import { useLocale, usePageWords } from "../../words";
import { text } from "./words";

/** Which rows are on screen, and a way to any other. */
export function Position({
  range,
  count,
  onGo,
}: {
  range: readonly [number, number];
  count: number;
  onGo: (index: number) => void;
}) {
  const t = usePageWords(text);
  const locale = useLocale();
  const [to, setTo] = useState("");
  const number = (n: number) => n.toLocaleString(locale);
  if (count === 0) return null;
  const jump = () => {
    const n = Number(to.replaceAll(/[^\d]/g, ""));
    if (n >= 1) onGo(Math.min(count, n) - 1);
    setTo("");
  };
  return (
    <div className="position">
      <span className="muted num">
        {t.rows(number(range[0] + 1), number(Math.min(count, range[1] + 1)), number(count))}
      </span>
      <Button small kind="quiet" onClick={() => onGo(0)}>
        {t.first}
      </Button>
      <Button small kind="quiet" onClick={() => onGo(count - 1)}>
        {t.last}
      </Button>
      <input
        aria-label={t.goTo}
        placeholder={t.goTo}
        inputMode="numeric"
        value={to}
        onChange={(e) => setTo(e.target.value)}
        onKeyDown={(e) => {
          if (e.key === "Enter" && !e.nativeEvent.isComposing) jump();
        }}
      />
    </div>
  );
}
