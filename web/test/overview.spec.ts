import type { Page } from "@playwright/test";
import { expect, test } from "./fixture";
import { pallet } from "./waits";

const number = (page: Page, status: string) => page.locator(`[data-status="${status}"] .ov-number-count`);
const shown = (n: number) => n.toLocaleString("en-GB");
const read = async (page: Page, status: string) =>
  Number((await number(page, status).textContent())?.replaceAll(",", ""));

test("counts-equal-api", async ({ page, server }) => {
  for (const key of ["c-1", "c-2", "c-3"]) await pallet(server, key);
  await page.goto("/ui/");
  interface Counts {
    items: { status: string; count: number }[];
  }
  const { items } = await server.api<Counts>("GET", "executions/counts?groupBy=status");
  for (const status of ["ACTIVE", "COMPLETED", "FAILED", "CANCELED"]) {
    const want = items.find((i) => i.status === status)?.count ?? 0;
    await expect(number(page, status)).toHaveText(shown(want));
  }
  // All of it fits without scrolling.
  const [all, seen] = await page.evaluate(() => [document.documentElement.scrollHeight, innerHeight]);
  expect(all).toBe(seen);
  await number(page, "ACTIVE").click();
  await expect(page).toHaveURL(/\/ui\/executions\?status=ACTIVE$/);
});

test("live-count-changes", async ({ page, server }) => {
  await pallet(server, "live-0");
  // It is told of changes, and does not ask each second.
  const stream = page.waitForRequest(/\/executions\/stream$/);
  await page.goto("/ui/");
  await stream;
  await expect(number(page, "ACTIVE")).toHaveText(/\d/);
  const before = await read(page, "ACTIVE");
  const canceled = await read(page, "CANCELED");
  const id = await pallet(server, "live-1");
  await expect(number(page, "ACTIVE")).toHaveText(shown(before + 1));
  await server.api("POST", `executions/${id}/cancel`, { reason: "enough" });
  await expect(number(page, "ACTIVE")).toHaveText(shown(before));
  await expect(number(page, "CANCELED")).toHaveText(shown(canceled + 1));
});

test("needs-you-order", async ({ page, server }) => {
  await pallet(server, "needs-1");
  await pallet(server, "needs-2");
  await page.goto("/ui/");
  const rows = page.locator("[data-need]");
  await expect(rows.first()).toBeVisible();
  const { items, total } = await server.api<{ items: { since: string }[]; total: number }>("GET", "waits");
  await expect(page.locator("[data-total]")).toHaveAttribute("data-total", String(total));
  const shown = await rows.evaluateAll((all) => all.map((r) => (r as HTMLElement).dataset.since ?? ""));
  expect(shown).toEqual(items.slice(0, 8).map((i) => i.since));
  expect(shown).toEqual([...shown].sort());
  await rows.first().getByRole("link").click();
  await expect(page.getByRole("article", { name: "Which shelf?" })).toBeVisible();
});
