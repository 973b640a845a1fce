import type { Page } from "@playwright/test";
import { drawing, Run, wide } from "./flow";
import {
  bar,
  expect,
  five,
  forSeconds,
  frames,
  median,
  quantile,
  test,
  until,
  watchActs,
  type Watched,
} from "./measure";

// The graph and the timeline of large executions, and the slider over their events.

test.describe.configure({ mode: "default", timeout: 600_000 });

/** The p50 and p95 of the frames while the mouse drags and the wheel zooms. */
async function panAndZoom(page: Page, what: string) {
  const box = (await page.getByRole("application").boundingBox())!;
  const [x, y] = [box.x + box.width / 2, box.y + box.height / 2];
  await page.mouse.move(x, y);
  await page.mouse.down();
  const pan = await frames(page, () =>
    forSeconds(3, (i) => page.mouse.move(x + 150 * Math.sin(i / 20), y + 60 * Math.sin(i / 13))),
  );
  await page.mouse.up();
  bar(`${what}: panning, frame p50`, median(pan), "ms", { most: 17 });
  bar(`${what}: panning, frame p95`, quantile(pan, 0.95), "ms", { most: 33 });
  await page.keyboard.down("Control");
  const zoom = await frames(page, () =>
    forSeconds(3, (i) => page.mouse.wheel(0, Math.floor(i / 25) % 2 === 0 ? -20 : 20)),
  );
  await page.keyboard.up("Control");
  bar(`${what}: zooming, frame p95`, quantile(zoom, 0.95), "ms", { most: 33 });
}

test("graph", async ({ page, server }) => {
  await watchActs(page);
  const run = await Run.of(server, wide(996));
  const shown: number[] = [];
  for (let i = 0; i < 5; i++) {
    await run.open(page);
    await expect(await drawing(page)).toHaveAttribute("data-drawn", "5");
    const unfold = () => page.locator('[data-fold="fan"]').click();
    shown.push(await until(page, unfold, { selector: '.graph-area[data-drawn="1000"]' }));
  }
  bar("graph of 1,000 nodes: on screen after it is unfolded (aim 400)", median(shown), "ms", { most: 1000 });
  await page.keyboard.press("/");
  await page.getByRole("combobox", { name: "Find a node" }).fill("t500");
  await page.keyboard.press("Enter");
  await expect(page.locator('.graph-svg [data-node="t500"]')).toBeInViewport();
  await panAndZoom(page, "graph of 1,000 nodes, with texts");
  await page.keyboard.press("f");
  await expect(page.locator('.graph-svg .gfar [data-far="READY"]')).toHaveCount(1);
  await panAndZoom(page, "graph of 1,000 nodes, from afar");
});

/** How long after the click on its tab bars are on the canvas, in milliseconds. */
async function barsAfterClick(page: Page): Promise<number> {
  await page.evaluate(() => {
    const w = window as unknown as Watched;
    w.seen = new Promise((ok) => {
      const look = () => {
        const canvas = document.querySelector<HTMLCanvasElement>('[data-rows="2000"] canvas');
        const c = canvas?.getContext("2d");
        if (!canvas || !c || canvas.width === 0) return void requestAnimationFrame(look);
        const hex = getComputedStyle(canvas).getPropertyValue("--state-succeeded").trim();
        const want = [1, 3, 5].map((i) => parseInt(hex.slice(i, i + 2), 16));
        const { data } = c.getImageData(0, 0, canvas.width, canvas.height);
        for (let i = 0; i < data.length; i += 4)
          if (want.every((v, k) => Math.abs(data[i + k]! - v) < 3))
            return void setTimeout(() => ok(performance.now() - w.acted));
        requestAnimationFrame(look);
      };
      requestAnimationFrame(look);
    });
  });
  await page.getByRole("tab", { name: "Timeline" }).click();
  return page.evaluate(() => (window as unknown as Watched).seen);
}

test("timeline and slider", async ({ page, server }) => {
  await watchActs(page);
  const run = await Run.of(server, wide(2000));
  await run.workAll("many");
  expect((await run.state()).seq).toBeGreaterThanOrEqual(10_000);
  const bars = await five(async () => {
    await run.open(page);
    await drawing(page);
    return barsAfterClick(page);
  });
  bar("timeline of 10,000 events: bars after the click", bars, "ms", { most: 1500 });
  const timeline = page.getByRole("application", { name: /^Timeline/ });
  await timeline.hover();
  await page.keyboard.down("Control");
  await forSeconds(1, () => page.mouse.wheel(0, -60));
  await page.keyboard.up("Control");
  const zoomed = Number(await timeline.getAttribute("data-to"));
  const pan = await frames(page, () =>
    forSeconds(3, (i) => page.mouse.wheel(Math.floor(i / 30) % 2 === 0 ? 30 : -30, 0)),
  );
  expect(Number(await timeline.getAttribute("data-to")), "it was panned").not.toBe(zoomed);
  bar("timeline of 10,000 events: panning, frame p50", median(pan), "ms", { most: 17 });
  bar("timeline of 10,000 events: panning, frame p95", quantile(pan, 0.95), "ms", { most: 33 });

  await run.open(page);
  await drawing(page);
  const slider = page.locator(".slider");
  const track = slider.getByRole("slider");
  await track.focus();
  await expect(slider).toHaveAttribute("data-ready", "true");
  await track.dispatchEvent("pointerdown");
  const steps = await track.evaluate(async (el) => {
    const input = el as HTMLInputElement;
    const set = Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, "value")!.set!;
    const group = input.closest(".slider")!;
    const took: number[] = [];
    for (let i = 1; i <= 60; i++) {
      const before = group.getAttribute("data-shown");
      await new Promise((ok) => requestAnimationFrame(ok));
      const began = performance.now();
      const shown = new Promise<void>((ok) => {
        const watch = new MutationObserver(() => {
          if (group.getAttribute("data-shown") === before) return;
          watch.disconnect();
          ok();
        });
        watch.observe(group, { attributes: true });
      });
      set.call(input, String(Math.round((Number(input.max) * ((i * 37) % 60)) / 60) + 1));
      input.dispatchEvent(new Event("input", { bubbles: true }));
      await shown;
      took.push(performance.now() - began);
    }
    return took;
  });
  await track.dispatchEvent("pointerup");
  bar("slider over 10,000 events: a step while dragging, median", median(steps), "ms", { most: 16 });
});
