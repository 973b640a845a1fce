import { ApiError, read, type Answer, type components } from "../../api";
import { passing } from "../../api/query";
import { Replay } from "../../flow/reduce";

export type LogEvent = components["schemas"]["Event"];
export type LogCommand = components["schemas"]["Decided"];
type Page = Answer<"/executions/{executionId}/events">;

const eventsAtOnce = 1_000;
const commandsAtOnce = 100;
/** How often a read that may work later is tried again. */
const tries = 5;

/**
 * The log of an execution and its commands, read page by page and carried on as the log grows. Lists of branches are
 * brief. It is shared by the log, the slider and the timeline.
 */
export class LogStore {
  readonly replay = new Replay();
  /** In the order of their numbers. */
  commands: readonly LogCommand[] = [];
  error: Error | undefined;
  /** Grows with each change. */
  version = 0;
  readonly #id: string;
  readonly #listeners = new Set<() => void>();
  #running: Promise<void> | undefined;
  #again = false;

  constructor(id: string) {
    this.#id = id;
  }

  get events(): readonly LogEvent[] {
    return this.replay.log as readonly LogEvent[];
  }

  readonly subscribe = (listener: () => void) => {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  };

  /** Read what is new. While it reads, another call makes it look once more. */
  catchUp(): Promise<void> {
    if (this.#running) {
      this.#again = true;
      return this.#running;
    }
    this.#running = this.#read().finally(() => {
      this.#running = undefined;
      if (!this.#again) return;
      this.#again = false;
      void this.catchUp();
    });
    return this.#running;
  }

  async #read(): Promise<void> {
    try {
      await Promise.all([this.#readEvents(), this.#readCommands()]);
      if (this.error) this.#changed(() => (this.error = undefined));
    } catch (e) {
      this.#changed(() => (this.error = e instanceof Error ? e : new Error(String(e))));
    }
  }

  async #readEvents(): Promise<void> {
    for (let after: number | undefined = this.replay.lastSeq; after !== undefined;) {
      const query = { after, page_size: eventsAtOnce, payload: "brief" as const };
      const page: Page = await patiently(() =>
        read("/executions/{executionId}/events", { path: { executionId: this.#id }, query }),
      );
      if (page.items.length > 0) this.#changed(() => this.replay.push(page.items));
      after = page.nextAfter;
    }
  }

  /** Pages begin at the last one that was not full: its commands are read again. */
  async #readCommands(): Promise<void> {
    for (let page = Math.floor(this.commands.length / commandsAtOnce) + 1; ; page++) {
      const query = { page, page_size: commandsAtOnce };
      const got = await patiently(() =>
        read("/executions/{executionId}/commands", { path: { executionId: this.#id }, query }),
      );
      const before = this.commands.slice(0, (page - 1) * commandsAtOnce);
      if (before.length + got.items.length > this.commands.length) {
        this.#changed(() => (this.commands = [...before, ...got.items]));
      }
      if (page * commandsAtOnce >= got.total) return;
    }
  }

  #changed(change: () => void) {
    change();
    this.version++;
    for (const listener of this.#listeners) listener();
  }
}

async function patiently<T>(call: () => Promise<T>): Promise<T> {
  for (let n = 1; ; n++) {
    try {
      return await call();
    } catch (e) {
      if (n === tries || !(e instanceof ApiError) || !passing(e)) throw e;
      const seconds = e.retryAfter ?? 0.5 * 2 ** n;
      await new Promise((resolve) => setTimeout(resolve, seconds * 1_000));
    }
  }
}

/** The whole log as lines of JSON, with every payload complete. */
export async function wholeLog(id: string, onRead: (seq: number) => void): Promise<string> {
  const lines: string[] = [];
  for (let after: number | undefined = 0; after !== undefined;) {
    const query = { after, page_size: eventsAtOnce };
    const page: Page = await patiently(() =>
      read("/executions/{executionId}/events", { path: { executionId: id }, query }),
    );
    for (const event of page.items) lines.push(JSON.stringify(event));
    onRead(page.items.at(-1)?.seq ?? 0);
    after = page.nextAfter;
  }
  return lines.map((line) => `${line}\n`).join("");
}
