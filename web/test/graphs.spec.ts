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
  await expect(changed.locator('[data-tone="changed"]')).toContainText("charge");
  await expect(changed.locator('[data-tone="added"]').first()).toContainText("mail");
  await expect(node(page, "mail")).toHaveClass(/tone-added/);
  await expect(node(page, "charge")).toHaveClass(/tone-changed/);
  await changed.getByText("Text", { exact: true }).click();
  await expect(changed.locator('[data-kind="added"]').first()).toContainText("maxAttempts: 5");
  await expect(changed.locator('[data-kind="removed"]').first()).toContainText("maxAttempts: 3");
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
