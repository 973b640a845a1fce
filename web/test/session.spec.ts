import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "./fixture";
import { bin, Server } from "./server";

/** A server with --auth jwt, and who makes tokens for it. */
async function withTokens(work: (server: Server, mint: (...args: string[]) => string) => Promise<void>) {
  const folder = mkdtempSync(join(tmpdir(), "renga-keys-"));
  const run = (...args: string[]) => execFileSync(bin, args, { encoding: "utf8" }).trim();
  run("token", "new-key", "--out", join(folder, "dev"));
  const server = new Server(["--auth", "jwt", "--jwt-keys", join(folder, "dev.public.pem")]);
  try {
    await server.start();
    await work(server, (...args) => run("token", "mint", "--key", join(folder, "dev.private.pem"), ...args));
  } finally {
    await server.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

test("paste-token-signs-in, and sign-out-clears", async ({ browser, guard }) => {
  await withTokens(async (server, mint) => {
    const context = await browser.newContext();
    const page = await context.newPage();
    await guard.watch(page, server.url);
    await page.goto(`${server.url}/ui/queues`);
    await expect(page.getByRole("heading", { name: "Sign in to Renga" })).toBeVisible();

    // The browser itself writes a refused request to its console.
    guard.allow(/status of 401 .*\/session$/);
    await page.getByLabel("Token").fill("not.a.token");
    await page.getByRole("button", { name: "Sign in" }).click();
    await expect(page.getByRole("alert")).toContainText("UNAUTHORIZED");

    const token = mint("--sub", "mika");
    await page.getByLabel("Token").fill(token);
    await page.getByRole("button", { name: "Sign in" }).click();
    await expect(page.getByRole("heading", { level: 1, name: "Queues" })).toBeVisible();
    await page.reload();
    await expect(page.getByRole("heading", { level: 1, name: "Queues" })).toBeVisible();

    // No script can read what signs it in.
    const readable = await page.evaluate(() =>
      JSON.stringify([document.cookie, { ...localStorage }, { ...sessionStorage }]),
    );
    expect(readable).not.toContain(token.slice(-20));
    const cookies = await context.cookies();
    expect(cookies).toHaveLength(1);
    expect(cookies[0]).toMatchObject({ httpOnly: true, secure: true, sameSite: "Strict" });

    await page.getByRole("navigation").getByRole("link", { name: "Settings" }).click();
    await expect(page.getByRole("main")).toContainText("mika");
    await page.getByRole("button", { name: "Sign out" }).click();
    await expect(page.getByRole("heading", { name: "Sign in to Renga" })).toBeVisible();
    expect(await context.cookies()).toEqual([]);
    await context.close();
  });
});
