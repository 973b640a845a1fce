import {
  createServer,
  request,
  type IncomingMessage,
  type Server as HttpServer,
  type ServerResponse,
} from "node:http";
import type { AddressInfo } from "node:net";

// A reverse proxy, as operators put one in front: it strips a path, gives requests to servers in turn, and cuts what
// is open.

export class Proxy {
  readonly #prefix: string;
  readonly #streams = new Set<ServerResponse>();
  #targets: URL[] = [];
  #next = 0;
  #server: HttpServer | undefined;
  url = "";

  /** Forwards what is under the prefix ("/renga/"), without it. */
  constructor(prefix = "/") {
    this.#prefix = prefix;
  }

  /** Listen; forwarding begins with `to`. The URL ends with the prefix. */
  async listen(addr = "127.0.0.1:0"): Promise<void> {
    const server = createServer((req, res) => this.#forward(req, res));
    this.#server = server;
    const { hostname, port } = new URL(`http://${addr}`);
    await new Promise<void>((ok, fail) => {
      server.once("error", fail);
      server.listen(Number(port), hostname, ok);
    });
    this.url = `http://${hostname}:${(server.address() as AddressInfo).port}${this.#prefix}`;
  }

  /** Where requests go: to each of them in turn. */
  to(...targets: string[]) {
    this.#targets = targets.map((t) => new URL(t));
  }

  #forward(req: IncomingMessage, res: ServerResponse) {
    const path = req.url ?? "/";
    const target = this.#targets[this.#next++ % this.#targets.length];
    if (!path.startsWith(this.#prefix) || !target) {
      res.writeHead(404).end();
      return;
    }
    const options = {
      host: target.hostname,
      port: target.port,
      method: req.method,
      path: `/${path.slice(this.#prefix.length)}`,
      headers: req.headers,
    };
    const up = request(options, (answer) => {
      res.writeHead(answer.statusCode ?? 502, answer.headers);
      if (answer.headers["content-type"]?.startsWith("text/event-stream")) this.#streams.add(res);
      res.flushHeaders();
      answer.pipe(res);
      answer.on("aborted", () => res.destroy());
    });
    up.on("error", () => res.destroy());
    res.on("close", () => {
      this.#streams.delete(res);
      up.destroy();
    });
    req.pipe(up);
  }

  /** Cut the connections of streams that are open; new ones may come at once. Answers how many there were. */
  cut(): number {
    const streams = [...this.#streams];
    for (const stream of streams) stream.destroy();
    return streams.length;
  }

  async close(): Promise<void> {
    const server = this.#server;
    if (!server) return;
    server.closeAllConnections();
    await new Promise((ok) => server.close(ok));
  }
}
