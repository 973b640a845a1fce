import { mkdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import type { Browser, Page } from "@playwright/test";
import { expect, test } from "./fixture";
import { works, type Works } from "./works";

// Every page in both themes, both languages and two widths: axe finds nothing serious, nothing is wider than the
// window, and a picture goes to web/shots, to be looked at by a person.

const shots = fileURLToPath(new URL("../shots", import.meta.url));
const source = (path: string) => readFileSync(fileURLToPath(new URL(path, import.meta.url)), "utf8");
const axe = source("../node_modules/axe-core/axe.min.js");

// The names of the tabs are those of the page, so that a new one is swept, too.
const tabs = [...source("../src/page/execution/tabs.ts").matchAll(/^ {2}(\w+): lazy/gm)].map((m) => m[1]!);
const routes = [...source("../src/routes.ts").matchAll(/^ {2}(\w+): \{ path: "([^"]*)"/gm)];

/** The paths to look at, by name; those of a page with an id lead to something that has much to show. */
function paths(w: Works): Record<string, string> {
  const all: Record<string, string> = {};
  for (const [, name, path] of routes) {
    if (name === "execution") {
      for (const tab of tabs) all[`execution-${tab}`] = `executions/${w.running}?tab=${tab}`;
      all["execution-waiting"] = `executions/${w.waiting}`;
      all["execution-failed"] = `executions/${w.failed}?tab=why`;
      all["execution-canceled"] = `executions/${w.canceled}`;
      all["execution-refused"] = `executions/${w.canceled}?tab=why`;
    } else if (name === "bulk") all[name] = `bulks/${w.bulk}`;
    else if (name === "graph") all[name] = "graphs/expense";
    else all[name!] = path!;
  }
  return all;
}

const placeholder: Works = { running: "", waiting: "", canceled: "", failed: "", bulk: "" };
const names = Object.keys(paths(placeholder));

interface Finding {
  id: string;
  impact: string | null;
  nodes: { target: unknown[]; failureSummary?: string }[];
}

/** What axe finds that keeps people out. */
async function barriers(page: Page): Promise<string[]> {
  await page.evaluate(axe);
  const found = await page.evaluate(async () => {
    const { axe } = window as unknown as { axe: { run: () => Promise<{ violations: Finding[] }> } };
    return (await axe.run()).violations;
  });
  return found
    .filter((v) => v.impact === "serious" || v.impact === "critical")
    .flatMap((v) => v.nodes.map((n) => `${v.id}: ${n.target.join(" ")}: ${n.failureSummary ?? ""}`));
}

/** What is wider than the window, and is no part of something that scrolls by itself. */
function tooWide(page: Page): Promise<string[]> {
  return page.evaluate(() => {
    const width = document.documentElement.clientWidth;
    const main = document.querySelector("main");
    const out: string[] = [];
    for (const e of [document.documentElement, main]) {
      if (e && e.scrollWidth > e.clientWidth + 1)
        out.push(`${e.tagName}: ${e.scrollWidth} of ${e.clientWidth}`);
    }
    if (out.length === 0) return out;
    for (const e of document.querySelectorAll("main *")) {
      const { right } = e.getBoundingClientRect();
      if (right > width + 1)
        out.push(`${e.tagName}.${e.getAttribute("class") ?? ""}: to ${Math.round(right)}`);
    }
    return out.slice(0, 12);
  });
}

async function settled(page: Page) {
  await expect(page.locator("main h1, main h2").first()).toBeVisible();
  await expect(page.locator(".skeleton, .loading")).toHaveCount(0);
  await page.evaluate(async () => {
    await document.fonts.ready;
    await new Promise<void>((ok) => requestAnimationFrame(() => requestAnimationFrame(() => ok())));
  });
}

let made: Works | undefined;

test.describe("sweep", () => {
  test.describe.configure({ mode: "parallel" });
  test.beforeAll(async ({ server }) => {
    mkdirSync(shots, { recursive: true });
    made = await works(server);
  });

  for (const name of names) {
    test(`sweep ${name}`, async ({ browser, guard, server }) => {
      test.setTimeout(300_000);
      const path = paths(made!)[name]!;
      const problems: string[] = [];
      for (const [language, locale] of [
        ["en", "en-GB"],
        ["ja", "ja-JP"],
      ] as const) {
        const page = await open(browser, locale);
        await guard.watch(page, server.url);
        for (const width of [1280, 390]) {
          await page.setViewportSize({ width, height: width === 390 ? 844 : 800 });
          await page.goto(`${server.url}/ui/${path}`);
          for (const theme of ["light", "dark"] as const) {
            await page.emulateMedia({ colorScheme: theme, reducedMotion: "reduce" });
            await settled(page);
            await expect(page.locator("html")).toHaveAttribute("data-theme", theme);
            const at = `${name}-${theme}-${language}-${width}`;
            await page.screenshot({ path: `${shots}/${at}.png` });
            for (const b of await barriers(page)) problems.push(`${at}: ${b}`);
            for (const wide of width === 390 ? await tooWide(page) : [])
              problems.push(`${at}: too wide: ${wide}`);
          }
        }
        await page.context().close();
      }
      expect(problems).toEqual([]);
    });
  }
});

async function open(browser: Browser, locale: string): Promise<Page> {
  const context = await browser.newContext({ locale, timezoneId: "Europe/Berlin" });
  return context.newPage();
}
