// A viewer and a browser for tests.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { chromium } from "playwright-core";

/** Starts `cinoc view`; `stop` ends it at once. */
export async function startViewer(...options) {
  const child = spawn(process.env.CINOC, ["view", "--no-open", ...options], { stdio: ["ignore", "pipe", "inherit"] });
  const [line] = await once(child.stdout, "data");
  return {
    address: String(line).trim(),
    pid: child.pid,
    async stop() {
      const ended = once(child, "exit");
      child.kill("SIGKILL");
      await ended;
    },
  };
}

/** A browser without a screen. Its sandbox does not work for root. */
export function startBrowser() {
  const args = process.getuid?.() === 0 ? ["--no-sandbox"] : [];
  return chromium.launch({ executablePath: process.env.CHROMIUM, args: [...args, "--enable-precise-memory-info"] });
}

/** Opens a page and collects what goes wrong on it. */
export async function openPage(browser, address, options = {}) {
  const page = await browser.newPage({ viewport: { width: 1280, height: 860 }, ...options });
  const wrong = [];
  page.on("console", (message) => message.type() === "error" && wrong.push(message.text()));
  page.on("pageerror", (error) => wrong.push(error.message));
  await page.goto(address);
  await page.waitForFunction(() => window.cinoc?.state());
  return { page, wrong };
}

export const state = (page) => page.evaluate(() => window.cinoc.state());
export const control = (page, name) => page.getByTestId(name);
/** Waits until the state of the page fulfils a condition, given as a function in the page. */
export const until = (page, condition, argument) =>
  page.waitForFunction(condition, argument, { timeout: 60_000 });
