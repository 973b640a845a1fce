import {
  createHash,
  createPublicKey,
  generateKeyPairSync,
  randomBytes,
  sign,
  timingSafeEqual,
} from "node:crypto";
import {
  createServer,
  type IncomingMessage,
  type Server as HttpServer,
  type ServerResponse,
} from "node:http";
import type { AddressInfo } from "node:net";

// An OpenID provider: authorization code with PKCE, RS256, refresh tokens that are good for once. A person signs in at
// its page with a click.

interface Asked {
  challenge: string;
  nonce: string;
  redirect: string;
}

const encode = (data: string | Buffer) => Buffer.from(data).toString("base64url");

export class Provider {
  readonly client = "renga-console";
  readonly secret = "the-secret-of-the-console";
  readonly subject = "mika@example.com";
  /** Seconds that an access token lives. */
  readonly life: number;
  readonly #key = generateKeyPairSync("rsa", { modulusLength: 2048 });
  readonly #codes = new Map<string, Asked>();
  readonly #renewals = new Set<string>();
  #server: HttpServer | undefined;
  url = "";
  /** How often a token was renewed. */
  renewed = 0;
  /** What a client did wrong. */
  readonly misused: string[] = [];

  constructor(life: number) {
    this.life = life;
  }

  async listen(): Promise<void> {
    const server = createServer((req, res) => {
      this.#answer(req, res).catch((e: unknown) => {
        this.misused.push(String(e));
        res.destroy();
      });
    });
    this.#server = server;
    await new Promise<void>((ok) => server.listen(0, "127.0.0.1", ok));
    this.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  }

  async close(): Promise<void> {
    const server = this.#server;
    if (!server) return;
    server.closeAllConnections();
    await new Promise((ok) => server.close(ok));
  }

  /** The public key, as --jwt-keys takes it. */
  keys(): string {
    const jwk = createPublicKey(this.#key.privateKey).export({ format: "jwk" });
    return JSON.stringify({ keys: [{ ...jwk, kid: "1", alg: "RS256", use: "sig" }] });
  }

  async #answer(req: IncomingMessage, res: ServerResponse) {
    const url = new URL(req.url ?? "/", this.url);
    const at = `${req.method} ${url.pathname}`;
    if (at === "GET /.well-known/openid-configuration") {
      this.#json(res, 200, {
        issuer: this.url,
        authorization_endpoint: `${this.url}/authorize`,
        token_endpoint: `${this.url}/token`,
        jwks_uri: `${this.url}/keys`,
        token_endpoint_auth_methods_supported: ["client_secret_basic"],
      });
    } else if (at === "GET /keys") {
      res.writeHead(200, { "Content-Type": "application/json" }).end(this.keys());
    } else if (at === "GET /authorize") this.#authorize(url.searchParams, res);
    else if (at === "POST /token") await this.#token(req, res);
    else res.writeHead(404).end();
  }

  #json(res: ServerResponse, status: number, body: unknown) {
    res.writeHead(status, { "Content-Type": "application/json" }).end(JSON.stringify(body));
  }

  /** The page at which a person signs in. */
  #authorize(q: URLSearchParams, res: ServerResponse) {
    const asked = {
      challenge: q.get("code_challenge"),
      nonce: q.get("nonce"),
      redirect: q.get("redirect_uri"),
    };
    const good =
      q.get("client_id") === this.client &&
      q.get("response_type") === "code" &&
      q.get("code_challenge_method") === "S256";
    if (!good || !asked.challenge || !asked.nonce || !asked.redirect || !q.get("state")) {
      this.misused.push(`authorize ${q.toString()}`);
      res.writeHead(400).end();
      return;
    }
    const code = randomBytes(24).toString("base64url");
    this.#codes.set(code, asked as Asked);
    const back = new URL(asked.redirect);
    back.search = new URLSearchParams({ code, state: q.get("state")!, iss: this.url }).toString();
    const link = back.toString().replaceAll("&", "&amp;");
    res.writeHead(200, { "Content-Type": "text/html" });
    res.end(
      `<!doctype html><html lang="en"><title>Provider</title><h1>Who are you?</h1><a href="${link}">I am Mika</a>`,
    );
  }

  async #token(req: IncomingMessage, res: ServerResponse) {
    let body = "";
    for await (const part of req) body += String(part);
    const form = new URLSearchParams(body);
    const want = Buffer.from(`Basic ${Buffer.from(`${this.client}:${this.secret}`).toString("base64")}`);
    const got = Buffer.from(req.headers.authorization ?? "");
    if (got.length !== want.length || !timingSafeEqual(got, want)) {
      this.#json(res, 401, { error: "invalid_client" });
      return;
    }
    const nonce = this.#granted(form);
    if (nonce === undefined) {
      this.misused.push(`token ${form.get("grant_type") ?? ""}`);
      this.#json(res, 400, { error: "invalid_grant" });
      return;
    }
    const refresh = randomBytes(24).toString("base64url");
    this.#renewals.add(refresh);
    this.#json(res, 200, {
      token_type: "Bearer",
      expires_in: this.life,
      access_token: this.#sign({
        aud: "renga",
        scope: "executions:read executions:write",
        jti: randomBytes(9).toString("hex"),
      }),
      refresh_token: refresh,
      ...(nonce === "" ? {} : { id_token: this.#sign({ aud: this.client, nonce }) }),
    });
  }

  /** The nonce of the sign-in whose code this is, "" for a renewal; undefined: it is refused. */
  #granted(form: URLSearchParams): string | undefined {
    if (form.get("grant_type") === "refresh_token") {
      if (!this.#renewals.delete(form.get("refresh_token") ?? "")) return undefined;
      this.renewed++;
      return "";
    }
    const asked = this.#codes.get(form.get("code") ?? "");
    this.#codes.delete(form.get("code") ?? "");
    const digest = createHash("sha256")
      .update(form.get("code_verifier") ?? "")
      .digest("base64url");
    if (asked?.challenge !== digest || asked.redirect !== form.get("redirect_uri")) return undefined;
    return asked.nonce;
  }

  #sign(claims: Record<string, string>): string {
    const now = Math.floor(Date.now() / 1000);
    const all = { iss: this.url, sub: this.subject, iat: now, exp: now + this.life, ...claims };
    const text = `${encode(JSON.stringify({ alg: "RS256", typ: "JWT", kid: "1" }))}.${encode(JSON.stringify(all))}`;
    return `${text}.${sign("RSA-SHA256", Buffer.from(text), this.#key.privateKey).toString("base64url")}`;
  }
}
