import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import type { Page } from "@playwright/test";
import { expect, test } from "./fixture";
import { processes, type Server } from "./server";
import { withProvider, withTokens } from "./tokens";

const order = `
nodes:
  - {nodeId: start, type: Start}
  - {nodeId: pack,  type: Task, queue: packing}
  - {nodeId: done,  type: Success}
edges:
  - {from: start, to: pack}
  - {from: pack, to: done}
`;

const heading = (page: Page, name: string) => page.getByRole("heading", { level: 1, name });
const signInScreen = (page: Page) => page.getByRole("heading", { name: "Sign in to Renga" });

async function signIn(page: Page, server: Server, token: string, path: string) {
  await page.goto(`${server.url}/ui/${path}`);
  await expect(signInScreen(page)).toBeVisible();
  await page.getByLabel("Token").fill(token);
  await page.getByRole("button", { name: "Sign in" }).click();
  await expect(signInScreen(page)).toBeHidden();
}

test("paste-token-signs-in", async ({ browser, guard }) => {
  await withTokens(async (server, mint) => {
    const context = await browser.newContext();
    const page = await context.newPage();
    await guard.watch(page, server.url);
    await page.goto(`${server.url}/ui/queues`);
    await expect(signInScreen(page)).toBeVisible();

    // The browser itself writes a refused request to its console.
    guard.allow(/status of 401 .*\/session$/);
    await page.getByLabel("Token").fill("not.a.token");
    await page.getByRole("button", { name: "Sign in" }).click();
    await expect(page.getByRole("alert")).toContainText("UNAUTHORIZED");

    const token = mint("--sub", "mika");
    await page.getByLabel("Token").fill(token);
    await page.getByRole("button", { name: "Sign in" }).click();
    await expect(heading(page, "Queues")).toBeVisible();
    await page.reload();
    await expect(heading(page, "Queues")).toBeVisible();

    // No script can read what signs it in.
    const readable = await page.evaluate(() =>
      JSON.stringify([document.cookie, { ...localStorage }, { ...sessionStorage }]),
    );
    expect(readable).not.toContain(token.slice(-20));
    const cookies = await context.cookies();
    expect(cookies).toHaveLength(1);
    expect(cookies[0]).toMatchObject({ httpOnly: true, secure: true, sameSite: "Strict" });
    await context.close();
  });
});

test("sign-out-clears", async ({ browser, guard }) => {
  await withTokens(async (server, mint) => {
    const bearer = { Authorization: `Bearer ${mint("--sub", "kai")}` };
    await server.api("PUT", "graphs/order", order, { "Content-Type": "application/yaml", ...bearer });
    await server.api("POST", "executions", { graphId: "order", businessKey: "secret-17" }, bearer);
    const context = await browser.newContext();
    const page = await context.newPage();
    await guard.watch(page, server.url);
    await signIn(page, server, mint("--sub", "mika"), "executions");
    await expect(page.getByRole("main")).toContainText("secret-17");
    const [cookie] = await context.cookies();

    await page.getByRole("navigation").getByRole("link", { name: "Settings" }).click();
    await expect(page.getByRole("main")).toContainText("mika");
    await page.getByRole("button", { name: "Sign out" }).click();
    await expect(signInScreen(page)).toBeVisible();
    expect(await context.cookies()).toEqual([]);
    // Nothing that was read is shown to whoever comes next, and the old cookie is good for nothing.
    await page.goBack();
    await expect(signInScreen(page)).toBeVisible();
    await expect(page.locator("body")).not.toContainText("secret-17");
    const cookies = { Cookie: `${cookie!.name}=${cookie!.value}`, "Sec-Fetch-Site": "same-origin" };
    const stolen = async () => (await fetch(`${server.url}/me`, { headers: cookies })).status;
    // Another process takes it for two seconds more.
    if (processes === 1) expect(await stolen()).toBe(401);
    else await expect.poll(async () => [await stolen(), await stolen()]).toEqual([401, 401]);
    // What is refused is written down by and by.
    const actions = async () => {
      const log = await server.api<{ items: { action: string }[] }>("GET", "audit", undefined, bearer);
      const all = log.items.map((e) => e.action).filter((a) => a.startsWith("session."));
      return all.filter((a, i) => a !== all[i - 1]);
    };
    await expect.poll(actions).toEqual(["session.refused", "session.closed", "session.opened"]);
    await context.close();
  });
});

test("expiry-asks-and-continues", async ({ browser, guard }) => {
  guard.allow(/status of 401/);
  await withTokens(async (server, mint) => {
    const bearer = { Authorization: `Bearer ${mint()}` };
    await server.api("PUT", "graphs/order", order, { "Content-Type": "application/yaml", ...bearer });
    const context = await browser.newContext();
    const page = await context.newPage();
    await guard.watch(page, server.url);
    await signIn(page, server, mint("--sub", "mika", "--ttl", "25s"), "executions?status=ACTIVE");
    await page.getByRole("button", { name: "Start an execution" }).first().click();
    const draft = page.getByRole("dialog", { name: "Start an execution" });
    await draft.getByLabel("Business key").fill("draft-17");

    const over = page.getByRole("dialog", { name: "Your session is over" });
    await expect(over).toBeVisible({ timeout: 90_000 });
    await page.keyboard.press("Escape"); // there is nothing to go back to
    await expect(over).toBeVisible();
    await over.getByLabel("Token").fill(mint("--sub", "mika"));
    await over.getByRole("button", { name: "Sign in" }).click();
    await expect(over).toBeHidden();

    // The page is where it was, with what was typed, and the draft can be sent.
    await expect(page).toHaveURL(/\/ui\/executions\?status=ACTIVE/);
    await expect(draft.getByLabel("Business key")).toHaveValue("draft-17");
    await draft.getByRole("button", { name: "Start", exact: true }).click();
    await expect(page).toHaveURL(/\/ui\/executions\/[0-9a-f-]{36}/);
    await expect(page.getByRole("main")).toContainText("draft-17");
    await context.close();
  });
});

test("missing-scope-disables-and-explains", async ({ browser, guard }) => {
  await withTokens(async (server, mint) => {
    const bearer = { Authorization: `Bearer ${mint()}` };
    await server.api("PUT", "graphs/order", order, { "Content-Type": "application/yaml", ...bearer });
    const body = { graphId: "order", businessKey: "read-only", start: true };
    const { executionId } = await server.api<{ executionId: string }>("POST", "executions", body, bearer);
    const context = await browser.newContext();
    const page = await context.newPage();
    await guard.watch(page, server.url);
    await signIn(page, server, mint("--scope", "executions:read"), `executions/${executionId}`);
    await expect(page.getByRole("main")).toContainText("read-only");
    const cancel = page.getByRole("button", { name: /^Cancel/ }).first();
    await expect(cancel).toBeDisabled();
    await expect(cancel).toHaveAccessibleDescription("Needs the scope executions:write.");
    // The reason is there for whoever comes by keyboard, and it can be sent away.
    const reason = page.getByRole("tooltip").filter({ visible: true });
    await expect(reason).toHaveCount(0);
    await page.getByRole("tab", { name: "Graph" }).focus();
    for (let i = 0; i < 20 && (await reason.count()) === 0; i++) await page.keyboard.press("Shift+Tab");
    await expect(reason).toHaveText("Needs the scope executions:write.");
    await page.keyboard.press("Escape");
    await expect(reason).toHaveCount(0);
    // It does nothing, by key or by mouse, but say why.
    await page.keyboard.press("Enter");
    await expect(reason).toHaveCount(1);
    await page.getByRole("heading", { level: 1 }).click();
    await expect(reason).toHaveCount(0);
    await cancel.click({ force: true });
    await expect(reason).toHaveText("Needs the scope executions:write.");
    await expect(page.getByRole("dialog")).toHaveCount(0);
    await context.close();

    // With the scope it is there to be pressed.
    const other = await browser.newContext();
    const may = await other.newPage();
    await guard.watch(may, server.url);
    const token = mint("--scope", "executions:read", "--scope", "executions:write");
    await signIn(may, server, token, `executions/${executionId}`);
    await expect(may.getByRole("button", { name: /^Cancel/ }).first()).toBeEnabled();
    await other.close();
  });
});

/** A page of another origin of this machine, which browsers send cookies of this machine from, too. */
async function withForeignPage(work: (url: string) => Promise<void>) {
  const site = createServer((_, res) => {
    res.writeHead(200, { "Content-Type": "text/html" }).end("<!doctype html><title>Foreign</title>");
  });
  await new Promise<void>((ok) => site.listen(0, "127.0.0.1", ok));
  try {
    await work(`http://127.0.0.1:${(site.address() as AddressInfo).port}/`);
  } finally {
    site.closeAllConnections();
    await new Promise((ok) => site.close(ok));
  }
}

test("foreign-origin-refused", async ({ browser, guard }) => {
  await withTokens(async (server, mint) => {
    const bearer = { Authorization: `Bearer ${mint()}` };
    await server.api("PUT", "graphs/order", order, { "Content-Type": "application/yaml", ...bearer });
    const context = await browser.newContext();
    const page = await context.newPage();
    await guard.watch(page, server.url);
    await signIn(page, server, mint(), "executions");

    await withForeignPage(async (url) => {
      const foreign = await context.newPage();
      await foreign.goto(url);
      const send = async (method: string, path: string, body?: string) => {
        const arrived = foreign.waitForResponse((r) => r.url() === `${server.url}${path}`);
        await foreign.evaluate(
          async (a) => {
            const init: RequestInit = { method: a.method, mode: "no-cors", credentials: "include" };
            if (a.body !== undefined) init.body = a.body;
            await fetch(a.url, init).catch(() => undefined);
          },
          { url: `${server.url}${path}`, method, body },
        );
        return arrived;
      };
      const read = await send("GET", "/executions");
      expect(read.status()).toBe(403);
      const written = await send("POST", "/executions", `{"graphId":"order","businessKey":"forged"}`);
      expect(written.status()).toBe(403);
      expect((await written.allHeaders())["access-control-allow-origin"]).toBeUndefined();
      const out = await send("POST", "/session", `{"token":"x"}`);
      expect(out.status()).toBe(403);
      await foreign.close();
    });

    const list = await server.api<{ total: number }>("GET", "executions", undefined, bearer);
    expect(list.total).toBe(0);
    // The page of this origin is still signed in.
    await page.reload();
    await expect(heading(page, "Executions")).toBeVisible();
    await context.close();
  });
});

/** A browser for which names lead to this machine, as an attacker's DNS does. */
const rebound = (args: string[] = []) => [...args, "--host-resolver-rules=MAP renga.example 127.0.0.1"];

test("foreign-host-refused", async ({ playwright, launchOptions, server }) => {
  const browser = await playwright.chromium.launch({ ...launchOptions, args: rebound(launchOptions.args) });
  try {
    const page = await browser.newPage();
    const port = new URL(server.url).port;
    for (const path of ["ui/", "executions", "me"]) {
      const answer = await page.goto(`http://renga.example:${port}/${path}`);
      expect(answer?.status(), path).toBe(403);
      expect(await answer?.text()).toContain("HOST_NOT_ALLOWED");
    }
    const own = await page.goto(`http://localhost:${port}/ui/`);
    expect(own?.status()).toBe(200);
    await expect(heading(page, "Overview")).toBeVisible();
  } finally {
    await browser.close();
  }
});

test("no-cookie-on-plain-http", async ({ playwright, launchOptions }) => {
  await withTokens(async (server, mint) => {
    const browser = await playwright.chromium.launch({ ...launchOptions, args: rebound(launchOptions.args) });
    try {
      const context = await browser.newContext({ locale: "en-GB" });
      const page = await context.newPage();
      await page.goto(`http://renga.example:${new URL(server.url).port}/ui/queues`);
      await page.getByLabel("Token").fill(mint());
      await page.getByRole("button", { name: "Sign in" }).click();
      await expect(page.getByRole("alert")).toContainText("A session needs https");
      await expect(page.getByRole("alert")).toContainText("HTTPS_REQUIRED");
      expect(await context.cookies()).toEqual([]);
      await expect(signInScreen(page)).toBeVisible();
    } finally {
      await browser.close();
    }
  });
});

/** Signs in at the provider, from a page of the console. */
async function atProvider(page: Page, server: Server, path: string) {
  await page.goto(`${server.url}/ui/${path}`);
  await page.getByRole("link", { name: "Sign in with your organisation" }).click();
  await expect(page.getByRole("heading", { name: "Who are you?" })).toBeVisible();
  await page.getByRole("link", { name: "I am Mika" }).click();
}

test("oidc-code-flow", async ({ browser }) => {
  await withProvider(300, async (server, provider) => {
    const context = await browser.newContext();
    const page = await context.newPage();
    const visited: string[] = [];
    page.on("request", (r) => visited.push(r.url()));
    await atProvider(page, server, "executions?status=FAILED");

    // It comes back to where it was, signed in as who the provider says.
    await expect(heading(page, "Executions")).toBeVisible();
    await expect(page).toHaveURL(`${server.url}/ui/executions?status=FAILED`);
    await page.getByRole("navigation").getByRole("link", { name: "Settings" }).click();
    await expect(page.getByRole("main")).toContainText(provider.subject);
    const cookies = await context.cookies(server.url);
    expect(cookies.map((c) => c.name)).toEqual(["__Host-renga"]);
    expect(cookies[0]).toMatchObject({ httpOnly: true, secure: true, sameSite: "Strict" });
    // Tokens stay between server and provider: no URL and no script has one.
    expect(visited.filter((u) => u.includes("eyJ"))).toEqual([]);
    const readable = await page.evaluate(() =>
      JSON.stringify([document.cookie, { ...localStorage }, { ...sessionStorage }]),
    );
    expect(readable).not.toContain("eyJ");
    expect(provider.misused).toEqual([]);
    await context.close();
  });
});

test("refresh-past-two-expiries", async ({ browser }) => {
  await withProvider(6, async (server, provider) => {
    const context = await browser.newContext();
    const page = await context.newPage();
    const refused: string[] = [];
    page.on("response", (r) => {
      if (r.status() === 401) refused.push(r.url());
    });
    await atProvider(page, server, "queues");
    await expect(heading(page, "Queues")).toBeVisible();
    const begun = Date.now();
    // The page asks every two seconds, and each token lives six: it goes on long after the second has expired.
    await expect
      .poll(() => provider.renewed >= 3 && Date.now() - begun > 2.5 * provider.life * 1000, {
        timeout: 90_000,
      })
      .toBe(true);
    const next = page.waitForResponse((r) => r.url().includes("/tasks/queues"));
    expect((await next).status()).toBe(200);
    await expect(heading(page, "Queues")).toBeVisible();
    await expect(page.getByRole("dialog")).toHaveCount(0);
    expect(refused).toEqual([]);
    expect(provider.misused).toEqual([]);
    await context.close();
  });
});
