import { useState, type CSSProperties } from "react";
import { Button, ErrorBox, Icon, Segmented, Time, usePageKey } from "../../kit";
import { useLocale, usePageWords } from "../../words";
import { useExecutionContext } from "./context";
import "./slider.css";
import { tickAt } from "./sliderSteps";
import { SliderTicks } from "./SliderTicks";
import { text } from "./sliderWords";
import { useSlider } from "./useSlider";

const speeds = ["1", "10", "100"] as const;

/** The time slider: the state after any event. [ and ] step by a command, with Shift by ten. */
export default function Slider() {
  const { execution } = useExecutionContext();
  const t = usePageWords(text);
  const locale = useLocale();
  const [speed, setSpeed] = useState<(typeof speeds)[number]>("1");
  const { value, last, log, playing, touch, move, jump, drag, toggle } = useSlider(Number(speed));
  usePageKey("[", () => jump(-1), t.back);
  usePageKey("]", () => jump(1), t.on);
  usePageKey("{", () => jump(-10), t.tenBack);
  usePageKey("}", () => jump(10), t.tenOn);

  const n = (seq: number) => seq.toLocaleString(locale);
  const isNow = value >= last;
  const place = isNow ? t.now : t.position(n(value), n(last));
  const tick = isNow ? undefined : tickAt(log.ticks, value);
  const when = isNow ? undefined : log.events[value - 1]?.occurredAt;
  const said = tick?.command && t.command(tick.command.command, tick.command.nodeId ?? "");
  const done = { "--done": last > 1 ? (value - 1) / (last - 1) : 1 } as CSSProperties;
  const name = playing ? t.stop : t.play;
  return (
    <div
      className="slider"
      role="group"
      aria-label={t.slider}
      data-seq={value}
      data-shown={execution.seq}
      data-playing={playing || undefined}
      data-ready={log.complete || undefined}
    >
      <div className="slider-buttons">
        <Button small kind="quiet" aria-label={t.back} title={`${t.back} ([)`} onClick={() => jump(-1)}>
          <Icon name="back" />
        </Button>
        <Button small aria-label={name} title={name} onClick={toggle}>
          <Icon name={playing ? "pause" : "play"} />
        </Button>
        <Button small kind="quiet" aria-label={t.on} title={`${t.on} (])`} onClick={() => jump(1)}>
          <Icon name="on" />
        </Button>
        <Segmented
          label={t.speed}
          hideLabel
          value={speed}
          options={speeds.map((x) => ({ value: x, label: `×${x}` }))}
          onChange={setSpeed}
        />
      </div>
      <div className="slider-track" style={done}>
        <SliderTicks ticks={log.ticks} last={last} />
        <input
          type="range"
          min={1}
          max={Math.max(1, last)}
          value={value}
          aria-label={t.slider}
          aria-valuetext={said ? `${place}, ${said}` : place}
          onFocus={touch}
          onPointerEnter={touch}
          onPointerDown={() => drag(true)}
          onPointerUp={() => drag(false)}
          onPointerCancel={() => drag(false)}
          onChange={(e) => move(Number(e.currentTarget.value))}
        />
      </div>
      <p className="slider-said">
        <span className="slider-place">{place}</span>
        {said && <strong>{said}</strong>}
        {when && <Time at={when} ms timeOnly />}
        {tick && tick.refused.length > 0 && (
          <span className="slider-refused">
            <span aria-hidden>✕</span> {t.refused(n(tick.refused.length))}
          </span>
        )}
      </p>
      {log.error && <ErrorBox error={log.error} onRetry={log.retry} />}
    </div>
  );
}
