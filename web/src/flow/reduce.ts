// The log of an execution as a row of states: for the time slider, which must show each of them within a frame, and
// for live views, which add events at the end. Checkpoints make any state a short walk away; states share the nodes
// that did not change, so that a view can compare nodes by identity.

import type { Draft, LocalState } from "./apply";
import { apply, emptyState } from "./apply";
import type { FlowEvent } from "./types";

/** How many checkpoints a log has, at most about twice: with them grows the memory, and sinks the time of a step. */
const checkpoints = 64;
const leastStride = 128;

interface Checkpoint {
  at: number; // how many events it includes
  state: LocalState;
}

/** The states of an execution, from its events. */
export class Replay {
  private events: FlowEvent[] = [];
  private index = new Map<string, number>(); // of the nodes, in the order in which the log names them
  private marks: Checkpoint[] = [{ at: 0, state: emptyState() }];
  private stride = leastStride;
  private recent: Checkpoint | undefined;

  constructor(events: Iterable<FlowEvent> = []) {
    this.push(events);
  }

  /** How many events there are. */
  get length(): number {
    return this.events.length;
  }

  /** The seq of the last event, 0 when there is none. */
  get lastSeq(): number {
    return this.events.at(-1)?.seq ?? 0;
  }

  /** The events, in the order of their seq. */
  get log(): readonly FlowEvent[] {
    return this.events;
  }

  /** Adds events in any order; those that are there already are left out. */
  push(more: Iterable<FlowEvent>): void {
    for (const ev of more) {
      if (ev.seq > this.lastSeq) {
        this.events.push(ev);
        continue;
      }
      const i = this.place(ev.seq);
      if (this.events[i - 1]?.seq !== ev.seq) this.insert(i, ev);
    }
    if (this.events.length > this.stride * checkpoints * 2) {
      this.stride = Math.ceil(this.events.length / checkpoints);
      this.forgetFrom(1);
    }
  }

  /** The state after the last event. */
  get now(): LocalState {
    return this.stateAt(this.lastSeq);
  }

  /** The state after the event with this seq, or after the last one before it. It must not be changed. */
  stateAt(seq: number): LocalState {
    const to = this.place(seq);
    if (this.recent?.at === to) return this.recent.state;
    let mark = this.before(to);
    // The checkpoints on the way are made now, each from the one before it.
    while (to - mark.at > this.stride) {
      mark = { at: mark.at + this.stride, state: this.advance(mark, mark.at + this.stride) };
      this.marks.push(mark);
    }
    const near = this.recent && this.recent.at <= to && this.recent.at > mark.at ? this.recent : mark;
    this.recent = { at: to, state: this.advance(near, to) };
    return this.recent.state;
  }

  /** How many events have at most this seq. */
  private place(seq: number): number {
    let low = 0;
    let high = this.events.length;
    while (low < high) {
      const mid = (low + high) >> 1;
      if ((this.events[mid] as FlowEvent).seq <= seq) low = mid + 1;
      else high = mid;
    }
    return low;
  }

  private before(at: number): Checkpoint {
    const i = Math.min(Math.floor(at / this.stride), this.marks.length - 1);
    return this.marks[i] as Checkpoint;
  }

  private advance(from: Checkpoint, to: number): LocalState {
    if (from.at === to) return from.state;
    const nodes = from.state.nodes.slice();
    const d: Draft = { state: { ...from.state, nodes }, nodes, index: this.index, fresh: new Set() };
    for (let i = from.at; i < to; i++) apply(d, this.events[i] as FlowEvent);
    return d.state;
  }

  /** Inserts an event that came late; what was computed after it is forgotten. */
  private insert(i: number, ev: FlowEvent): void {
    this.events.splice(i, 0, ev);
    this.forgetFrom(Math.floor(i / this.stride) + 1);
  }

  private forgetFrom(mark: number): void {
    this.marks.length = Math.min(this.marks.length, Math.max(1, mark));
    this.recent = undefined;
    // The order of the nodes after it may be another one now: it is that of the log.
    const nodes = (this.marks.at(-1) as Checkpoint).state.nodes;
    this.index = new Map(nodes.map((n, i) => [n.nodeId, i]));
  }
}
