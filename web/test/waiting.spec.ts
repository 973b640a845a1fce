import type { Page } from "@playwright/test";
import { expect, test } from "./fixture";
import { pallet, waiting } from "./waits";

const managers = `
nodes:
  - {nodeId: start, type: Start}
  - {nodeId: approve, type: Wait, assignees: {roles: [Manager]}, prompt: {title: "Pay this claim?"}}
  - {nodeId: done, type: Success}
edges:
  - {from: start, to: approve}
  - {from: approve, to: done}
`;

const option = (page: Page, key: string) => page.getByRole("option", { name: key });

test("waits-are-answered-by-keyboard", async ({ page, server }) => {
  const first = await pallet(server, "keys-1", "shelf-keys");
  await pallet(server, "keys-2", "shelf-keys");
  await page.goto("/ui/waiting?graph=shelf-keys");
  await expect(option(page, "keys-2")).toBeVisible();
  await page.keyboard.press("j");
  await expect(option(page, "keys-1")).toHaveAttribute("aria-selected", "true");
  await page.getByRole("listbox").focus();
  await page.keyboard.press("ArrowDown");
  await expect(option(page, "keys-2")).toHaveAttribute("aria-selected", "true");
  await page.keyboard.press("ArrowUp");
  await expect(page.getByRole("article")).toContainText("keys-1");
  const boxes = page.getByRole("textbox", { name: "Boxes" });
  await expect(boxes).toBeVisible();
  await page.keyboard.press("Enter");
  await expect(boxes).toBeFocused();
  await page.keyboard.type("12");
  await page.keyboard.press("Enter");
  await expect(option(page, "keys-1")).toHaveCount(0);
  await expect(option(page, "keys-2")).toHaveAttribute("aria-selected", "true");
  await expect(page.getByRole("listbox")).toBeFocused();
  const done = await server.api<{ status: string; nodes: { nodeId: string; output?: unknown }[] }>(
    "GET",
    `executions/${first}`,
  );
  expect(done.status).toBe("COMPLETED");
  expect(done.nodes.find((n) => n.nodeId === "choose")?.output).toEqual({ boxes: 12 });
});

test("output-problem-stands-at-its-field", async ({ page, server, guard }) => {
  guard.allow("422 (Unprocessable");
  const id = await pallet(server, "problem-1");
  await page.goto(`/ui/waiting?at=${id}:choose`);
  const boxes = page.getByRole("textbox", { name: "Boxes" });
  await boxes.fill("99");
  await page.getByRole("button", { name: "Resume" }).click();
  await expect(boxes).toHaveAttribute("aria-invalid", "true");
  await expect(boxes).toHaveAccessibleDescription(/maximum/);
  await expect(page.getByRole("alert")).toContainText("does not fit");
  await boxes.fill("4");
  await page.getByRole("button", { name: "Resume" }).click();
  await expect(page.getByText("choose was resumed.")).toBeVisible();
});

test("resume-of-a-cancelled-wait-explains-itself", async ({ page, server, guard }) => {
  guard.allow("409 (Conflict)");
  const id = await pallet(server, "cancelled-1");
  await page.goto(`/ui/waiting?at=${id}:choose`);
  await page.getByRole("textbox", { name: "Boxes" }).fill("4");
  await server.api("POST", `executions/${id}/cancel`, { reason: "the truck left" });
  await page.getByRole("button", { name: "Resume" }).click();
  await expect(page.getByRole("alert")).toContainText("The execution was cancelled meanwhile");
  await expect(page.getByRole("main").getByRole("status")).toContainText("the truck left");
});

test("resume-by-somebody-else-says-for-whom-it-is", async ({ page, server, guard }) => {
  guard.allow("403 (Forbidden)");
  const id = await waiting(server, "claim", managers, "claim-1");
  await page.goto(`/ui/waiting?at=${id}:approve`);
  await expect(page.getByRole("article")).toContainText("Manager");
  await page.getByRole("button", { name: "Resume" }).click();
  await expect(page.getByRole("alert")).toContainText("It is for Manager.");
});
