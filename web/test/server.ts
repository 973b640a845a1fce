import { execFile, spawn, type ChildProcess } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { createInterface } from "node:readline";
import { Proxy } from "./proxy";

// Real servers: `renga serve` in a process of its own, with a data folder of its own.

export const bin = resolve(process.env.RENGA_BIN ?? "../bin/renga");

/** Where to ask for a fresh database and a NATS server of its own: make test-web-postgres says it. */
const storage = process.env.RENGA_TEST_STORAGE;

/** How many processes a server is. */
export const processes = storage === undefined ? 1 : 2;

/** One process. */
class Process {
  #child: ChildProcess | undefined;
  #log: string[] = [];

  /** Start it, and answer its address when it serves. */
  start(args: string[], env: Record<string, string>): Promise<string> {
    const child = spawn(bin, ["serve", ...args], {
      stdio: ["ignore", "pipe", "pipe"],
      env: { ...process.env, ...env },
    });
    this.#child = child;
    return new Promise<string>((ok, fail) => {
      const listen = (line: string) => {
        this.#log.push(line);
        const at = /msg=serving .*address=(127\.0\.0\.1:\d+)/.exec(line)?.[1];
        if (at) ok(`http://${at}`);
      };
      for (const stream of [child.stdout, child.stderr])
        createInterface({ input: stream }).on("line", listen);
      child.once("error", fail);
      child.once("exit", (code) =>
        fail(new Error(`renga serve ended with ${code}:\n${this.#log.join("\n")}`)),
      );
    });
  }

  /** End it and wait until it is gone. */
  async stop(): Promise<void> {
    const child = this.#child;
    this.#child = undefined;
    if (!child || child.exitCode !== null) return;
    const gone = new Promise((ok) => child.once("exit", ok));
    child.kill("SIGTERM");
    await gone;
  }
}

interface ServerOptions {
  /** Data that are there already; the folder stays. */
  folder?: string;
}

/**
 * A server on SQLite; where there is shared storage, two processes on PostgreSQL and NATS that get requests in turn, as
 * they would from a load balancer.
 */
export class Server {
  readonly #args: string[];
  readonly #given: boolean;
  #folder: string;
  #processes: Process[] = [];
  #proxy: Proxy | undefined;
  #env: Record<string, string> | undefined;
  url = "";

  constructor(args: string[] = [], { folder = "" }: ServerOptions = {}) {
    this.#args = args;
    this.#folder = folder;
    this.#given = folder !== "";
  }

  /** Start it, the first time on a free port, later on the same one. */
  async start(): Promise<void> {
    if (this.#folder === "") this.#folder = await mkdtemp(join(tmpdir(), "renga-web-"));
    const addr = this.url === "" ? "127.0.0.1:0" : new URL(this.url).host;
    if (storage !== undefined && !this.#given) return this.#startMany(storage, addr);
    const one = new Process();
    this.#processes = [one];
    this.url = await one.start(["--addr", addr, "--data-dir", this.#folder, ...this.#args], {});
  }

  async #startMany(ask: string, addr: string): Promise<void> {
    this.#env ??= await fresh(ask);
    const env = this.#env;
    this.#processes = Array.from({ length: processes }, () => new Process());
    const begin = (p: Process, i: number) =>
      p.start(["--addr", "127.0.0.1:0", "--data-dir", join(this.#folder, String(i)), ...this.#args], env);
    const targets = await Promise.all(this.#processes.map(begin));
    this.#proxy = new Proxy();
    await this.#proxy.listen(addr);
    this.#proxy.to(...targets);
    this.url = this.#proxy.url.replace(/\/$/, "");
  }

  /** End it and wait until it is gone; the data stays. */
  async stop(): Promise<void> {
    await this.#proxy?.close();
    this.#proxy = undefined;
    await Promise.all(this.#processes.map((p) => p.stop()));
    this.#processes = [];
  }

  async close(): Promise<void> {
    await this.stop();
    if (this.#folder !== "" && !this.#given) await rm(this.#folder, { recursive: true, force: true });
  }

  /** Run a command against it: `await server.cli("demo", "load")`. Answers what it prints. */
  cli(...args: string[]): Promise<string> {
    return renga(args, { RENGA_SERVER: this.url });
  }

  /** Call the API: `await server.api("POST", "executions", { graphId: "order" })`. */
  async api<T = unknown>(
    method: string,
    path: string,
    body?: unknown,
    headers: Record<string, string> = {},
  ): Promise<T> {
    const init: RequestInit = {
      method,
      headers: {
        ...(method === "POST" ? { "X-Idempotency-Key": `test-${crypto.randomUUID()}` } : {}),
        ...(body === undefined ? {} : { "Content-Type": "application/json" }),
        ...headers,
      },
    };
    if (body !== undefined) init.body = typeof body === "string" ? body : JSON.stringify(body);
    const res = await fetch(`${this.url}/${path}`, init);
    const text = await res.text();
    if (!res.ok) throw new Error(`${method} /${path}: ${res.status} ${text}`);
    return (text === "" ? undefined : JSON.parse(text)) as T;
  }
}

/** Run a command of the program. Answers what it prints. */
export function renga(args: string[], env: Record<string, string> = {}): Promise<string> {
  return new Promise((ok, fail) => {
    execFile(bin, args, { env: { ...process.env, ...env }, maxBuffer: 64 << 20 }, (err, stdout, stderr) => {
      if (err) fail(new Error(`renga ${args.join(" ")}: ${stderr || err.message}`));
      else ok(stdout);
    });
  });
}

/** A fresh database and a NATS server, as settings of `renga serve`. */
async function fresh(ask: string): Promise<Record<string, string>> {
  const res = await fetch(ask);
  if (!res.ok) throw new Error(`no storage: ${res.status} ${await res.text()}`);
  const { database, nats } = (await res.json()) as { database: string; nats: string };
  return { RENGA_DATABASE_URL: database, RENGA_NATS_URL: nats };
}
