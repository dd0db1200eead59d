// The page in a real browser: every control has its effect on the numbers that are shown.

import assert from "node:assert/strict";
import { mkdtempSync } from "node:fs";
import { createServer } from "node:http";
import { once } from "node:events";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { control, openPage, startBrowser, startViewer, state, until } from "./server.mjs";

let viewer, browser;
before(async () => {
  [viewer, browser] = await Promise.all([startViewer(), startBrowser()]);
});
after(async () => {
  await browser?.close();
  await viewer?.stop();
});

const at = (link) => `${viewer.address}#${link}`;
const HEAT = "task=heat1d&policy=heat1d&beside=&case=0";
const pixels = (page, id) => page.evaluate((name) => document.getElementById(name).toDataURL(), id);
/** Waits until a canvas shows something else. */
const redrawn = (page, id, old) =>
  until(page, ([name, before]) => document.getElementById(name).toDataURL() !== before, [id, old]);

test("the page loads without errors, and the field moves", async () => {
  const { page, wrong } = await openPage(browser, at(`${HEAT}&paused`));
  const [field, twin] = [await pixels(page, "field"), await pixels(page, "twin")];
  await control(page, "play").click();
  await until(page, () => window.cinoc.state().step > 20);
  await redrawn(page, "field", field);
  await redrawn(page, "twin", twin);
  const { error, uncontrolled } = await state(page);
  assert.ok(error < 0.2 * uncontrolled, `${error} and ${uncontrolled}`);
  await page.screenshot({ path: "heat1d.png" });
  assert.deepEqual(wrong, []);
  await page.close();
});

test("play, step, speed, reset and new case", async () => {
  const { page, wrong } = await openPage(browser, at(`${HEAT}&paused`));
  assert.equal((await state(page)).step, 0);
  await control(page, "step").click();
  await until(page, () => window.cinoc.state().step === 1);
  await control(page, "speed").selectOption("0");
  await control(page, "play").click();
  await until(page, () => window.cinoc.state().step > 100);
  await control(page, "play").click();
  await page.waitForTimeout(300);
  const { step } = await state(page);
  await page.waitForTimeout(300);
  assert.equal((await state(page)).step, step, "it stands still");
  await control(page, "reset").click();
  await until(page, () => window.cinoc.state().step === 0);
  const before = (await state(page)).uncontrolled;
  await control(page, "new-case").click();
  await until(page, (old) => window.cinoc.state().uncontrolled !== old, before);
  assert.match(page.url(), /case=1/);
  assert.deepEqual(wrong, []);
  await page.close();
});

test("agents, failures, noise and coefficients", async () => {
  const { page, wrong } = await openPage(browser, at(`${HEAT}&paused`));
  await control(page, "agents").fill("1000");
  await control(page, "agents").press("Enter");
  await until(page, () => window.cinoc.state().agents === 1000);
  assert.equal(await control(page, "agent-count").textContent(), "1000 of 1000");
  await control(page, "agents").fill("20");
  await control(page, "agents").press("Enter");
  await until(page, () => window.cinoc.state().agents === 20);
  await control(page, "fail").fill("0.5");
  await until(page, () => window.cinoc.state().alive === 10);
  await control(page, "noise").fill("0.1");
  await control(page, "noise").press("Enter");
  await until(page, () => location.hash.includes("noise.sensor"));
  await control(page, "physics.nu").fill("0.5");
  await control(page, "physics.nu").press("Enter");
  await until(page, () => location.hash.includes("physics.nu"));
  await control(page, "step").click();
  await until(page, () => window.cinoc.state().step === 1);
  const noisy = await page.evaluate(() => window.cinoc.field());
  // what the address says gives the same numbers in another tab
  const other = await openPage(browser, page.url().replace("#", "#paused=1&"));
  await control(other.page, "step").click();
  await until(other.page, () => window.cinoc.state().step === 1);
  assert.deepEqual(await other.page.evaluate(() => window.cinoc.field()), noisy);
  assert.deepEqual([...wrong, ...other.wrong], []);
  await page.close();
  await other.page.close();
});

test("a bad value is refused with a reason", async () => {
  const { page } = await openPage(browser, at(`${HEAT}&paused`));
  await control(page, "physics.nu").fill("-3");
  await control(page, "physics.nu").press("Enter");
  await until(page, () => document.getElementById("notice").textContent.includes("physics.nu"));
  await page.close();
});

test("agents are silenced, woken, dragged and added, and the field is disturbed, by mouse", async () => {
  const { page, wrong } = await openPage(browser, at(`${HEAT}&paused`));
  const box = await control(page, "field").boundingBox();
  const [first] = await page.evaluate(() => window.cinoc.positions());
  const [x, y] = await page.evaluate(() => window.cinoc.agentAt(0));
  const [column, row] = [box.x + x, box.y + y];
  await page.mouse.click(column, row);
  await until(page, () => window.cinoc.state().alive === 7);
  await page.mouse.click(column, row);
  await until(page, () => window.cinoc.state().alive === 8);
  await page.mouse.move(column, row);
  await page.mouse.down();
  await page.mouse.move(column + 0.1 * box.width, row, { steps: 5 });
  await page.mouse.up();
  await until(page, (x) => Math.abs(window.cinoc.positions()[0] - x - 0.1) < 0.02, first);
  await page.keyboard.down("Shift");
  await page.mouse.click(box.x + 0.9 * box.width, box.y + 10);
  await page.keyboard.up("Shift");
  await until(page, () => window.cinoc.state().agents === 9);
  await control(page, "reset").click();
  await until(page, () => window.cinoc.state().agents === 8);
  const calm = (await state(page)).error;
  await page.mouse.click(box.x + 0.5 * box.width, box.y + 4);
  await control(page, "step").click();
  await until(page, (old) => window.cinoc.state().step === 1 && window.cinoc.state().error !== old, calm);
  assert.match(page.url(), /disturb/);
  assert.deepEqual(wrong, []);
  await page.close();
});

test("the keyboard is enough", async () => {
  const { page, wrong } = await openPage(browser, at(`${HEAT}&paused`));
  await control(page, "field").focus();
  await page.keyboard.press(".");
  await until(page, () => window.cinoc.state().step === 1);
  await page.keyboard.press("k");
  await until(page, () => window.cinoc.state().alive === 7);
  await page.keyboard.press("ArrowLeft");
  await page.keyboard.press("a");
  await until(page, () => window.cinoc.state().agents === 9);
  await page.keyboard.press("Enter");
  await until(page, () => location.hash.includes("disturb"));
  await page.keyboard.press(" ");
  await until(page, () => window.cinoc.state().step > 5);
  assert.deepEqual(wrong, []);
  await page.close();
});

test("policies are chosen, compared and left out; grids are refined; in 2D too", async () => {
  const { page, wrong } = await openPage(browser, at(HEAT));
  await control(page, "policy").selectOption("heat2d-obstacles");
  await until(page, () => window.cinoc.state().task === "heat2d-obstacles" && window.cinoc.state().step > 3);
  await page.screenshot({ path: "heat2d-obstacles.png" });
  await control(page, "policy").selectOption("fkpp1d");
  await until(page, () => window.cinoc.state().task === "fkpp1d");
  await control(page, "beside").selectOption("fkpp1d");
  await until(page, () => window.cinoc.state().step > 5 && window.cinoc.state().error === window.cinoc.state().uncontrolled);
  await control(page, "beside").selectOption("");
  await control(page, "refine").selectOption("2");
  await until(page, () => window.cinoc.field().length > 150);
  await control(page, "policy").selectOption("");
  await until(page, () => window.cinoc.state().policy === null && window.cinoc.state().agents === 0);
  assert.deepEqual(wrong, []);
  await page.close();
});

test("links, pictures and animations are saved", async () => {
  const { page, wrong } = await openPage(browser, at(HEAT));
  await control(page, "link").click();
  await until(page, () => /link/.test(document.getElementById("notice").textContent));
  const picture = page.waitForEvent("download");
  await control(page, "picture").click();
  assert.equal((await picture).suggestedFilename(), "cinoc-heat1d.png");
  await control(page, "record").click();
  await until(page, () => /Stop \(([3-9]|\d\d)/.test(document.getElementById("record").textContent));
  const film = page.waitForEvent("download");
  await control(page, "record").click();
  await (await film).saveAs("heat1d.gif");
  const size = await page.evaluate(async () => document.getElementById("record").textContent);
  assert.equal(size, "Record GIF");
  assert.deepEqual(wrong, []);
  await page.close();
});

test("two tabs do not disturb each other, and a reload begins again", async () => {
  const [one, two] = [await openPage(browser, at(HEAT)), await openPage(browser, at(`${HEAT}&paused`))];
  await until(one.page, () => window.cinoc.state().step > 30);
  assert.equal((await state(two.page)).step, 0);
  await control(two.page, "step").click();
  await until(two.page, () => window.cinoc.state().step === 1);
  await two.page.evaluate((link) => history.replaceState(null, "", link), `#${HEAT}&paused`);
  await two.page.reload();
  await until(two.page, () => window.cinoc?.state()?.step === 0);
  await one.page.close();
  await two.page.close();
});

test("a server that is killed and started again is found again", async () => {
  const port = String(20000 + (process.pid % 20000));
  const options = ["--port", port, "--token", "abcdefgh12345678"];
  let own = await startViewer(...options);
  const { page } = await openPage(browser, `${own.address}#${HEAT}`);
  await own.stop();
  await until(page, () => /lost/.test(document.getElementById("notice").textContent));
  own = await startViewer(...options);
  await until(page, () => document.getElementById("notice").hidden && window.cinoc.state().step > 3);
  await page.close();
  await own.stop();
});

test("another site cannot open a simulation", async () => {
  const site = createServer((_, answer) => answer.setHeader("Content-Type", "text/html").end("<p>another site"));
  site.listen(0, "127.0.0.1");
  await once(site, "listening");
  const page = await browser.newPage();
  await page.goto(`http://127.0.0.1:${site.address().port}/`);
  const outcome = await page.evaluate(
    (address) =>
      new Promise((tell) => {
        const socket = new WebSocket(address);
        socket.onopen = () => tell("open");
        socket.onerror = () => tell("refused");
      }),
    `${viewer.address.replace("http", "ws")}live`,
  );
  assert.equal(outcome, "refused");
  await page.close();
  site.close();
});

test("a narrow screen, and a dark one", async () => {
  const narrow = await openPage(browser, at("task=heat2d&policy=heat2d&beside=&case=0"), {
    viewport: { width: 360, height: 740 },
    colorScheme: "dark",
    hasTouch: true,
  });
  await until(narrow.page, () => window.cinoc.state().step > 3);
  const wide = await narrow.page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
  assert.ok(wide <= 0, `${wide} pixels too wide`);
  await narrow.page.screenshot({ path: "narrow-dark.png", fullPage: true });
  assert.deepEqual(narrow.wrong, []);
  await narrow.page.close();
});

test("every control has a name", async () => {
  const { page } = await openPage(browser, at(HEAT));
  const nameless = await page.evaluate(() =>
    [...document.querySelectorAll("button, select, input, canvas")]
      .filter((one) => !(one.textContent?.trim() || one.getAttribute("aria-label") || one.labels?.length))
      .map((one) => one.id),
  );
  assert.deepEqual(nameless, []);
  await page.close();
});

test("a training is watched", async () => {
  const folder = mkdtempSync(join(tmpdir(), "cinoc-"));
  const small = ["time.steps=20", "train.batch=4", "data.pool=16", "train.checkpoint_every=5", "train.warmup=2"];
  const sets = small.flatMap((set) => ["--set", set]);
  const own = await startViewer("--train", "heat1d", "--updates", "40", "--out", join(folder, "run"), ...sets);
  const { page, wrong } = await openPage(browser, own.address);
  await until(page, () => document.getElementById("learned").textContent === "40 of 40");
  const drawn = await page.evaluate(() => document.getElementById("learning").getBoundingClientRect().height);
  assert.ok(drawn > 100);
  assert.match((await state(page)).policy, /run$/);
  assert.deepEqual(wrong, []);
  await page.close();
  await own.stop();
});
