import { expect, test } from "./fixture";
import { chain, drawing, drawn, fan, Run, task, type State } from "./flow";

// Why an execution does not move, why something was refused, and what a cancel does.

const reason = (page: Parameters<typeof drawn>[0], kind: string) => page.locator(`[data-why="${kind}"]`);

test("why-not-moving-each-reason", async ({ page, server }) => {
  const waits = [
    {
      nodeId: "person",
      type: "Wait",
      waitKey: "approval-123",
      assignees: { users: ["anna"] },
      timeout: "4h",
    },
    { nodeId: "timer", type: "Wait", for: "2h" },
    { nodeId: "letter", type: "Wait", message: { name: "paid" } },
  ];
  const retry = { maxAttempts: 3, initialInterval: "1h", maxInterval: "1h" };
  const branches = [task("idle"), task("works"), task("again", { retry }), task("ok"), ...waits];
  const run = await Run.of(server, fan(branches));
  await run.claim("works", "w7");
  await run.fail(await run.claim("again"), { code: "BANK_DOWN", message: "no answer" });
  await run.succeed(await run.claim("ok"));
  await run.open(page, "tab=why");
  await expect(reason(page, "ready")).toContainText(`a worker of the queue ${run.graphId}.idle takes it`);
  await expect(reason(page, "running")).toContainText("works runs with w7");
  await expect(reason(page, "running")).toContainText("Its lease runs out in");
  await expect(reason(page, "retry")).toContainText("attempt 2/3");
  await expect(reason(page, "retry")).toContainText("BANK_DOWN · no answer");
  await expect(reason(page, "wait")).toContainText("approval-123");
  await expect(reason(page, "wait")).toContainText("anna may decide");
  await expect(reason(page, "timer")).toContainText("goes on by itself in");
  await expect(reason(page, "message")).toContainText("waits for the message paid");
  await expect(reason(page, "join")).toContainText("has 1 of 7 branches");
  await expect(reason(page, "join")).toContainText("Missing: idle, works, again, person, timer, letter");
  // Two minutes later nobody has claimed the queue.
  await page.clock.install({ time: Date.now() + 120_000 });
  await page.reload();
  await expect(reason(page, "unclaimed")).toContainText(`nobody claims the queue ${run.graphId}.idle`);
  await expect(reason(page, "unclaimed").getByRole("link", { name: "Open the queues" })).toBeVisible();
});

test("why-not-moving-before-and-after", async ({ page, server }) => {
  const run = await Run.of(server, chain(task("pack")), { start: false });
  await run.open(page, "tab=why");
  await expect(reason(page, "not_started")).toContainText("nobody has started it");
  await run.cancel();
  await expect(reason(page, "ended")).toContainText("It was canceled");
});

test("why-refused-each-guard", async ({ page, server }) => {
  const branches = [
    task("runs"),
    task("again", { retry: { maxAttempts: 2, initialInterval: "1h", maxInterval: "1h" } }),
    task("idle"),
    { nodeId: "key", type: "Wait", waitKey: "k-1" },
    { nodeId: "person", type: "Wait", assignees: { users: ["anna"] } },
    { nodeId: "gone", type: "Wait" },
  ];
  const run = await Run.of(server, fan(branches, { policy: "ALL_DONE" }), { start: false });
  const archive = () => server.api("POST", `${run.path}/archive`, {});
  const start = () => server.api("POST", `${run.path}/start`, {});
  const seen = new Set<string>();
  const refused = async (call: Promise<unknown>) => seen.add(await run.refused(call));
  await refused(run.send("idle", "start", { attempt: 1, workerId: "w1" })); // started
  await refused(archive()); // execution_terminal
  await start();
  await refused(start()); // not_started
  const t = await run.claim("runs");
  await run.fail(await run.claim("again"), { code: "DOWN" });
  await refused(run.send("again", "start", { attempt: 1, workerId: "w1" })); // retry_pending
  await refused(run.send("key", "start", { attempt: 1, workerId: "w1" })); // node_task
  await refused(run.send("runs", "start", { attempt: 2, workerId: "w2" })); // node_ready
  await refused(run.send("idle", "success", { attempt: 1, workerId: "w1" })); // node_running
  await refused(run.send("idle", "resume", {})); // node_waiting
  await refused(run.send("runs", "success", { attempt: 9, workerId: "w1" })); // attempt_due
  await refused(run.send("runs", "success", { attempt: t.attempt, workerId: "w9" })); // lease_owner
  await refused(run.send("key", "resume", { resumeKey: "k-2" })); // resume_key
  await refused(run.send("person", "resume", {}, { "X-User-Id": "0199c1a2-7d10-7c3e-8f21-5d2f6f0c9a01" })); // assignee
  await run.send("gone", "cancel");
  await refused(run.send("gone", "cancel")); // node_not_terminal
  await run.open(page, "tab=why");
  await expect(page.locator(".refusals li").first()).toBeVisible();
  await run.cancel("enough");
  await refused(run.succeed(t)); // cancel_fence
  await archive();
  await refused(archive()); // not_archived
  const log = await server.api<{ items: { error: { message: string; details: { guard: string } } }[] }>(
    "GET",
    `${run.path}/commands?accepted=false&page_size=100`,
  );
  const kept = new Set(log.items.map((c) => c.error.details.guard));
  expect([...seen].sort()).toEqual([
    "assignee",
    "attempt_due",
    "cancel_fence",
    "execution_terminal",
    "lease_owner",
    "node_not_terminal",
    "node_ready",
    "node_running",
    "node_task",
    "node_waiting",
    "not_archived",
    "not_started",
    "resume_key",
    "retry_pending",
    "started",
  ]);
  await expect
    .poll(() =>
      page.locator(".refusals li").evaluateAll((all) => all.map((e) => e.getAttribute("data-guard")).sort()),
    )
    .toEqual(log.items.map((c) => c.error.details.guard).sort());
  for (const guard of kept) {
    const entry = page.locator(`[data-guard="${guard}"]`).first();
    await expect(entry).not.toContainText("rejected because");
    await expect(entry).toContainText("Because of event");
  }
  const fence = (await run.state()).cancel?.seq ?? 0;
  await expect(page.locator('[data-guard="cancel_fence"]')).toContainText(
    `A cancel had won at event ${fence}`,
  );
});

test("why-refused-when-it-is-over", async ({ page, server, guard }) => {
  guard.allow("409");
  const key = `A-${Date.now()}`;
  const run = await Run.of(server, chain(task("pay")), { businessKey: key });
  const t = await run.claim("pay");
  // The execution is active: another one with its business key is refused in the dialog.
  await run.open(page, "tab=why");
  await page.getByRole("button", { name: "Run again" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByRole("button", { name: "Create 1 execution" }).click();
  await expect(dialog.getByRole("alert")).toContainText("is active and has the same business key");
  await dialog.getByRole("button", { name: "Keep as it is" }).click();
  await run.succeed(t);
  expect(await run.refused(run.succeed(t))).toBe("execution_active");
  await expect(page.locator('[data-guard="execution_active"]')).toContainText("it was Completed");
});

test("cancel-preview-is-what-happens", async ({ page, server }) => {
  const branches = [
    task("runs"),
    task("idle"),
    task("again", { retry: { maxAttempts: 2, initialInterval: "1h", maxInterval: "1h" } }),
    task("ok"),
    { nodeId: "waits", type: "Wait" },
  ];
  const run = await Run.of(server, fan(branches, { policy: "ALL_DONE" }));
  await run.claim("runs", "w7");
  await run.succeed(await run.claim("ok"));
  await run.fail(await run.claim("again"), { code: "DOWN" });
  const before = await run.state();
  await run.open(page);
  await page.getByRole("button", { name: "Cancel …" }).click();
  const dialog = page.getByRole("dialog");
  await expect(dialog).toContainText("1 running: w7 told to stop; what they still report is kept");
  await expect(dialog).toContainText("1 waiting: the wait closes.");
  await expect(dialog).toContainText("1 ready: no worker gets it any more.");
  await expect(dialog).toContainText("1 before another attempt: it does not come.");
  const said = await dialog.locator(".preview").evaluate((e) => ({ ...(e as HTMLElement).dataset }));
  await dialog.getByRole("textbox", { name: "Reason" }).fill("the customer called");
  await dialog.getByRole("button", { name: "Cancel 1 execution" }).click();
  await expect(dialog).toHaveCount(0);
  const after = await run.state();
  expect(after.status).toBe("CANCELED");
  expect(after.cancel?.reason).toBe("the customer called");
  const notice = page.locator('[data-notice="cancel"]');
  await expect(notice).toContainText(`Cancel won at event ${after.cancel?.seq}.`);
  await expect(notice).toContainText("the customer called");
  // Each number of the preview is what became of the nodes.
  const turned = (from: string) =>
    before.nodes.filter((n) => n.status === from && statusOf(after, n.nodeId) === "CANCELED").length;
  expect(Number(said.running)).toBe(turned("RUNNING"));
  expect(Number(said.waiting)).toBe(turned("WAITING"));
  expect(Number(said.ready)).toBe(turned("READY"));
  const never = after.nodes.filter((n) => n.attempt === 0 && statusOf(before, n.nodeId) === "CREATED").length;
  expect(Number(said.never)).toBe(never);
  const kept = after.nodes.filter(
    (n) => statusOf(before, n.nodeId) === n.status && n.status === "SUCCEEDED",
  ).length;
  expect(Number(said.ended)).toBe(kept);
});

function statusOf(s: State, nodeId: string): string | undefined {
  return s.nodes.find((n) => n.nodeId === nodeId)?.status;
}

test("late-result-arrives-live", async ({ page, server }) => {
  const run = await Run.of(server, chain(task("pay")));
  const t = await run.claim("pay", "w7");
  await run.open(page);
  await drawing(page);
  await run.cancel("changed their mind");
  await expect(drawn(page, "pay")).toHaveAttribute("data-status", "CANCELED");
  await expect(page.locator('[data-notice="cancel"]')).toContainText(
    "What workers still report appears here.",
  );
  expect(await run.refused(run.succeed(t, { receipt: "R-1", amount: 20 }, "w7"))).toBe("cancel_fence");
  const late = page.locator('[data-late="pay"]');
  await expect(late).toContainText("This did happen: receipt R-1.");
  await expect(late).toContainText("w7");
  await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
  await late.getByRole("button", { name: "Copy" }).first().click();
  expect(await page.evaluate(() => navigator.clipboard.readText())).toContain('"receipt": "R-1"');
});

test("refusals-arrive-live-after-the-end", async ({ page, server }) => {
  const run = await Run.of(server, chain(task("pay")));
  const t = await run.claim("pay", "w7");
  await run.cancel("changed their mind");
  await run.open(page, "tab=why");
  await expect(page.locator(".exe-why")).toContainText("Nothing was refused");
  for (let n = 1; n <= 2; n++) {
    await run.refused(run.succeed(t, { n }, "w7"));
    await expect(page.locator(".refusals li")).toHaveCount(n);
    await expect(page.locator('[data-late="pay"]')).toHaveCount(n);
  }
});

test("first-failure-is-named", async ({ page, server }) => {
  const run = await Run.of(server, fan([task("good"), task("bad")]));
  await run.fail(await run.claim("bad"), { code: "NO_MONEY", message: "The account is empty.", final: true });
  await run.open(page);
  const notice = page.locator('[data-notice="failed"]');
  await expect(notice).toContainText("It failed first at bad");
  await expect(notice).toContainText("NO_MONEY");
  await notice.getByRole("button", { name: "bad" }).click();
  await expect(page.getByRole("complementary", { name: "Node bad" })).toContainText("The account is empty.");
});
