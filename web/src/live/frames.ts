// What arrives between two frames of the screen is handed over at once: a thousand events a second are sixty renders.

export class Coalescer<T> {
  #waiting: T[] = [];
  #asked = 0;
  readonly #give: (batch: T[]) => void;

  constructor(give: (batch: T[]) => void) {
    this.#give = give;
  }

  add(item: T) {
    this.#waiting.push(item);
    if (this.#asked === 0) this.#asked = requestAnimationFrame(() => this.flush());
  }

  flush() {
    if (this.#asked !== 0) cancelAnimationFrame(this.#asked);
    this.#asked = 0;
    const batch = this.#waiting;
    this.#waiting = [];
    if (batch.length > 0) this.#give(batch);
  }
}
