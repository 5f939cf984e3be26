// Measures performance: time to the first plots, latency of a slider, frame rate of the packets. This is not a test.
// Call: LAB_URL=http://… node apps/lab/tests/performance.mjs, with the address that `levelflow lab` printed.
import { launch, network, open, redraws, url } from "./browser.mjs";

const WARM = 6;
const OPENED = 5;
const median = (numbers) => numbers.toSorted((a, b) => a - b)[Math.floor(numbers.length / 2)];

/** Opens the page in a new browser. Returns the times until it draws the first lines and the complete run, ms. */
async function firstPicture() {
  const browser = await launch();
  const page = await browser.newPage();
  await page.goto(url);
  const at = await page.evaluate(() => new Promise((resolve) => {
    const found = [];
    const look = () => {
      for (const name of ["firstMs", "redrawMs"].slice(found.length)) {
        if (document.body.dataset[name] === undefined) break;
        found.push(Math.round(performance.now()));
      }
      if (found.length < 2) requestAnimationFrame(look);
      else resolve(found);
    };
    look();
  }));
  await browser.close();
  return at.join(" and ");
}

/** Moves the capacity slider. Returns the median times until the complete run and the first lines are drawn, ms. */
async function redraw(page, name) {
  await network(page, name);
  const slider = page.getByRole("slider", { name: "capacity, slider" });
  const times = [];
  for (let step = 0; step < WARM + 7; step += 1) {
    await redraws(page, async () => { await slider.press(step % 2 ? "ArrowRight" : "ArrowLeft"); });
    const both = await page.evaluate(() => [document.body.dataset.redrawMs, document.body.dataset.firstMs].map(Number));
    if (step >= WARM) times.push(both);
  }
  return [0, 1].map((i) => median(times.map((pair) => pair[i])));
}

async function frames(page, name) {
  await network(page, name);
  await page.click("#play");
  await page.waitForTimeout(800);
  const rate = await page.evaluate(() => new Promise((resolve) => {
    const begin = performance.now();
    let count = 0;
    const next = () => {
      count += 1;
      const passed = performance.now() - begin;
      if (passed < 3000) requestAnimationFrame(next);
      else resolve((count * 1000) / passed);
    };
    requestAnimationFrame(next);
  }));
  await page.click("#play");
  return Math.round(rate);
}

for (let time = 0; time < OPENED; time += 1) console.log(`first lines and whole run after opening: ${await firstPicture()} ms`);
const browser = await launch();
const page = await open(browser);
console.log("network  a slider moves: first lines, whole run (ms)  frames per second with packets moving");
for (const name of ["t1", "t2", "t3", "t4", "t5"]) {
  const [whole, first] = await redraw(page, name);
  console.log(`${name.padEnd(8)} ${String(first).padStart(35)}, ${String(whole).padStart(4)} ${String(await frames(page, name)).padStart(24)}`);
}
await browser.close();
