import type { Page } from "@playwright/test";
import { expect, test } from "./fixture";
import { chain, fan, Run, task, wide } from "./flow";

// The timeline of an execution.

const drawing = (page: Page) => page.getByRole("application", { name: /^Timeline/ });
const twin = (page: Page) => page.getByRole("table", { name: "The timeline as a table" });
const row = (page: Page, node: string) =>
  twin(page)
    .getByRole("row")
    .filter({ has: page.getByRole("button", { name: node, exact: true }) });

/** How many pixels of the drawing have a colour of a theme. */
function pixels(page: Page, variable: string): Promise<number> {
  return drawing(page)
    .locator("canvas")
    .evaluate((el, name) => {
      const canvas = el as HTMLCanvasElement;
      const c = canvas.getContext("2d");
      const hex = getComputedStyle(canvas).getPropertyValue(name).trim();
      const want = [1, 3, 5].map((i) => parseInt(hex.slice(i, i + 2), 16));
      const data = c?.getImageData(0, 0, canvas.width, canvas.height).data ?? [];
      let n = 0;
      for (let i = 0; i < data.length; i += 4) {
        if (want.every((v, k) => Math.abs((data[i + k] ?? 0) - v) < 3) && data[i + 3] === 255) n++;
      }
      return n;
    }, variable);
}

test("timeline-shows-attempts-and-backoff", async ({ page, server }) => {
  const retry = { maxAttempts: 3, initialInterval: "200ms" };
  const run = await Run.of(server, chain(task("pay", { retry }), { nodeId: "ask", type: "Wait" }));
  await run.fail(await run.claim("pay"), { code: "BANK_DOWN", message: "no answer" });
  await run.succeed(await run.claim("pay", "w2"), {}, "w2");
  await run.open(page, "tab=timeline");
  await expect(drawing(page)).toHaveAttribute("data-rows", "2");
  await expect(drawing(page)).toHaveAttribute("data-attempts", "3");
  await expect(row(page, "pay")).toContainText("2");
  await expect(row(page, "pay").getByRole("cell").last()).toHaveText(/\d+ ms|\d.* s/);
  // A failed attempt, one that succeeded, and a wait are drawn.
  await expect.poll(() => pixels(page, "--state-failed")).toBeGreaterThan(0);
  await expect.poll(() => pixels(page, "--state-succeeded")).toBeGreaterThan(0);
  await expect.poll(() => pixels(page, "--state-waiting")).toBeGreaterThan(0);
  // Keys zoom, walk and open.
  await drawing(page).focus();
  const shown = async () => Number(await drawing(page).getAttribute("data-to"));
  const whole = await shown();
  await page.keyboard.press("+");
  await expect.poll(shown).toBeLessThan(whole);
  await expect(page).toHaveURL(/range=\d+-\d+/);
  await page.keyboard.press("0");
  await expect(page).not.toHaveURL(/range=/);
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("Enter");
  await expect(page).toHaveURL(/node=pay/);
  // After a cancel its fence is there.
  await run.cancel();
  await expect(page.getByRole("list", { name: "Legend" })).toContainText("Cancel");
});

test("only-failed", async ({ page, server }) => {
  const run = await Run.of(server, fan([task("good"), task("bad"), task("slow")], { policy: "ALL_DONE" }));
  await run.succeed(await run.claim("good"));
  await run.fail(await run.claim("bad"), { code: "NO", message: "no", final: true });
  await run.open(page, "tab=timeline");
  await expect(drawing(page)).toHaveAttribute("data-rows", "3");
  await page.getByLabel("Only failed").check();
  await expect(drawing(page)).toHaveAttribute("data-rows", "1");
  await expect(row(page, "bad")).toBeVisible();
  await expect(page).toHaveURL(/failed=1/);
  await page.reload();
  await expect(drawing(page)).toHaveAttribute("data-rows", "1");
  await page.getByLabel("Only failed").uncheck();
  await page.getByLabel("Hide succeeded").check();
  await expect(drawing(page)).toHaveAttribute("data-rows", "2");
  await expect(row(page, "good")).toHaveCount(0);
});

test("timeline-ten-thousand", async ({ page, server }) => {
  const run = await Run.of(server, wide(2_000));
  await run.workAll("many");
  expect((await run.state()).seq).toBeGreaterThanOrEqual(10_000);
  await run.open(page);
  await page.getByRole("tab", { name: "Timeline" }).click();
  await expect(drawing(page)).toHaveAttribute("data-rows", "2000");
  await expect.poll(() => pixels(page, "--state-succeeded")).toBeGreaterThan(100);
  // Only what is in view is drawn: the last row is a key away, and the twin has it too.
  await drawing(page).focus();
  await page.keyboard.press("End");
  await page.keyboard.press("Enter");
  await expect(page).toHaveURL(/node=t\d+/);
  await expect(twin(page)).toHaveAttribute("aria-rowcount", "2001");
});
