import type { Page } from "@playwright/test";
import { chain, drawing, drawn, fan, Run, task, type Task } from "./flow";
import { bar, eventsFor, expect, longestTask, median, quantile, test } from "./measure";
import { Proxy } from "./proxy";
import type { Server } from "./server";

// What is pushed: how soon it shows, how much of it a page bears, and what a broken stream costs.

test.describe.configure({ mode: "default", timeout: 600_000 });

const live = (page: Page) => page.getByRole("status", { name: "Connection" });

interface Told {
  /** When a progress was first painted, by the clock of the machine. */
  painted: Map<number, number>;
  /** The numbers of the events that streams brought. */
  arrived: number[];
}

test("a command shows", async ({ page, server }) => {
  const run = await Run.of(server, chain(task("pack")));
  await run.open(page);
  await drawing(page);
  const pack = await run.claim("pack");
  await expect(drawn(page, "pack")).toHaveAttribute("data-status", "RUNNING");
  await expect(live(page)).toContainText("live");
  await page.evaluate(() => {
    const w = window as unknown as Told;
    w.painted = new Map();
    const look = () => {
      const text = document.querySelector('.graph-svg [data-node="pack"]')?.textContent ?? "";
      const shown = /(\d+) %/.exec(text)?.[1];
      if (shown !== undefined && !w.painted.has(Number(shown))) {
        const at = Number(shown);
        w.painted.set(at, Infinity);
        setTimeout(() => w.painted.set(at, performance.timeOrigin + performance.now()));
      }
      requestAnimationFrame(look);
    };
    look();
  });
  const took: number[] = [];
  const origin = await page.evaluate(() => Date.now() - performance.timeOrigin - performance.now());
  expect(Math.abs(origin), "the clock of the page was set").toBeLessThan(5);
  for (let progress = 1; progress <= 99; progress++) {
    await run.send("pack", "progress", { attempt: pack.attempt, workerId: "w1", progress });
    const answered = performance.timeOrigin + performance.now();
    await expect(drawn(page, "pack")).toContainText(`${progress} %`);
    const painted = () => page.evaluate((p) => (window as unknown as Told).painted.get(p) ?? 0, progress);
    await expect.poll(async () => Number.isFinite(await painted())).toBe(true);
    took.push(Math.max(0, (await painted()) - answered));
  }
  bar("a command answered until it shows, p50", median(took), "ms");
  bar("a command answered until it shows, p95", quantile(took, 0.95), "ms", { most: 250 });
});

/** An execution whose tasks all run. */
async function running(server: Server, n: number): Promise<{ run: Run; tasks: Task[] }> {
  const run = await Run.of(
    server,
    fan(Array.from({ length: n }, (_, i) => task(`t${i}`, { queue: "many" }))),
  );
  const tasks: Task[] = [];
  while (tasks.length < n) tasks.push(await run.claim("many"));
  return { run, tasks };
}

/** Batches of commands, ten a second, for some seconds. Answers how many were accepted a second. */
async function tenBatches(
  server: Server,
  seconds: number,
  batch: (i: number) => { command: string; [member: string]: unknown }[],
): Promise<number> {
  const sends: Promise<number>[] = [];
  const began = performance.now();
  const send = async (i: number) => {
    const commands = batch(i).map((c) => ({ idempotencyKey: crypto.randomUUID(), ...c }));
    const { results } = await server.api<{ results: { status: number }[] }>("POST", "commands", { commands });
    return results.filter((r) => r.status === 202).length;
  };
  for (let i = 0; i < seconds * 10; i++) {
    const early = began + i * 100 - performance.now();
    if (early > 0) await new Promise((ok) => setTimeout(ok, early));
    // Only so many are under way at once: a slow server shows in the rate.
    if (sends.length >= 4) await sends[sends.length - 4];
    sends.push(send(i));
  }
  const accepted = (await Promise.all(sends)).reduce((a, b) => a + b, 0);
  return accepted / Math.max(seconds, (performance.now() - began) / 1000);
}

test("1,000 updates a second", async ({ page, server }) => {
  const { run, tasks } = await running(server, 8);
  await run.open(page);
  await drawing(page);
  await expect(live(page)).toContainText("live");
  let n = 0;
  const progress = () =>
    Array.from({ length: 100 }, () => {
      const { nodeId, attempt } = tasks[++n % tasks.length]!;
      const message = String(n);
      const body = { nodeId, attempt, workerId: "w1", progress: n % 101, message };
      return { command: "ReportNodeProgress", executionId: run.id, ...body };
    });
  let rate = 0;
  const longest = await longestTask(page, async () => {
    rate = await tenBatches(server, eventsFor, progress);
    const state = await run.state();
    // Nothing is lost: what is drawn is what a fresh read gives.
    await expect(page.locator(".slider")).toHaveAttribute("data-shown", String(state.seq));
    for (const node of state.nodes.filter((s) => s.status === "RUNNING")) {
      const { progress: done } = node as unknown as { progress: number };
      await expect(drawn(page, node.nodeId)).toContainText(`${done} %`);
    }
  });
  bar(`one execution, ${eventsFor} s: updates a second`, rate, "", { least: 950 });
  bar(`one execution, ${eventsFor} s: longest task`, longest, "ms", { most: 100 });
});

test("1,000 new executions a second", async ({ page, server }) => {
  const { graphId } = await Run.of(server, chain(task("pack")));
  await page.goto(`/ui/executions?graphId=${graphId}`);
  await expect(page.getByRole("table", { name: "Executions" })).toBeVisible();
  await expect(live(page)).toContainText("live");
  let rate = 0;
  const create = () => Array.from({ length: 100 }, () => ({ command: "CreateExecution", graphId }));
  const longest = await longestTask(page, async () => {
    rate = await tenBatches(server, eventsFor, create);
    const { total } = await server.api<{ total: number }>(
      "GET",
      `executions?graphId=${graphId}&page_size=10`,
    );
    const fresh = (total - 1).toLocaleString("en-GB");
    await expect(page.getByRole("button", { name: `${fresh} new executions` })).toBeVisible();
  });
  bar(`list, ${eventsFor} s: new executions a second`, rate, "", { least: 950 });
  bar(`list, ${eventsFor} s: longest task`, longest, "ms", { most: 100 });
});

/** Makes a page remember the number of each event that its streams bring; before it loads. */
const rememberEvents = () => {
  const w = window as unknown as Told;
  w.arrived = [];
  const plain = window.fetch;
  window.fetch = async (...args) => {
    const res = await plain(...args);
    if (!res.headers.get("content-type")?.startsWith("text/event-stream") || !res.body) return res;
    const [own, theirs] = res.body.tee();
    const lines = async () => {
      const reader = own.pipeThrough(new TextDecoderStream()).getReader();
      let rest = "";
      let id = "";
      for (;;) {
        const { value, done } = await reader.read();
        if (done) return;
        const all = (rest + value).split("\n");
        rest = all.pop() ?? "";
        for (const line of all) {
          if (line.startsWith("id:")) id = line.slice(3).trim();
          else if (line === "" && id !== "") {
            w.arrived.push(Number(id));
            id = "";
          }
        }
      }
    };
    void lines().catch(() => undefined);
    return new Response(theirs, res);
  };
};

test("a stream is cut 20 times", async ({ browser, guard, server }) => {
  guard.allow(/ERR_INCOMPLETE_CHUNKED_ENCODING|ERR_EMPTY_RESPONSE|ERR_CONNECTION/);
  const proxy = new Proxy();
  await proxy.listen();
  proxy.to(server.url);
  const context = await browser.newContext({ locale: "en-GB" });
  const page = await context.newPage();
  await guard.watch(page, new URL(proxy.url).origin);
  await page.addInitScript(rememberEvents);
  const { run, tasks } = await running(server, 8);
  await page.goto(`${proxy.url}ui/executions/${run.id}`);
  await drawing(page);
  await expect(live(page)).toContainText("live");
  const first = (await run.state()).seq + 1;

  const end = new AbortController();
  let n = 0;
  const send = async () => {
    while (!end.signal.aborted) {
      const { nodeId, attempt } = tasks[++n % tasks.length]!;
      await run.send(nodeId, "progress", { attempt, workerId: "w1", progress: n % 101 });
    }
  };
  const sending = send();
  const count = () => page.evaluate(() => (window as unknown as Told).arrived.length);
  try {
    for (let i = 0; i < 20; i++) {
      const before = await count();
      await expect.poll(count).toBeGreaterThan(before + 5);
      expect(proxy.cut(), "streams that were cut").toBe(1);
    }
  } finally {
    end.abort();
    await sending;
  }
  const { seq } = await run.state();
  await expect(page.locator(".slider")).toHaveAttribute("data-shown", String(seq));
  const arrived = await page.evaluate(() => (window as unknown as Told).arrived);
  const want = Array.from({ length: seq - first + 1 }, (_, i) => first + i);
  bar("stream cut 20 times: events", want.length, "");
  bar("stream cut 20 times: gaps", want.filter((s) => !arrived.includes(s)).length, "", { most: 0 });
  bar("stream cut 20 times: doubles", arrived.length - new Set(arrived).size, "", { most: 0 });
  await context.close();
  await proxy.close();
});
