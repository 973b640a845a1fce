import { mkdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import type { Browser, BrowserContext, Page } from "@playwright/test";
import { expect, test } from "./fixture";
import type { Works } from "./works";

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

/** The rules of axe about colours. */
const colours = ["color-contrast", "link-in-text-block"];

/** What axe finds that keeps people out. */
async function barriers(page: Page, rules: object): Promise<string[]> {
  const found = await page.evaluate(
    async (options) => {
      interface Axe {
        run: (context: Document, options: object) => Promise<{ violations: Finding[] }>;
      }
      const { axe } = window as unknown as { axe: Axe };
      return (await axe.run(document, options)).violations;
    },
    { preload: false, resultTypes: ["violations"], ...rules },
  );
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

/** One for all pages of a worker, so that scripts are read and compiled once. The browser speaks Japanese. */
let context: Promise<BrowserContext> | undefined;

function open(browser: Browser): Promise<Page> {
  context ??= browser.newContext({ locale: "ja-JP", timezoneId: "Europe/Berlin", reducedMotion: "reduce" });
  return context.then((c) => c.newPage());
}

/** Choose a language as if in another tab, or none: then that of the browser counts. */
async function speak(page: Page, language?: "en") {
  await page.evaluate((l) => {
    if (l === undefined) localStorage.removeItem("renga.language");
    else localStorage.setItem("renga.language", JSON.stringify(l));
    dispatchEvent(new StorageEvent("storage", { key: "renga.language" }));
  }, language);
  await expect(page.locator("html")).toHaveAttribute("lang", language ?? "ja");
}

// axe reads each page in both languages and widths by all rules but those about colours, and in both themes and widths
// by those about colours: words do not change colours, and a theme changes nothing else.
const structure = { rules: Object.fromEntries(colours.map((id) => [id, { enabled: false }])) };

const looks = [
  { language: "ja", theme: "light", rules: structure },
  { language: "ja", theme: "dark", rules: undefined },
  { language: "en", theme: "dark", rules: { runOnly: colours } },
  { language: "en", theme: "light", rules: {} },
] as const;

test.describe("sweep", () => {
  test.describe.configure({ mode: "parallel" });
  for (const name of names) {
    test(`sweep ${name}`, async ({ browser, company, guard, server }) => {
      test.setTimeout(300_000);
      mkdirSync(shots, { recursive: true });
      const problems: string[] = [];
      const page = await open(browser);
      await guard.watch(page, server.url);
      for (const width of [1280, 390]) {
        await page.setViewportSize({ width, height: width === 390 ? 844 : 800 });
        await page.emulateMedia({ colorScheme: "light" });
        await page.goto(`${server.url}/ui/${paths(company)[name]!}`);
        await page.evaluate(axe);
        for (const { language, theme, rules } of looks) {
          await page.emulateMedia({ colorScheme: theme });
          await speak(page, language === "en" ? "en" : undefined);
          await expect(page.locator("html")).toHaveAttribute("data-theme", theme);
          await settled(page);
          const at = `${name}-${theme}-${language}-${width}`;
          await page.screenshot({ path: `${shots}/${at}.png` });
          for (const b of rules ? await barriers(page, rules) : []) problems.push(`${at}: ${b}`);
          for (const wide of width === 390 ? await tooWide(page) : [])
            problems.push(`${at}: too wide: ${wide}`);
        }
        await speak(page);
      }
      await page.close();
      expect(problems).toEqual([]);
    });
  }
});
