import { defineConfig, devices } from "@playwright/test";

const launchOptions = {
  executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
  args: [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
  ],
};

export default defineConfig({
  testDir: "test",
  outputDir: "test-results",
  // Two workers are two servers and two browsers.
  workers: Number(process.env.WORKERS ?? 2),
  fullyParallel: false,
  forbidOnly: true,
  retries: 0,
  timeout: 240_000,
  // A busy machine stands still for seconds; nothing waits so long that works.
  expect: { timeout: 60_000 },
  reporter: [["list"], ["./test/bars.ts"]],
  use: {
    ...devices["Desktop Chrome"],
    viewport: { width: 1280, height: 800 },
    locale: "en-GB",
    timezoneId: "Europe/Berlin",
    launchOptions,
    // A picture shows what was wrong in most cases; recording every step costs a third of the time of all tests.
    screenshot: "only-on-failure",
    trace: process.env.TRACE ? "retain-on-failure" : "off",
  },
  projects: [
    { name: "tests", testMatch: "**/*.spec.ts" },
    { name: "postgres", testMatch: ["**/session.spec.ts", "**/execution.spec.ts"] },
    { name: "bench", testMatch: "**/*.bench.ts", workers: 1, use: { screenshot: "off" } },
    { name: "shots", testMatch: "**/*.shots.ts", workers: 1 },
  ],
});
