import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Page } from "@playwright/test";
import { test as base, expect } from "./fixture";
import { renga, Server } from "./server";

// What measurements share. Times are the browser's own: from the event of the mouse or a key to the frame that shows
// what was asked for.

export { expect };

/** How many executions the long list has; the full figure is 1,000,000, which takes two minutes to store. */
export const executions = Number(process.env.EXECUTIONS ?? 100_000);

/** For how many seconds 1,000 updates a second go on; the full figure is 60. */
export const eventsFor = Number(process.env.EVENTS_FOR ?? 15);

/** A server with many executions. They are written as if they had run, by `renga bench`. */
export const test = base.extend<object, { crowd: Server }>({
  crowd: [
    async ({}, use) => {
      const folder = await mkdtemp(join(tmpdir(), "renga-crowd-"));
      const nothing = ["--executions", "0", "--events", "0", "--records", "0"];
      const size = ["--tasks", "1", "--finished", String(executions - 1_000), "--waiting", "1000"];
      await renga(["bench", ...nothing, ...size, "--dir", folder]);
      const server = new Server([], { folder: join(folder, "stored") });
      await server.start();
      await use(server);
      await server.close();
      await rm(folder, { recursive: true, force: true });
    },
    { scope: "worker", timeout: 1_200_000 },
  ],
});

/** A figure, and the bar that it must not exceed, or must reach. */
export interface Bar {
  what: string;
  figure: number;
  unit: string;
  most?: number;
  least?: number;
}

/** Put a figure into the table. Whoever prints it says that the run has failed, when all has been measured. */
export function bar(
  what: string,
  figure: number,
  unit: string,
  limit: { most?: number; least?: number } = {},
) {
  const b: Bar = { what, figure, unit, ...limit };
  test.info().annotations.push({ type: "bar", description: JSON.stringify(b) });
}

/** The part p of the figures is not above it: 0.5 is the median. */
export function quantile(figures: readonly number[], p: number): number {
  const sorted = figures.toSorted((a, b) => a - b);
  if (sorted.length === 0) throw new Error("nothing was measured");
  return sorted[Math.min(sorted.length - 1, Math.ceil(sorted.length * p) - 1)]!;
}

export const median = (figures: readonly number[]) => quantile(figures, 0.5);

/** Do something five times; the median of what it gives. */
export async function five(measure: (i: number) => Promise<number>): Promise<number> {
  const figures: number[] = [];
  for (let i = 0; i < 5; i++) figures.push(await measure(i));
  return median(figures);
}

export interface Watched {
  /** When the last event of the mouse or a key was made. */
  acted: number;
  /** When what is awaited was on screen. */
  seen: Promise<number>;
  frames: number[] | undefined;
  longest: number;
}

/** Makes a page remember when somebody acted; before it loads. */
export async function watchActs(page: Page): Promise<void> {
  await page.addInitScript(() => {
    const w = window as unknown as Watched;
    const acted = (e: Event) => (w.acted = e.timeStamp);
    for (const type of ["pointerup", "click", "keydown"]) addEventListener(type, acted, { capture: true });
  });
}

export interface Shown {
  /** Something that matches it is there … */
  selector: string;
  /** … with a text in it that matches this. */
  text?: string;
}

/** How long it takes from an act until something is on screen that was not there before, in milliseconds. */
export async function until(page: Page, act: () => Promise<unknown>, shown: Shown): Promise<number> {
  // The watch begins before the act: inputs overtake what Playwright asks a page to do.
  await page.evaluate(({ selector, text }) => {
    const w = window as unknown as Watched;
    const there = () =>
      [...document.querySelectorAll(selector)].some(
        (e) => text === undefined || new RegExp(text).test(e.textContent),
      );
    if (there()) throw new Error(`${selector} is there before`);
    w.seen = new Promise((ok) => {
      const look = () => {
        if (!there()) return void requestAnimationFrame(look);
        // The frame is painted before the next task.
        setTimeout(() => ok(performance.now() - w.acted));
      };
      requestAnimationFrame(look);
    });
  }, shown);
  await act();
  return page.evaluate(() => (window as unknown as Watched).seen);
}

/** The times between the frames while something goes on, in milliseconds. */
export async function frames(page: Page, work: () => Promise<void>): Promise<number[]> {
  await page.evaluate(() => {
    const w = window as unknown as Watched;
    const times: number[] = (w.frames = []);
    let last: number | undefined;
    const frame = (now: number) => {
      if (w.frames !== times) return;
      if (last !== undefined) times.push(now - last);
      last = now;
      requestAnimationFrame(frame);
    };
    requestAnimationFrame(frame);
  });
  await work();
  return page.evaluate(() => {
    const w = window as unknown as Watched;
    const times = w.frames ?? [];
    w.frames = undefined;
    return times;
  });
}

/** The longest task of a page while something goes on, in milliseconds; 0: none took 50. */
export async function longestTask(page: Page, work: () => Promise<void>): Promise<number> {
  await page.evaluate(() => {
    const w = window as unknown as Watched;
    w.longest = 0;
    new PerformanceObserver((list) => {
      for (const e of list.getEntries()) w.longest = Math.max(w.longest, e.duration);
    }).observe({ type: "longtask" });
  });
  await work();
  return page.evaluate(() => (window as unknown as Watched).longest);
}

/** What the heap of a page holds after a collection, in megabytes. */
export async function heap(page: Page): Promise<number> {
  const session = await page.context().newCDPSession(page);
  await session.send("HeapProfiler.collectGarbage");
  const { usedSize } = await session.send("Runtime.getHeapUsage");
  await session.detach();
  return usedSize / 1e6;
}

/** Move the mouse on for some seconds, as a hand would. */
export async function forSeconds(seconds: number, step: (i: number) => Promise<unknown>): Promise<void> {
  const end = Date.now() + seconds * 1000;
  for (let i = 0; Date.now() < end; i++) await step(i);
}
