import { expect, test } from "./fixture";

// A server of its own, on which nothing has run: other flags than those of other tests make one.
test.use({ serverArgs: ["--rate", "pdca.read=unlimited"] });

test("tour-runs-to-the-end", async ({ page, guard, server }) => {
  // The report that comes too late is refused, which is what the tour is about.
  guard.allow(/409 \(Conflict\).*deliver\/success/);
  await page.goto("/ui/");
  await expect(page.getByRole("heading", { name: "Nothing has run here yet" })).toBeVisible();
  await page.getByRole("link", { name: "Try it" }).click();
  await page.getByRole("button", { name: "Store the graph and start it" }).click();
  const approve = page.getByRole("button", { name: "Approve" });
  await expect(approve).toBeVisible();
  // Where it stands is read from the executions.
  await page.reload();
  await approve.click();
  await page.getByRole("button", { name: "Start another one" }).click();
  const cancel = page.getByRole("button", { name: "Cancel 1 execution" });
  await expect(cancel).toBeEnabled();
  await page.reload();
  await cancel.click();
  await expect(page.getByRole("heading", { name: "Nothing was lost" })).toBeVisible();
  await expect(page.getByRole("main")).toContainText("R-deliver");
  interface Item {
    executionId: string;
    status: string;
    outcome?: string;
  }
  const { items } = await server.api<{ items: Item[] }>("GET", "executions?graphId=tour");
  expect(items.map((e) => [e.status, e.outcome])).toEqual([
    ["CANCELED", undefined],
    ["COMPLETED", "delivered"],
  ]);
});
