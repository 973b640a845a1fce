import {
  createServer,
  request,
  type IncomingMessage,
  type Server as HttpServer,
  type ServerResponse,
} from "node:http";
import type { AddressInfo } from "node:net";

// A reverse proxy, as operators put one in front: it strips a path, and it can be cut off.

export class Proxy {
  readonly #prefix: string;
  #target = "";
  #server: HttpServer | undefined;
  url = "";

  /** Forwards what is under the prefix ("/renga/"), without it. */
  constructor(prefix = "/") {
    this.#prefix = prefix;
  }

  /** Listen; forwarding begins with `to`. The URL ends with the prefix. */
  async listen(): Promise<void> {
    const server = createServer((req, res) => this.#forward(req, res));
    this.#server = server;
    await new Promise<void>((ok) => server.listen(0, "127.0.0.1", ok));
    this.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}${this.#prefix}`;
  }

  to(target: string) {
    this.#target = target;
  }

  #forward(req: IncomingMessage, res: ServerResponse) {
    const path = req.url ?? "/";
    if (!path.startsWith(this.#prefix)) {
      res.writeHead(404).end();
      return;
    }
    const target = new URL(this.#target);
    const options = {
      host: target.hostname,
      port: target.port,
      method: req.method,
      path: `/${path.slice(this.#prefix.length)}`,
      headers: req.headers,
    };
    const up = request(options, (answer) => {
      res.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(res);
    });
    up.on("error", () => res.destroy());
    res.on("close", () => up.destroy());
    req.pipe(up);
  }

  async close(): Promise<void> {
    const server = this.#server;
    if (!server) return;
    server.closeAllConnections();
    await new Promise((ok) => server.close(ok));
  }
}
