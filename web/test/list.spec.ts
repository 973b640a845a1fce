import type { Page } from "@playwright/test";
import { expect, test } from "./fixture";
import type { Server } from "./server";

// The list of executions, bulks and queues. All tests of a worker share its server: each has graphs of its own.

const yaml = { "Content-Type": "application/yaml" };

/** A graph of one task, in a queue of its own. */
async function oneTask(server: Server, graph: string) {
  const nodes = `nodes:
  - {nodeId: start, type: Start}
  - {nodeId: work, type: Task, queue: ${graph}}
  - {nodeId: done, type: Success, outcome: paid}
edges:
  - {from: start, to: work}
  - {from: work, to: done}
`;
  await server.api("PUT", `graphs/${graph}`, nodes, yaml);
}

interface Results {
  results: { executionId: string; status: number }[];
}

/** Start n executions of a graph. Answers their ids, the oldest first. */
async function startMany(server: Server, graph: string, n: number, more: object = {}): Promise<string[]> {
  const ids: string[] = [];
  while (ids.length < n) {
    const commands = Array.from({ length: Math.min(500, n - ids.length) }, () => ({
      command: "CreateExecution",
      idempotencyKey: crypto.randomUUID(),
      graphId: graph,
      start: true,
      ...more,
    }));
    const { results } = await server.api<Results>("POST", "commands", { commands });
    expect(results.filter((r) => r.status !== 202)).toEqual([]);
    ids.push(...results.map((r) => r.executionId));
  }
  return ids;
}

/** Claim a task of a queue and complete it. Answers the id of its execution. */
async function workOne(server: Server, queue: string): Promise<string> {
  const claim = { workerId: "w1", queues: [queue], max: 1 };
  const { tasks } = await server.api<{ tasks: { executionId: string; attempt: number }[] }>(
    "POST",
    "tasks/claim",
    claim,
  );
  const task = tasks[0];
  if (!task) throw new Error(`the queue ${queue} has no task`);
  const done = { attempt: task.attempt, workerId: "w1", output: {} };
  await server.api("POST", `executions/${task.executionId}/nodes/work/success`, done);
  return task.executionId;
}

const rows = (page: Page, table = "Executions") => page.getByRole("table", { name: table });
const firstRow = (page: Page) => rows(page).locator('[aria-rowindex="2"]');
const short = (id: string | undefined) => (id ?? "none").slice(-8);
const menu = async (page: Page, button: string | RegExp, item: string | RegExp) => {
  await page.getByRole("main").getByRole("button", { name: button }).click();
  await page.getByRole("menuitem", { name: item }).click();
};

test("filter-in-url", async ({ page, server }) => {
  await oneTask(server, "filtered");
  await startMany(server, "filtered", 3, { labels: { region: "eu" } });
  await startMany(server, "filtered", 2, { labels: { region: "us" } });
  await workOne(server, "filtered");
  await page.goto("/ui/executions");
  await menu(page, "Add filter", "Graph");
  await page.getByRole("dialog").getByLabel("Value").fill("filtered");
  await page.getByRole("dialog").getByRole("button", { name: "Apply" }).click();
  await expect(page).toHaveURL(/\?graphId=filtered$/);
  await expect(page.getByText("5 executions", { exact: true })).toBeVisible();
  await page.getByRole("button", { name: /^Active/ }).click();
  await expect(page).toHaveURL(/status=ACTIVE/);
  await expect(page.getByText("4 executions", { exact: true })).toBeVisible();
  await menu(page, "Add filter", "Label");
  await page.getByRole("dialog").getByLabel("Value").fill("region:us");
  await page.getByRole("dialog").getByRole("button", { name: "Apply" }).click();
  await expect(page.getByText("2 executions", { exact: true })).toBeVisible();
  await expect(page).toHaveURL(/label=region:us/);
  await page.reload();
  await expect(page.getByText("2 executions", { exact: true })).toBeVisible();
  await expect(page.getByRole("group", { name: "Filters" })).toContainText("region:us");
  const same = await server.api<{ total: number }>(
    "GET",
    "executions?graphId=filtered&status=ACTIVE&label=region:us",
  );
  expect(same.total).toBe(2);
  await page.getByRole("button", { name: "Clear filters" }).click();
  await expect(page).toHaveURL(/\/ui\/executions$/);
});

test("named-view", async ({ page, server }) => {
  await oneTask(server, "viewed");
  await startMany(server, "viewed", 2);
  await page.goto("/ui/executions?graphId=viewed&status=ACTIVE");
  await menu(page, "Views", /^Save this view/);
  await page.getByRole("dialog").getByLabel("Name").fill("Mine");
  await page.getByRole("dialog").getByRole("button", { name: "Save" }).click();
  await expect(page.getByRole("main").getByRole("button", { name: "Mine" })).toBeVisible();
  await page.goto("/ui/executions");
  await expect(rows(page)).toBeVisible();
  await page.getByRole("main").getByRole("button", { name: "Views" }).click();
  await page.getByRole("menuitemradio", { name: "Mine" }).click();
  await expect(page).toHaveURL(/graphId=viewed/);
  await expect(page).toHaveURL(/status=ACTIVE/);
  await expect(page.getByText("2 executions", { exact: true })).toBeVisible();
  await menu(page, "Mine", /^Delete the view/);
  await expect(page.getByRole("main").getByRole("button", { name: "Views" })).toBeVisible();
  await page.getByRole("button", { name: "Undo" }).click();
  await expect(page.getByRole("main").getByRole("button", { name: "Mine" })).toBeVisible();
});

test("jump-to-last-of-many", async ({ page, server }) => {
  await oneTask(server, "many");
  const ids = await startMany(server, "many", 1500);
  await page.goto("/ui/executions?graphId=many");
  await expect(firstRow(page)).toContainText(short(ids.at(-1)));
  await page.getByRole("button", { name: "Last", exact: true }).click();
  await expect(rows(page).locator('[aria-rowindex="1501"]')).toContainText(short(ids[0]));
  await expect(page).toHaveURL(/row=\d+/);
  const at = Number(new URL(page.url()).searchParams.get("row"));
  await page.reload();
  await expect(rows(page).locator(`[aria-rowindex="${at + 1}"]`)).toContainText(short(ids[1500 - at]));
  await page.getByLabel("Go to row").fill("700");
  await page.keyboard.press("Enter");
  await expect(rows(page).locator('[aria-rowindex="701"]')).toContainText(short(ids[1500 - 700]));
  await rows(page).getByRole("rowgroup").focus();
  await page.keyboard.press("Home");
  await expect(firstRow(page)).toContainText(short(ids.at(-1)));
});

test("new-rows-pill", async ({ page, server }) => {
  await oneTask(server, "fresh");
  const [old] = await startMany(server, "fresh", 1);
  await page.goto("/ui/executions?graphId=fresh");
  await expect(firstRow(page)).toContainText(short(old));
  await expect(page.getByRole("status", { name: "Connection" })).toContainText("live");
  const fresh = await startMany(server, "fresh", 3);
  const pill = page.getByRole("button", { name: "3 new executions" });
  await expect(pill).toBeVisible();
  await expect(firstRow(page)).toContainText(short(old));
  await expect(page.getByText("1 execution", { exact: true })).toBeVisible();
  await pill.click();
  await expect(firstRow(page)).toContainText(short(fresh.at(-1)));
  await expect(pill).toBeHidden();
});

test("select-cancel-500", async ({ page, server }) => {
  await oneTask(server, "five");
  const ids = await startMany(server, "five", 520);
  await page.goto("/ui/executions?graphId=five");
  await expect(firstRow(page)).toContainText(short(ids.at(-1)));
  await menu(page, "Select", "The first 500");
  await page.getByRole("button", { name: "Cancel 500 executions" }).click();
  await page.getByRole("dialog").getByLabel("Reason").fill("the shop is closed");
  await page.getByRole("dialog").getByRole("button", { name: "Cancel 500 executions" }).click();
  await expect(page.getByRole("dialog")).toContainText("500 canceled");
  const counts = await server.api<{ items: { status: string; count: number }[] }>(
    "GET",
    "executions/counts?groupBy=status&graphId=five",
  );
  expect(Object.fromEntries(counts.items.map((i) => [i.status, i.count]))).toEqual({
    CANCELED: 500,
    ACTIVE: 20,
  });
  const log = await server.api("GET", `executions/${ids.at(-1)}/events?page_size=100`);
  expect(JSON.stringify(log)).toContain("the shop is closed");
  await page.getByRole("dialog").getByRole("button", { name: "Close" }).last().click();
  await expect(page.getByRole("button", { name: "Select", exact: true })).toBeVisible();
});

test("all-matching-bulk", async ({ page, server }) => {
  await oneTask(server, "closing");
  await startMany(server, "closing", 120);
  await workOne(server, "closing");
  await page.goto("/ui/executions?graphId=closing");
  await menu(page, "Select", /^All 120 that match/);
  const dialog = page.getByRole("dialog");
  await expect(dialog).toContainText("119 of them have not ended.");
  await dialog.getByLabel("Reason").fill("the campaign is over");
  await dialog.getByRole("button", { name: "Freeze the set" }).click();
  await expect(page.getByRole("heading", { level: 1, name: "Cancel 119 executions" })).toBeVisible();
  await expect(page.getByRole("main")).toContainText("the campaign is over");
  await expect(page.getByRole("main").locator(".bulk-graphs")).toContainText("closing119");
  const [later] = await startMany(server, "closing", 1);
  await page.getByRole("button", { name: "Cancel 119 executions" }).click();
  await expect(page.getByText("Every execution of the set has a result.")).toBeVisible();
  const after = await server.api<{ status: string }>("GET", `executions/${later}`);
  expect(after.status).toBe("ACTIVE");
  const canceled = await server.api<{ total: number }>("GET", "executions?graphId=closing&status=CANCELED");
  expect(canceled.total).toBe(119);
});

test("bulk-stop-and-go-on", async ({ page, server }) => {
  await oneTask(server, "large");
  await startMany(server, "large", 8000);
  const { bulkId } = await server.api<{ bulkId: string }>("POST", "bulks", {
    command: "cancel",
    filter: { graphId: "large" },
  });
  await page.goto(`/ui/bulks/${bulkId}`);
  await page.getByRole("button", { name: "Cancel 8,000 executions" }).click();
  await page.getByRole("button", { name: "Stop" }).click();
  await expect(page.getByText(/^Stopped\./)).toBeVisible();
  // Anybody who has the link sees the same.
  await page.reload();
  await page.getByRole("button", { name: /^Go on with/ }).click();
  await expect(page.getByText("Every execution of the set has a result.")).toBeVisible({ timeout: 90_000 });
  const bulk = await server.api<{ counts: Record<string, number> }>("GET", `bulks/${bulkId}`);
  expect(bulk.counts).toEqual({ pending: 0, applied: 8000, already: 0, refused: 0, failed: 0 });
});

test("bulk-item-results", async ({ page, server }) => {
  await oneTask(server, "mixed");
  const ids = await startMany(server, "mixed", 3);
  const { bulkId } = await server.api<{ bulkId: string }>("POST", "bulks", { command: "cancel", ids });
  const ended = await workOne(server, "mixed");
  const [canceled, applied] = ids.filter((id) => id !== ended);
  await server.api("POST", `executions/${canceled}/cancel`, { reason: "first" });
  await page.goto("/ui/bulks");
  await rows(page, "Bulks").getByRole("link", { name: "Cancel 3 executions" }).first().click();
  await expect(page).toHaveURL(new RegExp(bulkId));
  await page.getByRole("button", { name: "Cancel 3 executions" }).click();
  await expect(page.getByText("Every execution of the set has a result.")).toBeVisible();
  const row = (id: string | undefined) =>
    rows(page, "Results")
      .getByRole("row")
      .filter({ hasText: short(id) });
  await expect(row(applied)).toContainText(/Applied.*Cancel won at event \d+\./);
  await expect(row(canceled)).toContainText(/Already.*It was canceled before, at event \d+\./);
  await expect(row(ended)).toContainText(/Refused.*It had ended already: Completed\./);
  await page.getByRole("group", { name: "Results" }).getByRole("button", { name: "Refused 1" }).click();
  await expect(page).toHaveURL(/status=REFUSED/);
  await expect(row(applied)).toBeHidden();
  await row(ended).getByRole("link").click();
  await expect(page).toHaveURL(new RegExp(`/ui/executions/${ended}`));
});

test("now-at-filter", async ({ page, server }) => {
  const wait = (name: string) => `nodes:
  - {nodeId: start, type: Start}
  - {nodeId: ${name}, type: Wait, waitKey: k}
  - {nodeId: done, type: Success}
edges:
  - {from: start, to: ${name}}
  - {from: ${name}, to: done}
`;
  await server.api("PUT", "graphs/expense", wait("sign"), yaml);
  await server.api("PUT", "graphs/holiday", wait("grant"), yaml);
  const [expense] = await startMany(server, "expense", 1);
  const [holiday] = await startMany(server, "holiday", 1);
  await page.goto("/ui/executions?waiting=1");
  const row = (id: string | undefined) =>
    rows(page)
      .getByRole("row")
      .filter({ hasText: short(id) });
  await expect(row(expense)).toContainText("Waiting sign");
  await expect(row(holiday)).toContainText("Waiting grant");
  await menu(page, "Add filter", "Now at");
  await page.getByRole("dialog").getByLabel("Value").fill("grant");
  await page.keyboard.press("Enter");
  await expect(page).toHaveURL(/nodeId=grant/);
  await expect(row(holiday)).toBeVisible();
  await expect(row(expense)).toBeHidden();
});

test("queue-without-workers-warns", async ({ page, server }) => {
  await oneTask(server, "idle");
  await startMany(server, "idle", 2);
  await page.goto("/ui/queues");
  const row = rows(page, "Queues").getByRole("row").filter({ hasText: "idle" });
  await expect(row).toContainText("2");
  await expect(row).toContainText("Nobody claims", { timeout: 60_000 });
  await expect(page.getByText(/No worker has claimed a task of “idle” for/)).toBeVisible();
  await expect(page.getByText("renga tasks claim --worker w1 --queue idle")).toBeVisible();
  await workOne(server, "idle");
  await workOne(server, "idle");
  await expect(row).toBeHidden();
});

test("start-from-dialog", async ({ page, server }) => {
  await oneTask(server, "dialog");
  await startMany(server, "dialog", 1, { input: { total: 4200, note: "x" } });
  await page.goto("/ui/executions?start=dialog");
  const dialog = page.getByRole("dialog");
  await dialog.getByRole("button", { name: "Take the input of the newest execution" }).click();
  await dialog.getByLabel("total").fill("17");
  await dialog.getByLabel("Business key").fill("D-1");
  await dialog.getByLabel("Labels").fill("region:eu");
  await dialog.getByRole("button", { name: "Start", exact: true }).click();
  await expect(page).toHaveURL(/\/ui\/executions\/[0-9a-f-]{36}/);
  const id = /executions\/([0-9a-f-]{36})/.exec(page.url())?.[1] ?? "";
  expect(await server.api("GET", `executions/${id}`)).toMatchObject({
    graphId: "dialog",
    status: "ACTIVE",
    businessKey: "D-1",
    labels: { region: "eu" },
    input: { total: 17, note: "x" },
  });
});
