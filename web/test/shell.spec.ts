import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import type { Page } from "@playwright/test";
import { expect, test } from "./fixture";
import { Proxy } from "./proxy";
import { Server } from "./server";

const order = `
nodes:
  - {nodeId: start, type: Start}
  - {nodeId: pack,  type: Task, queue: packing}
  - {nodeId: done,  type: Success}
edges:
  - {from: start, to: pack}
  - {from: pack, to: done}
`;

/** Registers the graph `order` and starts one execution of it. */
async function oneOrder(server: Server, key: string): Promise<string> {
  await server.api("PUT", "graphs/order", order, { "Content-Type": "application/yaml" });
  const body = { graphId: "order", businessKey: key, start: true };
  const { executionId } = await server.api<{ executionId: string }>("POST", "executions", body, {
    "X-Correlation-Id": `corr-${key}`,
  });
  return executionId;
}

const heading = (page: Page, name: string | RegExp) => page.getByRole("heading", { level: 1, name });

test("serves-at-root", async ({ page }) => {
  await page.goto("/");
  await expect(heading(page, "Overview")).toBeVisible();
  await expect(page.getByRole("navigation", { name: "Menu" })).toContainText("Executions");
  await expect(page).toHaveTitle("Overview · Renga");
});

test("deep-link-reloads", async ({ page }) => {
  await page.goto("/ui/executions?status=FAILED,CANCELED");
  await expect(heading(page, "Executions")).toBeVisible();
  const chip = page.getByRole("group", { name: "Filters" });
  await expect(chip).toContainText("Failed, Canceled");
  await page.reload();
  await expect(chip).toContainText("Failed, Canceled");
  await expect(page).toHaveURL(/status=FAILED,CANCELED/);
});

test("unknown-page-says-so", async ({ page }) => {
  await page.goto("/ui/no/such/page");
  await expect(page.getByRole("heading", { name: "There is no such page" })).toBeVisible();
  await expect(page.getByRole("main")).toContainText("no/such/page");
  await page.getByRole("main").getByRole("link", { name: "Go to Overview" }).click();
  await expect(heading(page, "Overview")).toBeVisible();
});

test("works-under-sub-path", async ({ browser, guard }) => {
  const proxy = new Proxy("/tools/renga/");
  await proxy.listen();
  const server = new Server(["--public-url", proxy.url]);
  await server.start();
  proxy.to(server.url);
  const context = await browser.newContext();
  try {
    const page = await context.newPage();
    await guard.watch(page, new URL(proxy.url).origin, "/tools/renga/");
    await oneOrder(server, "sub-path");
    await page.goto(proxy.url);
    await expect(heading(page, "Overview")).toBeVisible();
    await page.locator("#rail").getByRole("link", { name: "Queues" }).click();
    await expect(page).toHaveURL(`${proxy.url}ui/queues`);
    await expect(page.getByRole("table")).toContainText("packing");
    await page.reload();
    await expect(page.getByRole("table")).toContainText("packing");
  } finally {
    await context.close();
    await server.close();
    await proxy.close();
  }
});

test("theme-follows-system-and-sticks", async ({ page }) => {
  const background = () =>
    page.evaluate(() => getComputedStyle(document.body.parentElement!).backgroundColor);
  await page.emulateMedia({ colorScheme: "light" });
  await page.goto("/ui/settings");
  await expect(page.locator("html")).toHaveAttribute("data-theme", "light");
  const light = await background();
  await page.emulateMedia({ colorScheme: "dark" });
  await expect(page.locator("html")).toHaveAttribute("data-theme", "dark");
  expect(await background()).not.toBe(light);
  await page.getByRole("group", { name: "Theme" }).getByText("Light", { exact: true }).click();
  await expect(page.locator("html")).toHaveAttribute("data-theme", "light");
  await page.reload();
  await expect(page.locator("html")).toHaveAttribute("data-theme", "light");
  expect(await background()).toBe(light);
});

test("language-switches-all", async ({ page }) => {
  await page.goto("/ui/settings");
  await page.getByRole("group", { name: "Language" }).getByText("日本語").click();
  await expect(heading(page, "設定")).toBeVisible();
  await expect(page.locator("html")).toHaveAttribute("lang", "ja");
  const pages = ["概要", "実行", "待機中", "一括処理", "グラフ", "キュー", "設定"];
  for (const name of pages) {
    await page.locator("#rail").getByRole("link", { name, exact: true }).click();
    await expect(page).toHaveTitle(`${name} · Renga`);
    const text = await page.locator("body").innerText();
    for (const english of ["Overview", "Executions", "Settings", "No authentication", "Add filter"]) {
      expect(text, `${name} still shows English`).not.toContain(english);
    }
  }
});

test("zone-switch-changes-all-times", async ({ page, server }) => {
  const id = await oneOrder(server, `zone-${Date.now()}`);
  const { createdAt } = await server.api<{ createdAt: string }>("GET", `executions/${id}`);
  await page.goto("/ui/executions");
  const time = page.locator(`time[datetime="${createdAt}"]`).first();
  const inZone = (timeZone: string) => {
    const o = { timeZone, hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23" } as const;
    return new Intl.DateTimeFormat("en-GB", o).format(new Date(createdAt));
  };
  await expect(time).toContainText(inZone("Europe/Berlin"));
  for (const [choice, zone] of [
    ["JST", "Asia/Tokyo"],
    ["UTC", "UTC"],
    ["Local", "Europe/Berlin"],
  ] as const) {
    await page.getByRole("button", { name: "Time zone" }).click();
    await page.getByRole("menuitemradio", { name: choice }).click();
    await expect(time).toContainText(inZone(zone));
  }
  await time.hover();
  await expect(time).toHaveAttribute("title", /UTC[\s\S]*JST[\s\S]*ago|just now/);
});

test("keys-help-lists-all", async ({ page }) => {
  await page.goto("/");
  await expect(heading(page, "Overview")).toBeVisible();
  await page.keyboard.press("?");
  const list = page.getByRole("dialog");
  await expect(list).toContainText("Keys");
  // Every key that the code listens to everywhere is in the list, and does what the list says.
  const source = readFileSync(fileURLToPath(new URL("../src/kit/keys.ts", import.meta.url)), "utf8");
  const jumps = [...source.matchAll(/^ {2}(\w): "(\w+)",$/gm)].map((m) => [m[1]!, m[2]!] as const);
  expect(jumps.length).toBeGreaterThanOrEqual(7);
  for (const [letter] of jumps)
    await expect(list.locator("kbd").filter({ hasText: letter }).first()).toBeVisible();
  await page.keyboard.press("Escape");
  await expect(list).toBeHidden();
  for (const [letter, name] of jumps) {
    await page.keyboard.press("g");
    await page.keyboard.press(letter);
    await expect(page).toHaveURL(name === "overview" ? /\/ui\/$/ : new RegExp(`/ui/${name}$`));
  }
});

test("palette-jumps", async ({ page, server }) => {
  const id = await oneOrder(server, "palette-7");
  await page.goto("/ui/settings");
  await expect(heading(page, "Settings")).toBeVisible();
  const open = async (text: string) => {
    await page.keyboard.press("Control+k");
    await page.getByRole("combobox").fill(text);
  };
  await open("queu");
  await expect(page.getByRole("option")).toHaveCount(1);
  await page.keyboard.press("Enter");
  await expect(page).toHaveURL(/\/ui\/queues$/);
  for (const text of [id, "palette-7", "corr-palette-7"]) {
    await open(text);
    await expect(page.getByRole("option", { name: id.slice(-8) })).toHaveAttribute("aria-selected", "true");
    await page.keyboard.press("Enter");
    await expect(page).toHaveURL(new RegExp(`/ui/executions/${id}$`));
    await page.goBack();
    await expect(page).toHaveURL(/\/ui\/queues$/);
  }
});

test("keys-silent-during-ime", async ({ page }) => {
  await page.goto("/ui/queues");
  await expect(heading(page, "Queues")).toBeVisible();
  const composing = (key: string, ctrlKey = false) =>
    page.evaluate(
      (k) => {
        const init = { key: k.key, ctrlKey: k.ctrlKey, bubbles: true, cancelable: true, isComposing: true };
        (document.activeElement ?? document.body).dispatchEvent(new KeyboardEvent("keydown", init));
      },
      { key, ctrlKey },
    );
  await composing("?");
  await composing("k", true);
  await composing("g");
  await composing("o");
  await expect(page.getByRole("dialog")).toHaveCount(0);
  await expect(page).toHaveURL(/\/ui\/queues$/);
  // In the palette, Enter ends the composition of a word and opens nothing.
  await page.keyboard.press("Control+k");
  await composing("Enter");
  await expect(page.getByRole("dialog")).toBeVisible();
  await expect(page).toHaveURL(/\/ui\/queues$/);
  // Without an IME the same keys work.
  await page.keyboard.press("Enter");
  await expect(page).toHaveURL(/\/ui\/$/);
});

test("offline-banner-and-catch-up", async ({ page, context, server, guard }) => {
  guard.allow("ERR_INTERNET_DISCONNECTED");
  await oneOrder(server, `offline-a-${Date.now()}`);
  await page.goto("/ui/executions");
  await expect(page.getByRole("table")).toContainText("offline-a");
  await context.setOffline(true);
  await expect(page.getByText("You are offline.")).toBeVisible();
  await oneOrder(server, `offline-b-${Date.now()}`);
  await context.setOffline(false);
  await expect(page.getByText("You are offline.")).toBeHidden();
  // What came meanwhile waits in a pill, as all new rows do.
  await page.getByRole("button", { name: "1 new execution" }).click();
  await expect(page.getByRole("table")).toContainText("offline-b");
});

test("seven-tabs-all-load", async ({ context, guard, server }) => {
  const origin = new URL(server.url).origin;
  for (let i = 0; i < 7; i++) {
    const tab = await context.newPage();
    await guard.watch(tab, origin);
    await tab.goto(`${server.url}/ui/executions`);
    await expect(tab.getByRole("heading", { level: 1, name: "Executions" })).toBeVisible();
    await expect(tab.getByRole("main")).toContainText(/\d+ executions/);
  }
});

test("storage-holds-only-preferences", async ({ page, context, server }) => {
  await oneOrder(server, `stored-${Date.now()}`);
  await page.goto("/ui/settings");
  await page.getByRole("group", { name: "Theme" }).getByText("Dark", { exact: true }).click();
  await page.getByRole("group", { name: "Density" }).getByText("Compact").click();
  for (const name of ["Executions", "Queues", "Overview"]) {
    await page.locator("#rail").getByRole("link", { name, exact: true }).click();
    await expect(heading(page, name)).toBeVisible();
  }
  const stored = await page.evaluate(async () => ({
    local: { ...localStorage },
    session: { ...sessionStorage },
    databases: await indexedDB.databases(),
    caches: await caches.keys(),
  }));
  const allowed = ["theme", "zone", "language", "density", "columns", "views"].map((n) => `renga.${n}`);
  for (const key of Object.keys(stored.local)) expect(allowed).toContain(key);
  expect(stored.local["renga.theme"]).toBe('"dark"');
  expect(stored.session).toEqual({});
  expect(stored.databases).toEqual([]);
  expect(stored.caches).toEqual([]);
  expect(await context.cookies()).toEqual([]);
});
