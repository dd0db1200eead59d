// Measures the viewer: node measure.mjs [MINUTES OF THE LONG RUN], with CINOC and CHROMIUM as in scripts/test-browser.

import { readFileSync } from "node:fs";
import { control, openPage, startBrowser, startViewer, until } from "./server.mjs";

const minutes = Number(process.argv[2] ?? 1);
const started = performance.now();
const viewer = await startViewer();
console.log(`server ready after ${Math.round(performance.now() - started)} ms`);
const browser = await startBrowser();
const at = (task) => `${viewer.address}#task=${task}&policy=${task}&beside=&case=0`;

/** Frames per second over some seconds, and steps per second. */
const rates = (page) =>
  page.evaluate(async () => {
    const wait = (ms) => new Promise((done) => setTimeout(done, ms));
    await wait(1500);
    const [before, step, time] = [window.cinoc.frames(), window.cinoc.state().step, performance.now()];
    await wait(4000);
    const seconds = (performance.now() - time) / 1000;
    return [(window.cinoc.frames() - before) / seconds, (window.cinoc.state().step - step) / seconds];
  });

for (const [task, agents] of [["fkpp1d", 20], ["heat1d", 1000], ["heat2d", 16], ["heat2d", 1000], ["ks2d", 100], ["turb2d", 64]]) {
  const opened = performance.now();
  const { page } = await openPage(browser, at(task));
  const first = performance.now() - opened;
  await control(page, "agents").fill(String(agents));
  await control(page, "agents").press("Enter");
  await until(page, (wanted) => window.cinoc.state().agents === wanted, agents);
  const [frames, steps] = await rates(page);
  // from the click to the first frame with the effect
  const delays = [];
  for (let k = 0; k < 10; k++) {
    delays.push(
      await page.evaluate(async () => {
        const before = window.cinoc.state().alive;
        const time = performance.now();
        const field = document.getElementById("field");
        field.focus();
        field.dispatchEvent(new KeyboardEvent("keydown", { key: "k", bubbles: true }));
        while (window.cinoc.state().alive === before) await new Promise(requestAnimationFrame);
        return performance.now() - time;
      }),
    );
  }
  delays.sort((a, b) => a - b);
  console.log(
    `${task}, ${agents} agents: first frame ${Math.round(first)} ms, ${frames.toFixed(0)} frames/s, ${steps.toFixed(0)} steps/s, ` +
      `input to effect ${delays[5].toFixed(0)} ms (largest ${delays[9].toFixed(0)} ms)`,
  );
  await page.close();
}

const resident = () => Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${viewer.pid}/status`, "utf8"))?.[1]) / 1024;
const { page } = await openPage(browser, at("fkpp1d"));
await control(page, "speed").selectOption("0");
const session = await page.context().newCDPSession(page);
for (let minute = 0; minute <= minutes; minute++) {
  await session.send("HeapProfiler.collectGarbage");
  const heap = await page.evaluate(() => performance.memory.usedJSHeapSize / 2 ** 20);
  const { step } = await page.evaluate(() => window.cinoc.state());
  console.log(`minute ${minute}: server ${resident().toFixed(1)} MB, page ${heap.toFixed(2)} MB, step ${step}`);
  if (minute < minutes) await page.waitForTimeout(60_000);
}
await browser.close();
await viewer.stop();
