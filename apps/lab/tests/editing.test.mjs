// Editing and running: empty drawings, applied texts, errors, long runs, comparisons.
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { after, before, test } from "node:test";
import { applied, drawn, field, launch, network, open, redraws, saved, type, words } from "./browser.mjs";

let browser;
before(async () => { browser = await launch(); });
after(() => browser.close());

/** Chooses two nodes for a new link or flow. */
async function connect(page, kind, from, to) {
  await page.click(`#add-${kind}`);
  await page.click(`[data-key='node ${from}']`);
  await redraws(page, () => page.click(`[data-key='node ${to}']`));
}

test("an empty drawing becomes a network that runs; a network without flows does not", async () => {
  const page = await open(browser);
  await network(page, "empty");
  assert.equal(await page.locator("#stage-a .node").count(), 0);
  assert.match(await page.textContent("#status"), /Draw a network/);
  for (const _ of [1, 2, 3]) await redraws(page, () => page.click("#add-node"));
  await connect(page, "link", "N1", "N2");
  assert.equal(await page.locator("#plots-a canvas").count(), 0);
  await connect(page, "flow", "N1", "N2");
  assert.match(await words(page, "rates"), /x1 ends at \d/);
  assert.equal(await page.locator("#stage-a .node").count(), 3); // N3 has no link
  await page.reload();
  await drawn(page);
  assert.equal(await page.locator("#stage-a .node").count(), 3);
  await page.click("[data-key='node N3']");
  await redraws(page, () => page.click("#remove"));
  assert.equal(await page.locator("#stage-a .node").count(), 2);
  await page.click("[data-key='flow 0']");
  await redraws(page, () => page.click("#remove"));
  assert.match(await page.textContent("#status"), /Draw a network/);
  await redraws(page, () => page.click("#undo"));
  assert.match(await words(page, "rates"), /x1 ends at \d/);
  assert.deepEqual(page.troubles, []);
  await page.context().close();
});

test("an applied text runs once", async () => {
  const page = await open(browser);
  const toml = (await saved(page, "#save-toml")).toString();
  await page.evaluate(() => {
    const all = [];
    const { postMessage } = Worker.prototype;
    Worker.prototype.postMessage = function post(message, ...more) {
      all.push(message.kind);
      postMessage.call(this, message, ...more);
    };
    window.sent = all;
  });
  await redraws(page, () => applied(page, toml));
  await page.waitForFunction(() => window.sent.includes("check"));
  assert.equal(await page.evaluate(() => window.sent.filter((kind) => kind === "run").length), 1);
  await page.context().close();
});

test("a law that needs marks offers a queue that marks packets", async () => {
  const page = await open(browser, { hash: "#network=pair" });
  for (const [law, queue] of [["dctcp", "red"], ["prague", "dualpi2"]]) {
    await page.selectOption("#law-all", law);
    await page.locator("#mistakes", { hasText: "no queue on its path marks packets" }).waitFor();
    await redraws(page, () => page.getByRole("button", { name: "Use a queue that marks packets" }).click());
    assert.equal(await field(page, "link.0.queue").inputValue(), queue);
    assert.match(await words(page, "rates"), /first ends at \d/);
    await page.click("#undo");
  }
  await page.context().close();
});

test("an error outside the screen is also shown at the top, with a way to its field", async () => {
  const page = await open(browser, { height: 500 });
  const toml = (await saved(page, "#save-toml")).toString().replace('"70 s"', '"1000000000 s"');
  await page.setInputFiles("#file", { name: "t1.toml", mimeType: "text/plain", buffer: Buffer.from(toml) });
  await page.locator("#mistakes", { hasText: "a duration is at most" }).waitFor();
  await page.evaluate(() => scrollTo(0, 0));
  await page.locator("#mistakes button", { hasText: "Show" }).click();
  const { y } = await page.locator(".controls .wrong:not([hidden])").first().boundingBox();
  assert.ok(y > 0 && y < 500, `${y}`);
  await type(page, "top.0.duration", "10 s");
  await page.locator("#mistakes").waitFor({ state: "hidden" });
  await page.context().close();
});

test("a long run shows its progress and stops on demand", async () => {
  const page = await open(browser);
  await page.locator("#text-box").evaluate((box) => { box.open = true; });
  await page.waitForFunction(() => document.getElementById("toml").value);
  const link = "[[link]]\nfrom = 'A'\nto = 'B'\ncapacity = '10 Gb/s'\ndelay = '1 ms'\nduplex = true\n";
  await applied(page, `name = "long"\nduration = "1000 s"\nsample = "10 ms"\n${link}[[flow]]\nname = "x"\nlaw = "cubic"\nfrom = "A"\nto = "B"\n`);
  await page.locator("#progress", { hasText: "of 1000 s" }).waitFor();
  await redraws(page, () => page.click("#stop"));
  assert.match(await page.textContent("#status"), /^Stopped at [\d.]+ m?s · /);
  assert.ok(await page.locator("#running").isHidden());
  assert.match(await words(page, "rates"), /x ends at \d/);
  await page.context().close();
});

test("a comparison shows and saves the numbers of both laws", async () => {
  const page = await open(browser, { hash: "#network=pair" });
  await redraws(page, () => page.selectOption("#compare", "level"));
  await page.locator("#measures-b dd").first().waitFor();
  const delay = async (side) => page.locator(`#measures-${side} div`, { hasText: "queueing delays" }).locator("dd").textContent();
  assert.equal(await delay("a"), "38.9 ms");
  assert.ok((await delay("b")).endsWith(" us"), await delay("b"));
  const cells = await page.locator("#flows tbody tr").first().locator("td").allTextContents();
  assert.equal(cells.length, 3);
  for (const cell of cells) assert.match(cell, /Mb\/s$/);
  const picture = (await saved(page, "#save-svg")).toString();
  assert.match(picture, /pair: cubic.*pair: level/s);
  await page.click("#files summary");
  const downloads = [];
  page.on("download", (download) => downloads.push(download.suggestedFilename()));
  await page.click("#save-links");
  for (let tries = 0; tries < 50 && downloads.length < 2; tries += 1) await page.waitForTimeout(100);
  assert.deepEqual(downloads.toSorted(), ["pair-cubic-links.csv", "pair-level-links.csv"]);
  assert.deepEqual(page.troubles, []);
  await page.context().close();
});

test("labels cover no node and no other label in the preset networks", async () => {
  for (const width of [390, 1440]) {
    const page = await open(browser, { width });
    for (const name of ["dumbbell", "parking-lot", "t4", "pair"]) {
      await network(page, name);
      const covered = await page.evaluate(() => {
        const boxes = (selector) => [...document.querySelectorAll(`#stage-a ${selector}`)].map((one) => one.getBoundingClientRect());
        const meet = (a, b) => a.left < b.right - 1 && b.left < a.right - 1 && a.top < b.bottom - 2 && b.top < a.bottom - 2;
        const labels = boxes(".link .label");
        return labels.flatMap((a, i) => [...labels.slice(0, i), ...boxes(".node rect")].filter((b) => meet(a, b))).length;
      });
      assert.equal(covered, 0, `${name}, ${width} px`);
    }
    await page.context().close();
  }
});

test("?lang=de shows the page and its lessons in German; the menu switches back and keeps the state", async () => {
  const page = await open(browser, { hash: "?lang=de#lesson=queue" });
  assert.equal(await page.evaluate(() => document.documentElement.lang), "de");
  await page.locator("#lesson h2", { hasText: "Lektion 1 von 6: Was eine Warteschlange ist" }).waitFor();
  await page.getByText("Sie wächst, bis der Puffer voll ist").click();
  await page.locator("#lesson .measured", { hasText: "Längste Wartezeit" }).waitFor();
  await redraws(page, () => page.locator("#lesson input[type=range]").press("PageDown"));
  const capacity = await field(page, "link.0.capacity").inputValue();
  await Promise.all([page.waitForURL(/lang=en/), page.selectOption("#language", "en")]);
  await drawn(page);
  await page.locator("#lesson h2", { hasText: "What a queue is" }).waitFor();
  assert.equal(await field(page, "link.0.capacity").inputValue(), capacity);
  for (const width of [390, 1440]) {
    const other = await open(browser, { hash: "?lang=de#network=t4", width });
    assert.ok(await other.evaluate(() => document.documentElement.scrollWidth <= window.innerWidth), `${width} px`);
    assert.deepEqual(other.troubles, []);
    await other.context().close();
  }
  assert.deepEqual(page.troubles, []);
  await page.context().close();
});

test("a lesson opens from a file and from its link; an invalid one gets one line", async () => {
  const page = await open(browser);
  const toml = (await readFile(new URL("../web/lessons/buffers.toml", import.meta.url), "utf8")).replace("title = \"Why loss", "title = \"Own: why loss");
  const give = (text) => page.setInputFiles("#file", { name: "own.toml", mimeType: "text/plain", buffer: Buffer.from(text) });
  await give(toml.replace('plot = "queues"', 'plot = "links"'));
  await page.locator("#notice", { hasText: 'lesson, plot: needs "rates", "queues"' }).waitFor();
  await redraws(page, () => give(toml));
  await page.locator("#lesson h2", { hasText: "Lesson: Own: why loss" }).waitFor();
  await page.click("#share");
  await page.waitForFunction(() => location.hash.startsWith("#s="));
  const other = await open(browser, { hash: new URL(page.url()).hash });
  await other.locator("#lesson h2", { hasText: "Lesson: Own: why loss" }).waitFor();
  await other.reload();
  await other.locator("#lesson h2", { hasText: "Lesson: Own: why loss" }).waitFor();
  assert.deepEqual([...page.troubles, ...other.troubles], []);
  await Promise.all([page, other].map((one) => one.context().close()));
});
