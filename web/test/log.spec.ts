import { readFile } from "node:fs/promises";
import type { Page } from "@playwright/test";
import { expect, test } from "./fixture";
import { chain, fan, Run, task } from "./flow";

// The log of an execution, the slider over it, and two executions beside each other.

const log = (page: Page) => page.getByRole("grid", { name: "Log" });
const line = (page: Page, text: string | RegExp) => log(page).getByRole("row").filter({ hasText: text });
const slider = (page: Page) => page.locator(".slider");
const track = (page: Page) => slider(page).getByRole("slider");

test("log-follow-and-pause", async ({ page, server }) => {
  const run = await Run.of(server, chain(task("a"), task("b"), task("c")));
  await run.open(page, "tab=log");
  await expect(line(page, "NODE_READY")).toHaveCount(1);
  // Commands are headings over their events.
  const kinds = await log(page)
    .locator(".log-rows > [role=row]")
    .evaluateAll((rows) => rows.map((r) => (r.classList.contains("log-command") ? "command" : "event")));
  expect(kinds[0]).toBe("command");
  await run.succeed(await run.claim("a"));
  await expect(line(page, "NODE_SUCCEEDED")).toHaveCount(2);
  await page.getByRole("button", { name: "Pause" }).click();
  await run.succeed(await run.claim("b"));
  const pill = page.getByRole("button", { name: /\d+ new/ });
  await expect(pill).toBeVisible();
  await pill.click();
  await expect(pill).toBeHidden();
  await expect(page.getByRole("button", { name: "Pause" })).toBeVisible();
  const bottom = () => log(page).evaluate((el) => el.scrollHeight - el.clientHeight - el.scrollTop < 40);
  await expect.poll(bottom).toBe(true);
  await run.succeed(await run.claim("c"));
  await expect(line(page, "EXECUTION_COMPLETED")).toBeVisible();
  await expect.poll(bottom).toBe(true);
});

test("link-to-event", async ({ page, server }) => {
  const run = await Run.of(server, chain(task("a")));
  const t = await run.claim("a");
  await run.cancel("enough");
  expect(await run.refused(run.succeed(t, { receipt: "R-1" }))).toBe("cancel_fence");
  const { cancel } = await run.state();
  await run.open(page, `tab=log&at=${cancel?.seq}`);
  await expect(log(page).locator('[aria-selected="true"]')).toContainText("EXECUTION_CANCEL_REQUESTED");
  await expect(page.getByRole("region", { name: `Event ${cancel?.seq}` })).toContainText("enough");
  // The refusal stands in the log, in its words.
  await expect(line(page, "SucceedNode")).toContainText(`A cancel had won at event ${cancel?.seq}`);
  // Another event is another address.
  await line(page, "NODE_STARTED").click();
  await expect(page).toHaveURL(/at=\d+/);
  const url = page.url();
  await page.goto("/ui/executions");
  await page.goto(url);
  await expect(log(page).locator('[aria-selected="true"]')).toContainText("NODE_STARTED");
  const [file] = await Promise.all([
    page.waitForEvent("download"),
    page.getByRole("button", { name: "Download NDJSON" }).click(),
  ]);
  const lines = (await readFile(await file.path(), "utf8")).trimEnd().split("\n");
  const events = lines.map((l) => JSON.parse(l) as { seq: number });
  expect(events.map((e) => e.seq)).toEqual(events.map((_, i) => i + 1));
  expect(events.length).toBe((await run.state()).seq);
});

test("diff-of-event", async ({ page, server }) => {
  const run = await Run.of(server, chain(task("a")));
  await run.succeed(await run.claim("a"), { receipt: "R-7" });
  await run.open(page, "tab=log");
  await line(page, /NODE_SUCCEEDED\s*a/).click();
  const detail = page.getByRole("region", { name: /^Event/ });
  const status = detail.getByRole("listitem").filter({ hasText: "status" });
  await expect(status).toContainText("Running");
  await expect(status).toContainText("Succeeded");
  await expect(detail.getByRole("listitem").filter({ hasText: "output" })).toContainText("R-7");
  await expect(detail.getByRole("listitem").filter({ hasText: "leaseUntil" })).toContainText("removed");
});

test("slider-equals-at-for-every-n", async ({ page, server }) => {
  const run = await Run.of(
    server,
    fan([task("a", { retry: { maxAttempts: 2, initialInterval: "1ms" } }), task("b")]),
  );
  await run.fail(await run.claim("a"), { code: "AGAIN", message: "again" });
  await run.succeed(await run.claim("b"), { n: 1 });
  await run.succeed(await run.claim("a"), { n: 2 });
  await expect.poll(async () => (await run.state()).status).toBe("COMPLETED");
  const { seq: last } = await run.state();
  await run.open(page, "view=table");
  await track(page).focus();
  await expect(slider(page)).toHaveAttribute("data-ready", "true");
  const table = page.getByRole("table", { name: "Nodes" });
  const shown = () =>
    table.locator(".table-body > [role=row]").evaluateAll((rows) =>
      rows.map((row) => {
        const cells = [...row.querySelectorAll("[role=cell]")].map((c) => (c.textContent ?? "").trim());
        const word = row.querySelector(".state-word")?.textContent ?? "";
        return `${cells[0]} ${word.toUpperCase()}`;
      }),
    );
  // While a pointer holds it nothing is asked: what is shown comes from the log.
  let asked = 0;
  page.on("request", (r) => (asked += r.url().includes("?at=") ? 1 : 0));
  await track(page).dispatchEvent("pointerdown");
  const move = (seq: number) =>
    track(page).evaluate((el, v) => {
      const input = el as HTMLInputElement;
      Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, "value")?.set?.call(input, String(v));
      input.dispatchEvent(new Event("input", { bubbles: true }));
    }, seq);
  const ends = new Set<number>();
  const commands = await server.api<{ items: { lastSeq?: number }[] }>("GET", `${run.path}/commands`);
  for (const c of commands.items) if (c.lastSeq !== undefined && c.lastSeq < last) ends.add(c.lastSeq);
  for (const seq of ends) {
    await move(seq);
    await expect(slider(page)).toHaveAttribute("data-shown", String(seq));
    const { nodes } = await run.state(seq);
    expect(await shown(), `dragged to ${seq}`).toEqual(nodes.map((n) => `${n.nodeId} ${n.status}`));
  }
  expect(asked).toBe(0);
  await track(page).dispatchEvent("pointerup");
  // By the keys it comes to every event, and rests at the state that the server gives.
  for (let seq = last - 1; seq >= 1; seq--) {
    await move(seq);
    await expect(page).toHaveURL(new RegExp(`at=${seq}$`));
    await expect(slider(page)).toHaveAttribute("data-shown", String(seq));
    const { nodes } = await run.state(seq);
    await expect
      .poll(shown, { message: `rested at ${seq}` })
      .toEqual(nodes.map((n) => `${n.nodeId} ${n.status}`));
  }
});

test("play-to-end", async ({ page, server }) => {
  const run = await Run.of(server, chain(task("a"), task("b")));
  await run.succeed(await run.claim("a"));
  await run.succeed(await run.claim("b"));
  const { seq: last } = await run.state();
  await run.open(page, "at=1");
  await expect(slider(page)).toHaveAttribute("data-ready", "true");
  await expect(slider(page)).toHaveAttribute("data-seq", "1");
  await page.keyboard.press("]");
  await expect(slider(page)).not.toHaveAttribute("data-seq", "1");
  await page.keyboard.press("[");
  await slider(page).getByText("×10", { exact: true }).click();
  await slider(page).getByRole("button", { name: "Play" }).click();
  await expect(slider(page)).toHaveAttribute("data-seq", String(last));
  await expect(slider(page)).not.toHaveAttribute("data-playing");
  await expect(slider(page)).toHaveAttribute("data-shown", String(last));
  await expect(page).not.toHaveURL(/at=/);
});

const choice = {
  nodes: [
    { nodeId: "start", type: "Start" },
    task("review"),
    task("pay"),
    task("refuse"),
    { nodeId: "done", type: "Success" },
  ],
  edges: [
    { from: "start", to: "review" },
    { from: "review", to: "pay", when: "output.ok" },
    { from: "review", to: "refuse" },
    { from: "pay", to: "done" },
    { from: "refuse", to: "done" },
  ],
};

test("compare-finds-parting", async ({ page, server }) => {
  const a = await Run.of(server, choice, { input: { total: 10 } });
  await a.succeed(await a.claim("review"), { ok: true });
  const again = await server.api<{ executionId: string }>("POST", "executions", {
    graphId: a.graphId,
    input: { total: 20 },
    start: true,
  });
  const body = { workerId: "w1", queues: [`${a.graphId}.review`], max: 1 };
  const claimed = await server.api<{ tasks: { attempt: number }[] }>("POST", "tasks/claim", body);
  await server.api("POST", `executions/${again.executionId}/nodes/review/success`, {
    attempt: claimed.tasks[0]?.attempt,
    workerId: "w1",
    output: { ok: false },
  });
  await a.open(page, "tab=compare");
  await page.getByRole("button", { name: again.executionId.slice(-8) }).click();
  await expect(page).toHaveURL(new RegExp(`with=${again.executionId}`));
  const parting = page.locator('[data-parting="review"]');
  await expect(parting).toContainText("They part at node review");
  await expect(parting).toContainText("edge output.ok → pay held in A only");
  await expect(parting).toContainText("to refuse in B only");
  const table = page.getByRole("table", { name: "Compare" });
  await expect(table.getByRole("row").filter({ hasText: "pay" })).toContainText("Ready");
  await expect(page.getByRole("listitem").filter({ hasText: "total" })).toContainText("20");
  await table.getByRole("button", { name: "review" }).click();
  await expect(page.locator(".change").filter({ hasText: "output.ok" })).toContainText("false");
});

test("run-again-same-input", async ({ page, server }) => {
  const run = await Run.of(server, chain(task("a")), { input: { order: "A-1", total: 12 } });
  await run.fail(await run.claim("a"), { code: "BROKEN", message: "broken", final: true });
  await run.open(page, "tab=log");
  await page.getByRole("button", { name: "Run again" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Create 1 execution" }).click();
  await expect(page).not.toHaveURL(new RegExp(run.id));
  const id = /executions\/([0-9a-f-]+)/.exec(page.url())?.[1] ?? "";
  const made = await server.api<{ input: unknown; rerunOf: string; startedAt?: string }>(
    "GET",
    `executions/${id}`,
  );
  expect(made.input).toEqual({ order: "A-1", total: 12 });
  expect(made.rerunOf).toBe(run.id);
  expect(made.startedAt).toBeDefined();
  await page.getByRole("tab", { name: "Compare" }).click();
  await page.getByRole("button", { name: run.id.slice(-8) }).click();
  await expect(page.getByRole("table", { name: "Compare" })).toContainText("BROKEN");
});
