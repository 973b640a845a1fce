import { execFile, spawn, type ChildProcess } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { createInterface } from "node:readline";

// A real `renga serve` in a process of its own, with a data folder of its own.

export const bin = resolve(process.env.RENGA_BIN ?? "../bin/renga");

export class Server {
  readonly #args: string[];
  #child: ChildProcess | undefined;
  #log: string[] = [];
  #folder = "";
  url = "";

  constructor(args: string[] = []) {
    this.#args = args;
  }

  /** Start it, the first time on a free port, later on the same one. */
  async start(): Promise<void> {
    if (this.#folder === "") this.#folder = await mkdtemp(join(tmpdir(), "renga-web-"));
    const addr = this.url === "" ? "127.0.0.1:0" : new URL(this.url).host;
    const args = ["serve", "--addr", addr, "--data-dir", this.#folder, ...this.#args];
    const child = spawn(bin, args, { stdio: ["ignore", "pipe", "pipe"] });
    this.#child = child;
    this.url = await new Promise<string>((ok, fail) => {
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

  /** End it and wait until it is gone; the data stays. */
  async stop(): Promise<void> {
    const child = this.#child;
    this.#child = undefined;
    if (!child || child.exitCode !== null) return;
    const gone = new Promise((ok) => child.once("exit", ok));
    child.kill("SIGTERM");
    await gone;
  }

  async close(): Promise<void> {
    await this.stop();
    if (this.#folder !== "") await rm(this.#folder, { recursive: true, force: true });
  }

  /** Run a command against it: `await server.cli("demo", "load")`. Answers what it prints. */
  cli(...args: string[]): Promise<string> {
    const env = { ...process.env, RENGA_SERVER: this.url };
    return new Promise((ok, fail) => {
      execFile(bin, args, { env, maxBuffer: 64 << 20 }, (err, stdout, stderr) => {
        if (err) fail(new Error(`renga ${args.join(" ")}: ${stderr || err.message}`));
        else ok(stdout);
      });
    });
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
