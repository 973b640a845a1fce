import { test as base, expect, type Page } from "@playwright/test";
import { inContract } from "./contract";
import { Server } from "./server";
import { works, type Works } from "./works";

// Every test runs against a real server with a real browser, and fails on what a person would not see: console
// errors, violations of the CSP, failed requests, requests to another origin, calls outside of the contract.

export interface Guard {
  /** Expect something of this text in what went wrong: a test that cuts the network says so. */
  allow: (text: string | RegExp) => void;
  /** What went wrong so far. */
  seen: () => string[];
  /** Watch a page, or another tab of the same context. */
  watch: (page: Page, origin: string, under?: string) => Promise<void>;
}

interface TestFixtures {
  guard: Guard;
  page: Page;
}

interface WorkerFixtures {
  /** Fill the default tenant with the data of the sample company. */
  demo: boolean;
  /** Further flags of `renga serve`. */
  serverArgs: string[];
  /** A server of this worker, with a fresh data folder. */
  server: Server;
  /** What a company did on it for a moment. */
  company: Works;
}

/** What the page tells about violations of its policy. */
const watchPolicy = () => {
  document.addEventListener("securitypolicyviolation", (e) => {
    console.error(`CSP violation: ${e.violatedDirective} ${e.blockedURI}`);
  });
};

export const test = base.extend<TestFixtures, WorkerFixtures>({
  demo: [false, { scope: "worker", option: true }],
  serverArgs: [[], { scope: "worker", option: true }],

  server: [
    async ({ demo, serverArgs }, use) => {
      const server = new Server(serverArgs);
      await server.start();
      if (demo) await server.cli("demo", "load");
      await use(server);
      await server.close();
    },
    { scope: "worker", timeout: 180_000 },
  ],

  company: [async ({ server }, use) => use(await works(server)), { scope: "worker", timeout: 180_000 }],

  baseURL: async ({ server }, use) => use(server.url),

  guard: [
    async ({}, use) => {
      const problems: string[] = [];
      const allowed: (string | RegExp)[] = [];
      const wrong = (text: string) => problems.push(text);
      const watch = async (page: Page, origin: string, under = "/") => {
        await page.addInitScript(watchPolicy);
        page.on("console", (m) => {
          if (m.type() === "error") wrong(`console: ${m.text()} ${m.location().url}`);
        });
        page.on("pageerror", (e) => wrong(`page error: ${e.message}`));
        page.on("requestfailed", (r) => {
          const why = r.failure()?.errorText ?? "";
          // A page that goes away takes its requests with it.
          if (why !== "net::ERR_ABORTED") wrong(`request failed: ${r.method()} ${r.url()} ${why}`);
        });
        page.on("request", (r) => {
          const url = new URL(r.url());
          if (url.protocol === "data:" || url.protocol === "blob:") return;
          if (url.origin !== origin) wrong(`another origin: ${r.url()}`);
          else if (!url.pathname.startsWith(under)) wrong(`outside of the base: ${r.url()}`);
          else if (!inContract(r.method(), `/${url.pathname.slice(under.length)}`)) {
            wrong(`outside of the contract: ${r.method()} ${url.pathname}`);
          }
        });
      };
      await use({ allow: (t) => allowed.push(t), seen: () => problems, watch });
      const left = problems.filter(
        (p) => !allowed.some((a) => (typeof a === "string" ? p.includes(a) : a.test(p))),
      );
      expect(left, "what the browser complained about").toEqual([]);
    },
    { auto: true },
  ],

  page: async ({ page, guard, server }, use) => {
    await guard.watch(page, new URL(server.url).origin);
    await use(page);
  },
});

export { expect };
