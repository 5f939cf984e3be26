// Functions of the browser tests. LAB_URL is the address that `levelflow lab --no-open` prints.
import { readFile } from "node:fs/promises";
import { chromium } from "playwright-core";

const QUIET = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
  "--disable-component-update", "--disable-sync"];

export const url = process.env.LAB_URL;

export function launch() {
  return chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: QUIET });
}

/** Opens the page and waits for its first run. `page.troubles` lists errors and requests to other hosts. */
export async function open(browser, { at = url, hash = at === url ? "#network=t1" : "", width = 1440, height = 1000, ...more } = {}) {
  const context = await browser.newContext({ viewport: { width, height }, reducedMotion: "reduce", acceptDownloads: true, ...more });
  const page = await context.newPage();
  page.setDefaultTimeout(Number(process.env.PWTIMEOUT ?? 120_000)); // a busy machine is slow
  page.troubles = [];
  page.on("pageerror", (error) => page.troubles.push(error.message));
  page.on("console", (message) => message.type() === "error" && page.troubles.push(message.text()));
  page.on("request", (request) => request.url().startsWith("http") && !request.url().startsWith(at) && page.troubles.push(request.url()));
  await page.goto(at + hash);
  await drawn(page);
  return page;
}

/** Opens a link in the same page, and hides the message of the link before. */
export async function follow(page, hash) {
  await page.locator("#notice").evaluate((notice) => { notice.hidden = true; });
  await page.goto(page.url().split("#")[0] + hash);
}

/** Waits until the page has drawn the run of the newest scenario. */
export async function drawn(page) {
  await page.waitForFunction(() => document.body.dataset.redrawMs !== undefined);
}

/** Performs an action that reruns the scenario, and waits until the result is drawn. */
export async function redraws(page, act) {
  await page.evaluate(() => delete document.body.dataset.redrawMs);
  await act();
  await drawn(page);
}

/** Opens one of the preset networks. */
export function network(page, name) {
  return redraws(page, () => page.selectOption("#preset", name));
}

/** Sets the text of the scenario file and applies it. Long texts are set directly: typing 1,000 lines takes Chromium 10 s. */
export async function applied(page, toml) {
  if (!(await page.locator("#text-box").evaluate((box) => box.open))) await page.click("#text-box summary");
  await page.waitForFunction(() => document.getElementById("toml").value); // the open box shows the scenario
  if (toml.length < 5000) await page.fill("#toml", toml);
  else await page.locator("#toml").evaluate((box, text) => { box.value = text; }, toml);
  await page.click("#apply");
}

/** Returns the description of a plot, with the last value of each line. */
export function words(page, plot, side = "a") {
  return page.locator(`#plots-${side} .${plot}`).getAttribute("aria-label");
}

/** Returns the file that an entry of the Files menu saves. */
export async function saved(page, id) {
  await page.click("#files summary");
  const [download] = await Promise.all([page.waitForEvent("download"), page.click(id)]);
  return readFile(await download.path());
}

export const field = (page, key) => page.locator(`.controls [data-key="${key}"]`);

/** Types into a field, and moves the focus away. */
export async function type(page, key, text) {
  await field(page, key).fill(text);
  await field(page, key).press("Tab");
}
