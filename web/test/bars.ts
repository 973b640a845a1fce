import { availableParallelism, loadavg } from "node:os";
import type { Reporter, TestCase, TestResult } from "@playwright/test/reporter";
import type { Bar } from "./measure";

/** Whether a figure is on the wrong side of its bar, or is none. */
const misses = (b: Bar) => {
  const figure = Math.round(b.figure); // two frames are 33.3 ms
  return !(figure <= (b.most ?? Infinity) && figure >= (b.least ?? -Infinity));
};

/** Prints one table of all that was measured, with its bars. */
export default class Bars implements Reporter {
  readonly #bars: Bar[] = [];
  readonly #before = loadavg()[0]!;

  onTestEnd(_: TestCase, result: TestResult) {
    for (const a of result.annotations)
      if (a.type === "bar") this.#bars.push(JSON.parse(a.description ?? "{}") as Bar);
  }

  onEnd(): Promise<{ status: "failed" } | undefined> {
    if (this.#bars.length === 0) return Promise.resolve(undefined);
    const rows = [["what", "figure", "bar", ""], ...this.#bars.map(row)];
    const wide = [0, 1, 2].map((i) => Math.max(...rows.map((r) => r[i]!.length)));
    console.log();
    for (const [what, figure, limit, verdict] of rows) {
      const cells = [what!.padEnd(wide[0]!), figure!.padStart(wide[1]!), limit!.padStart(wide[2]!), verdict];
      console.log(cells.join("  ").trimEnd());
    }
    const load = [this.#before, loadavg()[0]!].map((n) => n.toFixed(1)).join(" before, ");
    console.log(`\n${availableParallelism()} cores; load of the machine: ${load} after`);
    return Promise.resolve(this.#bars.some(misses) ? { status: "failed" } : undefined);
  }

  printsToStdio() {
    return false;
  }
}

const number = (n: number) =>
  n < 10 && !Number.isInteger(n) ? n.toFixed(1) : Math.round(n).toLocaleString("en-GB");

function row(b: Bar): string[] {
  const limit =
    b.most !== undefined ? `≤ ${number(b.most)}` : b.least !== undefined ? `≥ ${number(b.least)}` : "";
  return [b.what, `${number(b.figure)} ${b.unit}`, limit, limit === "" ? "" : misses(b) ? "FAIL" : "pass"];
}
