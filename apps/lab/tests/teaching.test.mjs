// The game in which the user sets the sending rate, and printed sheets.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, before, test } from "node:test";
import { Engine } from "../web/engine.js";
import { GAME, gameOf, RIVALS, scoreOf } from "../web/score.js";
import { launch, open } from "./browser.mjs";

const engine = new Engine(new WebAssembly.Module(readFileSync(new URL("../page/engine.wasm", import.meta.url))));
let browser;
before(async () => { browser = await launch(); });
after(() => browser.close());

/** Runs the game with a rate at each time; returns its score. */
function played(rateAt, scenario = GAME) {
  const resolved = engine.open(scenario);
  for (let time = 0.1; time <= 30; time += 0.1) {
    engine.advance(time, Infinity);
    engine.steer(0, rateAt(time));
  }
  engine.advance(Infinity, Infinity);
  return scoreOf({ resolved, tables: engine.take(), now: engine.now, summary: engine.summary() });
}

test("half of a constant link scores 50; an overload scores base RTT / (base RTT + delay of the full buffer)", () => {
  const steady = structuredClone(GAME);
  delete steady.link[0].changes;
  const half = played(() => 5e6, steady);
  assert.ok(Math.abs(half.score - 50) < 1, `${half.score}`);
  const over = played(() => 15e6, steady);
  assert.ok(Math.abs(over.score - (100 * 100) / (100 + 80)) < 1.5, `${over.score}`); // 100 packets at 10 Mb/s: 80 ms
});

test("a sender that foresees the capacity beats all laws, and each law beats a constant 1 Mb/s", () => {
  const capacity = (time) => [[24, 7e6], [17, 14e6], [9, 4e6], [0, 10e6]].find(([from]) => time >= from - 0.1)[1];
  const best = played((time) => 0.97 * capacity(time)).score;
  const idle = played(() => 1e6).score;
  for (const law of RIVALS) {
    const resolved = engine.open(gameOf(law));
    engine.advance(Infinity, Infinity);
    const { score } = scoreOf({ resolved, tables: engine.take(), now: engine.now, summary: engine.summary() });
    assert.ok(score > idle && score < best, `${law} ${score}, ${idle} to ${best}`);
  }
});

test("the user plays a game: the slider sets the rate, and the table compares the score with the laws", async () => {
  const page = await open(browser);
  await page.clock.install();
  await page.click("#steer-open");
  await page.click("#steer-start");
  await page.locator("#steer-rate").fill("6000000");
  assert.equal(await page.textContent("#steer-now"), "6 Mb/s");
  for (let step = 0; step < 2000 && (await page.locator("#steer-table tr").count()) === 0; step += 1) await page.clock.runFor(100);
  const rows = await page.locator("#steer-table tbody tr").allTextContents();
  assert.equal(rows.length, 1 + RIVALS.length);
  const own = await page.locator("#steer-table tr.chosen td").allTextContents();
  // 6 Mb/s fills 4 Mb/s for 8 s, and uses 60, 43 and 86 % of the other capacities.
  assert.ok(Number(own[0]) > 40 && Number(own[0]) < 80, own.join());
  assert.match(own[3], /^\d+(\.\d+)? %$/);
  await page.click("#steer-close");
  assert.ok(await page.locator("#steer").isHidden());
  assert.deepEqual(page.troubles, []);
  await page.context().close();
});

test("the game fits a phone, with its slider and plots on one screen", async () => {
  const page = await open(browser, { hash: "#steer", width: 390, height: 844 });
  await page.clock.install();
  await page.click("#steer-start");
  for (let step = 0; step < 100 && (await page.locator("#steer-plots canvas").count()) < 2; step += 1) await page.clock.runFor(100);
  const boxes = await page.evaluate(() => ["#steer-rate", "#steer-plots .rates", "#steer-plots .queues"].map((one) => document.querySelector(one).getBoundingClientRect().toJSON()));
  for (const { top, bottom, left, right } of boxes) assert.ok(top >= 0 && bottom <= 844 && left >= 0 && right <= 390, JSON.stringify(boxes));
  await page.context().close();
});

test("sheets print each lesson of the course, with answers only on request", async () => {
  const page = await open(browser);
  await page.evaluate(() => { window.print = () => { window.printed = (window.printed ?? 0) + 1; }; });
  for (const [button, answers] of [["#print-sheet", false], ["#print-answers", true]]) {
    await page.click("#files summary");
    await page.click(button);
    await page.waitForFunction(() => document.body.classList.contains("printing"));
    assert.equal(await page.locator("#sheet article").count(), 6);
    const text = await page.locator("#sheet").textContent();
    assert.equal(text.includes("100 packets × 8000 bit / 7 Mb/s = 114 ms"), answers);
    assert.equal(text.includes("☒"), answers);
    await page.emulateMedia({ media: "print" });
    assert.ok(await page.locator("#sheet article").first().isVisible());
    assert.ok(await page.locator("main").isHidden());
    await page.emulateMedia({ media: "screen" });
    await page.evaluate(() => window.dispatchEvent(new Event("afterprint")));
    assert.ok(await page.locator("main").isVisible());
  }
  assert.deepEqual(page.troubles, []);
  await page.context().close();
});
