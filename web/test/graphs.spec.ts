import type { Page } from "@playwright/test";
import { expect, test } from "./fixture";
import type { Server } from "./server";

const first = `
nodes:
  - {nodeId: start, type: Start}
  - {nodeId: charge, type: Task, retry: {maxAttempts: 3}}
  - {nodeId: done, type: Success}
edges:
  - {from: start, to: charge}
  - {from: charge, to: done}
`;
const second = first
  .replace("maxAttempts: 3", "maxAttempts: 5")
  .replace("{from: start, to: charge}", "{from: start, to: charge, when: input.total > 0}")
  .replace("  - {nodeId: done", "  - {nodeId: mail, type: Task}\n  - {nodeId: done")
  .replace("{from: charge, to: done}", "{from: charge, to: mail}\n  - {from: mail, to: done}");

async function put(server: Server, id: string, text: string) {
  await server.api("PUT", `graphs/${id}`, text, { "Content-Type": "application/yaml" });
}

const node = (page: Page, id: string) => page.locator(`[data-node="${id}"]`);

test("version-diff", async ({ page, server }) => {
  await put(server, "compared", first);
  await put(server, "compared", second);
  await page.goto("/ui/graphs/compared?tab=versions");
  const changed = page.getByRole("region", { name: "What changed" });
  await expect(changed.locator('li[data-tone="changed"]').first()).toContainText("charge");
  await expect(changed.locator('[data-tone="added"]').first()).toContainText("mail");
  await expect(node(page, "mail")).toHaveClass(/tone-added/);
  await expect(node(page, "charge")).toHaveClass(/tone-changed/);
  await expect(node(page, "charge")).toContainText("~ changed");
  // Edges too, with a word: colour alone would not do.
  const edge = (name: string) => changed.locator(`[data-edge="${name}"]`);
  await expect(edge("charge→mail")).toContainText("+ added");
  await expect(edge("charge→done")).toContainText("− removed");
  await expect(edge("start→charge")).toHaveAttribute("data-tone", "changed");
  await expect(changed.locator('li[data-tone="changed"]').last()).toContainText("start → charge");
  await changed.getByText("Text", { exact: true }).click();
  await expect(changed.locator('[data-kind="added"]').first()).toContainText("maxAttempts: 5");
  await expect(changed.locator('[data-kind="removed"]').first()).toContainText("maxAttempts: 3");
});

test("graph-fits-again-after-resize", async ({ page, server }) => {
  await put(server, "resized", second);
  await page.goto("/ui/graphs/resized");
  await expect(node(page, "done")).toBeVisible();
  const inside = () =>
    page.evaluate(() => {
      const area = document.querySelector(".graph-area")!.getBoundingClientRect();
      return [...document.querySelectorAll(".graph-svg [data-node]")].every((n) => {
        const r = n.getBoundingClientRect();
        return r.left >= area.left && r.right <= area.right && r.top >= area.top && r.bottom <= area.bottom;
      });
    });
  await expect.poll(inside).toBe(true);
  await page.setViewportSize({ width: 800, height: 800 });
  await expect.poll(inside).toBe(true);
});

test("check-as-you-type-names-line", async ({ page, server }) => {
  await put(server, "checked", first);
  await page.goto("/ui/graphs/checked?tab=edit");
  const verdict = page.locator(".graph-verdict");
  await expect(verdict).toContainText("nothing to store");
  await page.locator(".cm-line", { hasText: "from: charge" }).click();
  await page.keyboard.press("End");
  await page.keyboard.press("Enter");
  await page.keyboard.insertText("- {from: charge, to: nowhere}");
  await expect(verdict).toContainText("nowhere");
  await expect(verdict.getByRole("button")).toHaveText("Line 8:");
  await expect(page.locator(".cm-lint-marker-error")).toBeVisible();
});

test("simulate-plays", async ({ page, server }) => {
  await put(server, "played", first);
  await page.goto("/ui/graphs/played?tab=simulate");
  const result = page.locator(".graph-sim-result");
  await expect(result).toHaveAttribute("data-status", "COMPLETED");
  await page.getByLabel("charge").selectOption({ label: "fails for good" });
  await expect(result).toHaveAttribute("data-status", "FAILED");
  await expect(node(page, "charge")).toHaveAttribute("data-status", "FAILED");
  // The list on ? has the keys of the page, too.
  await page.getByRole("heading", { level: 1 }).click();
  await page.keyboard.press("?");
  const keys = page.getByRole("dialog");
  await expect(keys).toContainText("This page");
  await expect(keys.getByText("One command back")).toBeVisible();
  await expect(keys.locator("kbd").filter({ hasText: "[" })).toBeVisible();
  await page.keyboard.press("Escape");
  await page.getByRole("button", { name: "One command back" }).click();
  await expect(node(page, "charge")).toHaveAttribute("data-status", "RUNNING");
});

test("store-new-version", async ({ page, server }) => {
  await put(server, "stored", first);
  await server.api("POST", "executions", { graphId: "stored", start: true });
  await page.goto("/ui/graphs/stored?tab=edit");
  await page.locator(".cm-line", { hasText: "maxAttempts: 3" }).click();
  await page.keyboard.press("End");
  await page.keyboard.insertText(" # three");
  await expect(page.locator(".graph-verdict")).toContainText("nothing to store");
  for (let i = 0; i < "3}} # three".length; i++) await page.keyboard.press("Backspace");
  await page.keyboard.insertText("4}}");
  await page.getByRole("button", { name: "Store …" }).click();
  await page.getByRole("button", { name: "Store as v2" }).click();
  await expect(page.locator(".graph-stored")).toContainText("Stored as v2");
  await expect(page.locator(".graph-stored")).toContainText("v1: 1");
  const now = await server.api<{ version: number }>("GET", "graphs/stored");
  expect(now.version).toBe(2);
});

test("editor-shadow-root-csp", async ({ page, server, guard }) => {
  await put(server, "secure", first);
  await page.goto("/ui/graphs/secure?tab=edit");
  await expect(page.locator(".cm-content")).toContainText("nodeId: charge");
  const inShadow = await page.locator("[data-editor]").evaluate((e) => {
    const root = e.shadowRoot;
    return { editor: root?.querySelector(".cm-editor") !== null, sheets: root?.adoptedStyleSheets.length };
  });
  expect(inShadow.editor).toBe(true);
  expect(inShadow.sheets).toBeGreaterThan(1);
  expect(guard.seen()).toEqual([]);
});

test("edit-is-offered-again", async ({ page, server }) => {
  await put(server, "left", first);
  await page.goto("/ui/graphs/left?tab=edit");
  const editor = page.locator(".cm-content");
  const leave = async () => {
    await page.locator("#rail").getByRole("link", { name: "Queues" }).click();
    await expect(page.getByRole("heading", { level: 1, name: "Queues" })).toBeVisible();
    await page.goBack();
  };
  await page.locator(".cm-line", { hasText: "maxAttempts: 3" }).click();
  await page.keyboard.press("End");
  await page.keyboard.insertText(" # mine");
  await expect(editor).toContainText("# mine");
  // The browser asks before the edit is gone.
  page.once("dialog", (d) => void d.dismiss());
  const asked = page.waitForEvent("dialog");
  await page.evaluate(() => setTimeout(() => location.reload()));
  expect((await asked).type()).toBe("beforeunload");
  await expect(editor).toContainText("# mine");

  await leave();
  const offer = page.locator(".graph-offer");
  await expect(offer).toContainText("an edit of v1 here that is not stored");
  await expect(editor).toContainText("nodeId: charge");
  await expect(editor).not.toContainText("# mine");
  // It is still there for whoever looks and leaves.
  await leave();
  await offer.getByRole("button", { name: "Go on with it" }).click();
  await expect(editor).toContainText("# mine");
  await expect(offer).toHaveCount(0);

  await leave();
  await offer.getByRole("button", { name: "Discard the edit" }).click();
  await expect(offer).toHaveCount(0);
  await leave();
  await expect(editor).toContainText("nodeId: charge");
  await expect(offer).toHaveCount(0);
  const stored = await page.evaluate(() => ({ ...sessionStorage, ...localStorage }));
  expect(JSON.stringify(stored)).not.toContain("mine");
});
