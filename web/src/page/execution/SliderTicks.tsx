import { useEffect, useRef } from "react";
import type { Tick } from "../../flow/refused";

/** A mark for each command under the track; a red one where something was refused after it. */
export function SliderTicks({ ticks, last }: { ticks: readonly Tick[]; last: number }) {
  const canvas = useRef<HTMLCanvasElement>(null);
  useEffect(() => {
    const el = canvas.current;
    if (!el) return;
    const paint = () => {
      const width = el.clientWidth;
      const height = el.clientHeight;
      const ratio = devicePixelRatio || 1;
      el.width = Math.round(width * ratio);
      el.height = Math.round(height * ratio);
      const c = el.getContext("2d");
      if (!c) return;
      c.scale(ratio, ratio);
      const style = getComputedStyle(el);
      const [plain, red] = [style.getPropertyValue("--line-strong"), style.getPropertyValue("--danger")];
      let drawn = -Infinity;
      for (const t of ticks) {
        const x = last > 1 ? ((t.seq - 1) / (last - 1)) * (width - 1) : 0;
        const refused = t.refused.length > 0;
        if (x - drawn < 1.5 && !refused) continue;
        c.fillStyle = refused ? red : plain;
        c.fillRect(Math.round(x), refused ? 0 : 2, refused ? 2 : 1, height);
        drawn = x;
      }
    };
    const size = new ResizeObserver(paint);
    size.observe(el);
    const theme = new MutationObserver(paint);
    theme.observe(document.documentElement, { attributes: true, attributeFilter: ["data-theme"] });
    return () => {
      size.disconnect();
      theme.disconnect();
    };
  }, [ticks, last]);
  return <canvas ref={canvas} className="slider-ticks" aria-hidden />;
}
