import type { Browser, BrowserContext, Page } from "@playwright/test";
import { bar, executions, expect, five, forSeconds, frames, heap, median, quantile } from "./measure";
import { test, until, watchActs } from "./measure";

// The first load, and the list of many executions.

test.describe.configure({ mode: "default", timeout: 1_200_000 });

const rows = '[role="table"][aria-label="Executions"]';
const number = '[data-status="COMPLETED"] .ov-number-count';

/** A page of a browser that knows nothing yet. */
async function stranger(browser: Browser): Promise<[BrowserContext, Page]> {
  const context = await browser.newContext({ locale: "en-GB", viewport: { width: 1280, height: 800 } });
  return [context, await context.newPage()];
}

interface Load {
  paint: number;
  data: number;
}

/** How long the document takes to its first paint, and to the numbers of Overview. */
async function load(page: Page, begin: () => Promise<unknown>): Promise<Load> {
  await begin();
  const read = () =>
    page.evaluate(() => {
      const [paint] = performance.getEntriesByName("first-contentful-paint");
      return { paint: paint?.startTime ?? 0, data: (window as unknown as { data?: number }).data ?? 0 };
    });
  await expect.poll(async () => Math.min(...Object.values(await read()))).toBeGreaterThan(0);
  return read();
}

test("first load", async ({ browser, crowd }) => {
  const cold: Load[] = [];
  const warm: Load[] = [];
  const bytes: number[] = [];
  for (let i = 0; i < 5; i++) {
    const [context, page] = await stranger(browser);
    await page.addInitScript((selector) => {
      const look = () => {
        if (!/\d/.test(document.querySelector(selector)?.textContent ?? ""))
          return void requestAnimationFrame(look);
        setTimeout(() => ((window as unknown as { data: number }).data = performance.now()));
      };
      requestAnimationFrame(look);
    }, number);
    const sizes: Promise<number>[] = [];
    page.on("requestfinished", (r) => {
      if (/\.(js|css)$/.test(new URL(r.url()).pathname))
        sizes.push(r.sizes().then((s) => s.responseBodySize));
    });
    cold.push(await load(page, () => page.goto(`${crowd.url}/ui/`)));
    bytes.push((await Promise.all(sizes)).reduce((a, b) => a + b, 0) / 1000);
    warm.push(await load(page, () => page.reload()));
    await context.close();
  }
  bar("first load: first paint", median(cold.map((l) => l.paint)), "ms", { most: 600 });
  bar("first load: data on Overview", median(cold.map((l) => l.data)), "ms", { most: 1200 });
  bar("warm load: first paint", median(warm.map((l) => l.paint)), "ms", { most: 300 });
  bar("warm load: data on Overview", median(warm.map((l) => l.data)), "ms");
  bar("first load: scripts and styles, compressed (aim 180)", median(bytes), "kB", { most: 250 });
});

test("list of many executions", async ({ browser, crowd }) => {
  const many = executions.toLocaleString("en-GB");
  const { total } = await crowd.api<{ total: number }>("GET", "executions?page_size=10");
  expect(total).toBeGreaterThanOrEqual(executions);
  const first = await five(async () => {
    const [context, page] = await stranger(browser);
    await watchActs(page);
    await page.goto(`${crowd.url}/ui/queues`);
    await expect(page.getByRole("heading", { level: 1, name: "Queues" })).toBeVisible();
    const link = page.locator("#rail").getByRole("link", { name: "Executions" });
    const ms = await until(page, () => link.click(), {
      selector: `${rows} [aria-rowindex="2"]`,
      text: "bench",
    });
    await context.close();
    return ms;
  });
  bar(`list of ${many}: first page`, first, "ms", { most: 400 });

  const [context, page] = await stranger(browser);
  await watchActs(page);
  await page.goto(`${crowd.url}/ui/executions`);
  await expect(page.locator(`${rows} [aria-rowindex="2"]`)).toContainText("bench");
  const field = page.getByLabel("Go to row");
  const jumps: number[] = [];
  for (const part of [0.25, 0.5, 0.75, 0.999]) {
    const jump = (i: number) => {
      const row = Math.floor(total * part) - i * 501;
      return until(
        page,
        async () => {
          await field.fill(String(row));
          await field.press("Enter");
        },
        { selector: `${rows} [aria-rowindex="${row + 1}"]`, text: "bench" },
      );
    };
    jumps.push(await five(jump));
  }
  bar(`list of ${many}: jump (slowest of four places)`, Math.max(...jumps), "ms", { most: 400 });

  const list = page.locator(rows).getByRole("rowgroup").last();
  await list.hover();
  const times = await frames(page, () => forSeconds(5, () => page.mouse.wheel(0, 120)));
  bar(`list of ${many}: scrolling, frame p95`, quantile(times, 0.95), "ms", { most: 33 });
  bar(`list of ${many}: heap afterwards`, await heap(page), "MB", { most: 150 });
  await context.close();
});

test("search", async ({ browser, crowd }) => {
  const body = { graphId: "bench", businessKey: "K-4711" };
  const { executionId } = await crowd.api<{ executionId: string }>("POST", "executions", body);
  const [context, page] = await stranger(browser);
  await watchActs(page);
  await page.goto(`${crowd.url}/ui/settings`);
  await expect(page.getByRole("heading", { level: 1, name: "Settings" })).toBeVisible();
  const open = await five(async () => {
    const ms = await until(page, () => page.keyboard.press("Control+k"), { selector: '[role="combobox"]' });
    await page.keyboard.press("Escape");
    await expect(page.getByRole("combobox")).toHaveCount(0);
    return ms;
  });
  bar("palette opens", open, "ms", { most: 50 });
  const hits: number[] = [];
  for (let i = 0; i < 5; i++) {
    await page.reload(); // what was found before is not asked for again
    await expect(page.getByRole("heading", { level: 1, name: "Settings" })).toBeVisible();
    await page.keyboard.press("Control+k");
    await page.getByRole("combobox").pressSequentially("K-471");
    const found = { selector: '[role="option"]', text: executionId.slice(-8) };
    hits.push(await until(page, () => page.keyboard.press("1"), found));
  }
  bar("palette: first hits after the last key", median(hits), "ms", { most: 150 });
  await context.close();
});
