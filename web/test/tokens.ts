import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Provider } from "./oidc";
import { bin, Server } from "./server";

// Servers with --auth jwt.

/** A server with --auth jwt, and who makes tokens for it. */
export async function withTokens(
  work: (server: Server, mint: (...args: string[]) => string) => Promise<void>,
) {
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

/** A server at which people sign in with an OpenID provider, whose tokens live some seconds. */
export async function withProvider(
  life: number,
  work: (server: Server, provider: Provider) => Promise<void>,
) {
  const folder = mkdtempSync(join(tmpdir(), "renga-oidc-"));
  const provider = new Provider(life);
  let server: Server | undefined;
  try {
    await provider.listen();
    writeFileSync(join(folder, "keys.json"), provider.keys());
    writeFileSync(join(folder, "secret"), provider.secret, { mode: 0o600 });
    const url = `http://127.0.0.1:${await freePort()}`;
    server = new Server([
      ...["--auth", "jwt", "--jwt-keys", join(folder, "keys.json"), "--jwt-issuer", provider.url],
      ...["--public-url", url, "--oidc-issuer", provider.url, "--oidc-client-id", provider.client],
      ...["--oidc-client-secret-file", join(folder, "secret")],
    ]);
    server.url = url; // known before it starts: the provider sends people back there
    await server.start();
    await work(server, provider);
  } finally {
    await server?.close();
    await provider.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

async function freePort(): Promise<number> {
  const probe = createServer();
  await new Promise<void>((ok) => probe.listen(0, "127.0.0.1", ok));
  const { port } = probe.address() as AddressInfo;
  await new Promise((ok) => probe.close(ok));
  return port;
}
