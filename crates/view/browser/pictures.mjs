// The pictures of docs/view.md: node pictures.mjs FOLDER, with CINOC and CHROMIUM as in scripts/test-browser.

import { control, openPage, startBrowser, startViewer, until } from "./server.mjs";

const folder = process.argv[2];
const [viewer, browser] = await Promise.all([startViewer(), startBrowser()]);
const at = (task, number) => `${viewer.address}#task=${task}&policy=${task}&beside=&case=${number}`;
for (const [task, number, steps] of [["ks2d", 0, 90], ["heat2d-obstacles", 1, 200]]) {
  const { page } = await openPage(browser, at(task, number), { viewport: { width: 1120, height: 760 } });
  await until(page, (wanted) => window.cinoc.state().step > wanted, steps);
  await page.screenshot({ path: `${folder}/view-${task}.png` });
  await page.close();
}
// an animation: agents are killed, the field is disturbed, agents are added
const { page } = await openPage(browser, at("fkpp1d", 1), { viewport: { width: 1000, height: 760 } });
await control(page, "speed").selectOption("20");
await control(page, "record").click();
await page.waitForTimeout(3000);
await control(page, "fail").fill("0.5");
await page.waitForTimeout(1500);
const box = await control(page, "field").boundingBox();
await page.mouse.move(box.x + 0.3 * box.width, box.y + 10);
await page.mouse.down();
await page.waitForTimeout(500);
await page.mouse.up();
await page.waitForTimeout(2500);
const film = page.waitForEvent("download");
await control(page, "record").click();
await (await film).saveAs(`${folder}/view.gif`);
await browser.close();
await viewer.stop();
