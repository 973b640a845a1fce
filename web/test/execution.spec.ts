import { expect, test } from "./fixture";
import { chain, drawing, drawn, fan, Run, task, type GraphSpec } from "./flow";

// The graph of an execution, and its panel.

/** All eight types of nodes, with conditions. */
const allTypes: GraphSpec = {
  nodes: [
    { nodeId: "start", type: "Start" },
    task("check"),
    { nodeId: "ask", type: "Wait", timeout: "48h" },
    { nodeId: "split", type: "Fork" },
    task("pay"),
    task("book"),
    { nodeId: "both", type: "Join" },
    { nodeId: "paid", type: "Success", outcome: "paid" },
    { nodeId: "broken", type: "Failed" },
    { nodeId: "void", type: "Canceled" },
  ],
  edges: [
    { from: "start", to: "check" },
    { from: "check", to: "ask", when: "input.total > 50" },
    { from: "check", to: "split" },
    { from: "ask", to: "split" },
    { from: "ask", to: "void", on: "timeout" },
    { from: "split", to: "pay" },
    { from: "split", to: "book" },
    { from: "pay", to: "both" },
    { from: "book", to: "both" },
    { from: "both", to: "paid" },
    { from: "both", to: "broken", on: "failure" },
  ],
};

test("graph-draws-all-types", async ({ page, server }) => {
  const run = await Run.of(server, allTypes, { input: { total: 20 } });
  await run.succeed(await run.claim("check"));
  await run.open(page);
  await drawing(page);
  const types = ["Start", "Task", "Wait", "Fork", "Join", "Success", "Failed", "Canceled"];
  for (const type of types)
    await expect(page.locator(`.graph-svg [data-type="${type}"]`).first()).toBeVisible();
  await expect(page.locator(".graph-svg [data-node]")).toHaveCount(allTypes.nodes.length);
  // An edge that was not taken shows its condition, and what it was.
  const edge = page.locator('[data-edge="check→ask"]');
  await expect(edge).toContainText("input.total > 50");
  await expect(edge).toHaveAttribute("data-way", "false");
  await expect(edge).toContainText("was false");
  await expect(page.locator('[data-edge="both→broken"]')).toContainText("on failure");
});

/** One node in each of the seven states. */
async function sevenStates(server: Parameters<typeof Run.of>[0]): Promise<Run> {
  const branches = ["ready", "running", "ok", "bad", "gone"].map((id) => task(id));
  const graph = fan([...branches, { nodeId: "waits", type: "Wait" }], { policy: "ALL_DONE" });
  const run = await Run.of(server, graph);
  await run.claim("running");
  await run.succeed(await run.claim("ok"));
  await run.fail(await run.claim("bad"), { code: "NO_MONEY", message: "no money", final: true });
  await run.send("gone", "cancel");
  return run;
}

const words = {
  CREATED: "Created",
  READY: "Ready",
  RUNNING: "Running",
  WAITING: "Waiting",
  SUCCEEDED: "Succeeded",
  FAILED: "Failed",
  CANCELED: "Canceled",
};

test("states-have-icon-and-word", async ({ page, server }) => {
  const run = await sevenStates(server);
  await run.open(page);
  await drawing(page);
  const icons = new Set<string>();
  for (const [status, word] of Object.entries(words)) {
    const node = page.locator(`.graph-svg [data-status="${status}"]`).first();
    await expect(node).toContainText(word);
    icons.add((await node.locator(".gmark").getAttribute("d")) ?? "");
  }
  expect(icons.size, "an icon of its own for each state").toBe(7);
  // Without colour too: FAILED is filled, WAITING hatched.
  const fill = (status: string) =>
    page
      .locator(`.graph-svg [data-status="${status}"] .gbox`)
      .first()
      .evaluate((e) => [getComputedStyle(e).fill, getComputedStyle(e).stroke]);
  const [failed, edge] = await fill("FAILED");
  expect(failed).toBe(edge);
  await expect(page.locator('.graph-svg [data-status="WAITING"] .ghatch')).toHaveCount(1);
});

test("live-node-turns", async ({ page, server }) => {
  const run = await Run.of(server, chain(task("pack"), task("ship")));
  await run.open(page);
  await drawing(page);
  await expect(drawn(page, "pack")).toHaveAttribute("data-status", "READY");
  await expect(page.getByText("live", { exact: true })).toBeVisible();
  const at = await drawn(page, "pack").getAttribute("transform");
  const pack = await run.claim("pack");
  await expect(drawn(page, "pack")).toHaveAttribute("data-status", "RUNNING");
  await run.send("pack", "progress", { attempt: pack.attempt, workerId: "w1", progress: 40 });
  await expect(drawn(page, "pack")).toContainText("40 %");
  await run.succeed(pack);
  await expect(drawn(page, "pack")).toHaveAttribute("data-status", "SUCCEEDED");
  await expect(drawn(page, "ship")).toHaveAttribute("data-status", "READY");
  expect(await drawn(page, "pack").getAttribute("transform"), "a status moves no node").toBe(at);
  await run.succeed(await run.claim("ship"));
  await expect(page.getByRole("heading", { level: 1 })).toContainText("Completed");
});

const fourteen = Array.from({ length: 14 }, (_, i) => task(`mail-${i + 1}`, { queue: "mail" }));

test("fold-and-unfold-fork", async ({ page, server }) => {
  const run = await Run.of(server, fan(fourteen));
  await run.open(page);
  await drawing(page);
  const box = page.locator('[data-fold="fan"]');
  await expect(box).toContainText("14 branches");
  await expect(box).toContainText("14 ready");
  await expect(drawn(page, "mail-3")).toHaveCount(0);
  await box.click();
  await expect(page).toHaveURL(/unfold=fan/);
  await expect(page.getByRole("application")).toHaveAttribute("data-drawn", "18");
  await expect(box).toHaveCount(0);
  await page.reload();
  await expect(page.getByRole("application")).toHaveAttribute("data-drawn", "18");
  // What is found is shown, however far away it is.
  await page.keyboard.press("/");
  await page.getByRole("combobox", { name: "Find a node" }).fill("fan");
  await page.keyboard.press("Enter");
  await page.locator('[data-fold-fork="fan"]').click();
  await expect(box).toContainText("14 branches");
  await expect(page.getByRole("application")).toHaveAttribute("data-drawn", "5");
  // A search unfolds what it finds.
  await page.keyboard.press("/");
  await page.getByRole("combobox", { name: "Find a node" }).fill("mail-14");
  await page.keyboard.press("Enter");
  await expect(drawn(page, "mail-14")).toBeInViewport();
});

test("failed-branch-unfolded", async ({ page, server }) => {
  const run = await Run.of(server, fan(fourteen, { policy: "ALL_DONE" }));
  await run.open(page);
  await drawing(page);
  await expect(page.locator('[data-fold="fan"]')).toBeVisible();
  const one = await run.claim("mail");
  const two = await run.claim("mail");
  await run.succeed(one);
  await run.fail(two, { code: "BOUNCED", message: "no such mailbox", final: true });
  await expect(drawn(page, two.nodeId)).toHaveAttribute("data-status", "FAILED");
  await expect(drawn(page, one.nodeId)).toHaveCount(0);
  const box = page.locator('[data-fold="fan"]');
  await expect(box).toContainText("14 branches");
  await expect(box).toContainText("1 failed");
  await expect(box).toContainText("1 ok");
});

test("keyboard-walks-graph", async ({ page, server }) => {
  const run = await Run.of(server, allTypes, { input: { total: 80 } });
  await run.open(page);
  const area = await drawing(page);
  const down = (await area.getAttribute("data-direction")) === "down";
  const next = down ? "ArrowDown" : "ArrowRight";
  const back = down ? "ArrowUp" : "ArrowLeft";
  await area.focus();
  await page.keyboard.press(next);
  await expect(area).toHaveAttribute("data-cursor", "start");
  await page.keyboard.press(next);
  await expect(area).toHaveAttribute("data-cursor", "check");
  await page.keyboard.press(next);
  const third = await area.getAttribute("data-cursor");
  expect(["ask", "split"]).toContain(third);
  await page.keyboard.press(back);
  await expect(area).toHaveAttribute("data-cursor", "check");
  await page.keyboard.press("Enter");
  const panel = page.getByRole("complementary", { name: "Node check" });
  await expect(panel.getByRole("heading", { name: "check" })).toBeFocused();
  await expect(page).toHaveURL(/node=check/);
  await page.keyboard.press("Escape");
  await expect(panel).toHaveCount(0);
  await expect(area).toBeFocused();
  await page.keyboard.press("/");
  await expect(page.getByRole("combobox", { name: "Find a node" })).toBeFocused();
  await page.keyboard.type("paid");
  await page.keyboard.press("Enter");
  await expect(area).toHaveAttribute("data-cursor", "paid");
  await expect(area).toBeFocused();
  await page.keyboard.press("f");
  await expect(drawn(page, "start")).toBeInViewport();
});

test("table-twin-equals-graph", async ({ page, server }) => {
  const run = await sevenStates(server);
  await run.open(page);
  await drawing(page);
  const nodes = await page
    .locator(".graph-svg [data-node]")
    .evaluateAll((all) =>
      all.map((e) => [
        e.getAttribute("data-node"),
        e.getAttribute("data-type"),
        e.getAttribute("data-status"),
      ]),
    );
  const state = await run.state();
  expect(nodes.sort()).toEqual(state.nodes.map((n) => [n.nodeId, n.type, n.status]).sort());
  await page.getByRole("radio", { name: "Table" }).check({ force: true });
  await expect(page).toHaveURL(/view=table/);
  for (const [id, type, status] of nodes) {
    const row = page
      .getByRole("row")
      .filter({ has: page.getByRole("button", { name: id ?? "", exact: true }) });
    await expect(row).toContainText(type ?? "");
    await expect(row).toContainText(words[status as keyof typeof words]);
  }
  await expect(page.getByRole("row")).toHaveCount(nodes.length + 1);
  // The same on a narrow screen, where the table comes first.
  await page.setViewportSize({ width: 390, height: 800 });
  await run.open(page);
  await expect(page.getByRole("table", { name: "Nodes" })).toBeVisible();
  const wide = await page.evaluate(() => document.documentElement.scrollWidth);
  expect(wide, "no horizontal scroll").toBeLessThanOrEqual(390);
});

test("thousand-nodes-in-time", async ({ page, server }) => {
  const many = Array.from({ length: 996 }, (_, i) => task(`n-${i}`, { queue: "many" }));
  const run = await Run.of(server, fan(many));
  await run.open(page);
  const area = await drawing(page);
  await expect(area).toHaveAttribute("data-drawn", "5");
  const began = Date.now();
  await page.locator('[data-fold="fan"]').click();
  await expect(area).toHaveAttribute("data-drawn", "1000");
  await page.keyboard.press("f");
  await expect(page.locator(".gfar [data-far='READY']").first()).toHaveAttribute("d", /^(M[^M]+){996}$/);
  const ms = Date.now() - began;
  test.info().annotations.push({ type: "1,000 nodes unfolded, laid out and drawn", description: `${ms} ms` });
  expect(ms).toBeLessThan(20_000);
});
