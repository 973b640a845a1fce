import { execFile } from "node:child_process";
import { expect, test } from "./fixture";
import { chain, choose, drawn, fan, Run, task } from "./flow";

// What can be done to an execution and its nodes.

const approve = {
  nodeId: "approve",
  type: "Wait",
  waitKey: "approval-123",
  prompt: {
    title: "Approve the claim?",
    text: "More than the quote needs a reason.",
    fields: { claimed: "input.total" },
  },
  schema: {
    type: "object",
    required: ["approved"],
    properties: {
      approved: { type: "boolean", title: "Approved" },
      reason: { type: "string", title: "Reason", maxLength: 12 },
      level: { enum: ["low", "high"], title: "Level" },
    },
  },
};

test("resume-with-prompt-form", async ({ page, server, guard }) => {
  guard.allow("422");
  const run = await Run.of(server, chain(approve), { input: { total: 4200 } });
  await run.open(page, "node=approve");
  const panel = page.getByRole("complementary", { name: "Node approve" });
  await expect(panel).toContainText("Approve the claim?");
  await expect(panel).toContainText("More than the quote needs a reason.");
  await expect(panel).toContainText("4200");
  await panel.getByRole("checkbox", { name: "Approved" }).check();
  await panel.getByRole("textbox", { name: "Reason" }).fill("much too long a reason");
  await panel.getByRole("combobox", { name: "Level" }).selectOption("high");
  await panel.getByRole("button", { name: "Resume", exact: true }).click();
  // What does not fit the schema is refused at its field, and what was typed stays.
  await expect(panel.getByRole("alert")).toBeVisible();
  const reason = panel.getByRole("textbox", { name: "Reason" });
  await expect(reason).toHaveAttribute("aria-invalid", "true");
  await expect(reason).toHaveAccessibleDescription(/length/i);
  await reason.fill("as agreed");
  await panel.getByRole("button", { name: "Resume", exact: true }).click();
  await expect(panel).toContainText("Succeeded");
  const state = await run.state();
  expect(state.nodes.find((n) => n.nodeId === "approve")?.output).toEqual({
    approved: true,
    reason: "as agreed",
    level: "high",
  });
  expect(state.status).toBe("COMPLETED");
});

test("resume-refused-after-cancel", async ({ page, server, guard }) => {
  // This page does not hear of the cancel: its stream is cut.
  guard.allow("/stream");
  guard.allow("409");
  await page.route("**/stream", (route) => route.abort());
  const run = await Run.of(server, chain({ nodeId: "ask", type: "Wait" }));
  await run.open(page, "node=ask");
  const panel = page.getByRole("complementary", { name: "Node ask" });
  await panel.getByRole("textbox", { name: "Output" }).fill('{"approved": true}');
  await run.cancel("too late");
  await panel.getByRole("button", { name: "Resume", exact: true }).click();
  const fence = (await run.state()).cancel?.seq;
  await expect(panel.getByRole("alert")).toContainText("The execution was cancelled meanwhile");
  await expect(panel.getByRole("alert")).toContainText(`event ${fence}`);
  await page.reload();
  await expect(panel).toContainText("Canceled");
  await page.getByRole("tab", { name: "Why" }).click();
  await expect(page.locator('[data-guard="cancel_fence"]')).toContainText("ResumeNode of ask");
});

test("cancel-node", async ({ page, server }) => {
  const run = await Run.of(server, fan([task("slow"), task("quick")], { policy: "ALL_DONE" }));
  await run.claim("slow", "w7");
  await run.open(page, "node=slow");
  const panel = page.getByRole("complementary", { name: "Node slow" });
  await panel.getByRole("button", { name: "Cancel node slow" }).click();
  const dialog = page.getByRole("dialog");
  await expect(dialog).toContainText("w7 told to stop");
  await dialog.getByRole("textbox", { name: "Reason" }).fill("not needed");
  await dialog.getByRole("button", { name: "Cancel node slow" }).click();
  await expect(dialog).toHaveCount(0);
  await expect(panel).toContainText("Canceled");
  await expect(panel).toContainText("not needed");
  await expect(drawn(page, "quick")).toHaveAttribute("data-status", "READY");
  await run.succeed(await run.claim("quick"));
  await expect(page.getByRole("heading", { level: 1 })).toContainText("Completed");
});

test("double-click-one-effect", async ({ page, server }) => {
  const run = await Run.of(server, chain(task("pack")), { input: { total: 7 } });
  await run.open(page);
  await page.getByRole("button", { name: "Run again" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Create 1 execution" }).dblclick();
  await expect(page).not.toHaveURL(new RegExp(run.id));
  await expect(page.getByRole("heading", { level: 1 })).toContainText("Active");
  await expect(page.getByText("Run again of")).toBeVisible();
  const all = await server.api<{ total: number }>("GET", `executions?graphId=${run.graphId}`);
  expect(all.total).toBe(2);
  // A cancel that is clicked twice is one command.
  await page.getByRole("button", { name: "Cancel …" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Cancel 1 execution" }).dblclick();
  await expect(page.getByRole("heading", { level: 1 })).toContainText("Canceled");
  const id = new URL(page.url()).pathname.split("/").at(-1);
  const log = await server.api<{ items: { command: string }[] }>("GET", `executions/${id}/commands`);
  expect(log.items.filter((c) => c.command === "CancelExecution")).toHaveLength(1);
});

test("start-and-archive", async ({ page, server }) => {
  const run = await Run.of(server, chain(task("pack")), { start: false });
  await run.open(page);
  await page.getByRole("button", { name: "Start", exact: true }).click();
  await expect(drawn(page, "pack")).toHaveAttribute("data-status", "READY");
  await expect(page.getByRole("button", { name: "Start", exact: true })).toHaveCount(0);
  await run.succeed(await run.claim("pack"));
  await page.getByRole("button", { name: "Archive" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByRole("textbox", { name: "Reason" }).fill("settled");
  await dialog.getByRole("button", { name: "Archive" }).click();
  await expect(dialog).toHaveCount(0);
  await expect(page.getByText("The execution was archived.")).toBeVisible();
  await expect(page.getByRole("button", { name: "Archive" })).toHaveCount(0);
  expect((await run.state()).archivedAt).toBeDefined();
});

test("copy-as-curl-works", async ({ page, server }) => {
  const run = await Run.of(server, chain(task("pack")));
  await run.open(page);
  await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
  await choose(
    page,
    page.getByRole("main").getByRole("button", { name: "Copy", exact: true }),
    "Copy as curl",
  );
  await expect(page.getByText("Copied")).toBeVisible();
  const get = await page.evaluate(() => navigator.clipboard.readText());
  expect(JSON.parse(await shell(get)).executionId).toBe(run.id);
  // A command too: what is copied does what the button does.
  await page.getByRole("button", { name: "Cancel …" }).click();
  const dialog = page.getByRole("dialog");
  await choose(page, dialog.getByRole("button", { name: "Copy" }), "Copy as curl");
  await expect
    .poll(() => page.evaluate(() => navigator.clipboard.readText()))
    .toMatch(/^curl -s -X POST .*\/cancel/);
  const post = await page.evaluate(() => navigator.clipboard.readText());
  expect(JSON.parse(await shell(post))).toMatchObject({ executionId: run.id, accepted: true });
  expect((await run.state()).status).toBe("CANCELED");
});

function shell(line: string): Promise<string> {
  return new Promise((ok, fail) => {
    execFile("sh", ["-c", line], (err, stdout) => (err ? fail(err) : ok(stdout)));
  });
}
