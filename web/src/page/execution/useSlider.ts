import { useCallback, useEffect, useEffectEvent, useState } from "react";
import { useExecutionContext } from "./context";
import { nearest, step } from "./sliderSteps";
import { useLog, type LogView } from "./useLog";

/** After so many milliseconds without another step the state is that of the server, and in the URL. */
const restAfter = 150;

export interface SliderControl {
  value: number;
  last: number;
  log: LogView;
  playing: boolean;
  /** Somebody is about to use it: the log is read. */
  touch: () => void;
  /** To an event, from the keyboard; while it is dragged, to the end of a command. */
  move: (seq: number) => void;
  /** So many commands on or back. */
  jump: (by: number) => void;
  drag: (on: boolean) => void;
  toggle: () => void;
}

/** Which event the slider stands at. It is shown from the log at once, and read when the slider rests. */
export function useSlider(perSecond: number): SliderControl {
  const { now, at, setAt, show } = useExecutionContext();
  const [touched, setTouched] = useState(false);
  const [moving, setMoving] = useState<number>();
  const [dragging, setDragging] = useState(false);
  const [playing, setPlaying] = useState(false);
  const log = useLog(touched || at !== undefined);
  const last = now.seq;
  const value = Math.min(last, moving ?? at ?? last);
  const touch = useCallback(() => setTouched(true), []);

  const replay = log.store?.replay;
  const here = moving !== undefined && replay !== undefined && replay.lastSeq >= moving;
  useEffect(() => {
    if (here) show(replay.stateAt(moving));
  }, [here, replay, moving, show]);

  const rest = useEffectEvent((seq: number) => {
    setMoving(undefined);
    if (seq >= last) show(undefined);
    setAt(seq >= last ? undefined : seq);
  });
  useEffect(() => {
    if (moving === undefined || dragging || playing) return;
    const timer = setTimeout(() => rest(moving), restAfter);
    return () => clearTimeout(timer);
  }, [moving, dragging, playing]);

  const advance = useEffectEvent((commands: number) => {
    const next = step(log.ticks, value, commands, last);
    setMoving(next);
    if (next >= last) setPlaying(false);
  });
  const ready = log.complete;
  useEffect(() => {
    if (!playing || !ready) return;
    let before = performance.now();
    let owed = 0;
    let frame = 0;
    const tick = (time: number) => {
      owed += (Math.max(0, time - before) * perSecond) / 1_000;
      before = time;
      const commands = Math.floor(owed);
      owed -= commands;
      frame = requestAnimationFrame(tick);
      // A tab that was hidden does not catch up.
      if (commands > 0) advance(Math.min(commands, perSecond));
    };
    frame = requestAnimationFrame(tick);
    return () => cancelAnimationFrame(frame);
  }, [playing, ready, perSecond]);

  const move = (seq: number) => {
    setTouched(true);
    setPlaying(false);
    setMoving(dragging && seq < last ? nearest(log.ticks, seq, last) : seq);
  };
  const jump = (by: number) => {
    setTouched(true);
    setPlaying(false);
    setMoving(step(log.ticks, value, by, last));
  };
  const toggle = () => {
    setTouched(true);
    setPlaying(!playing);
    if (!playing) setMoving(value >= last ? 1 : value);
  };
  return { value, last, log, playing, touch, move, jump, drag: setDragging, toggle };
}
