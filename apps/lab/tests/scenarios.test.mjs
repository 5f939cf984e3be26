// Scenarios from files and links: with every kind of key, with traces, and from forged links.
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { after, before, test } from "node:test";
import { deflateRawSync } from "node:zlib";
import { applied, drawn, field, follow, launch, network, open, redraws, saved, type, words } from "./browser.mjs";

let browser;
before(async () => { browser = await launch(); });
after(() => browser.close());

const ready = (name) => readFile(new URL(`../../../scenarios/${name}`, import.meta.url));

const EVERYTHING = `name = "everything"
duration = "6 s"
routing = "ecmp"
reroute = "200 ms"
[[link]]
from = "A"
to = "M"
capacity = "10 Mb/s"
delay = "10 ms"
buffer = "60 packets"
queue = "pie"
weight = 2
jitter = "3 ms"
reorder = true
slot = "5 ms"
loss = { gilbert_elliott = { p = 0.001, r = 0.2 } }
duplex = true
reverse = { jitter = "0 s" }
changes = [{ at = "3 s", capacity = "4 Mb/s" }, { at = "4 s", over = "1 s", capacity = "12 Mb/s" }]
[[link]]
from = "A"
to = "N"
capacity = "10 Mb/s"
delay = "10 ms"
weight = 2
duplex = true
changes = [{ at = "2 s", down = true }, { at = "4 s", down = false }]
[[link]]
from = "M"
to = "B"
capacity = "9 Mb/s"
delay = "10 ms"
queue = { policer = { rate = "6 Mb/s" } }
duplex = true
[[link]]
from = "N"
to = "B"
capacity = "8 Mb/s"
delay = "10 ms"
duplex = true
[[flow]]
name = "x"
law = "cubic"
from = "A"
to = "B"
count = 5
[[flow]]
name = "call"
law = "level"
from = "A"
to = "B"
application = { rate = "200 kb/s" }
`;

/** Returns the scenario in the page as text. */
async function held(page) {
  if (!(await page.locator("#text-box").evaluate((box) => box.open))) await page.click("#text-box summary");
  await page.waitForFunction(() => document.getElementById("toml").value);
  return page.inputValue("#toml");
}

test("a scenario with every kind of key opens, runs, and is saved unchanged: file, link, plots", async () => {
  const page = await open(browser);
  await redraws(page, () => applied(page, EVERYTHING));
  const rates = await words(page, "rates");
  assert.match(rates, /x, each ends at/);
  assert.match(rates, /call ends at 2\d\d kb\/s/); // rate of the application, not of the law
  assert.ok(await page.locator("#mistakes").isHidden());
  const toml = (await saved(page, "#save-toml")).toString();
  for (const part of ["gilbert_elliott", "down = true", "over = ", "slot = ", "reorder = true", "policer", "pie", "weight = 2", "ecmp", "reroute", "application"]) {
    assert.ok(toml.includes(part), part);
  }
  await redraws(page, () => applied(page, toml));
  assert.equal(await words(page, "rates"), rates);
  assert.equal((await saved(page, "#save-toml")).toString(), toml);
  assert.match((await saved(page, "#save-svg")).toString(), /call/);
  assert.match((await saved(page, "#save-links")).toString(), /N->B/);
  await page.click("#share");
  await page.waitForFunction(() => location.hash.startsWith("#s="));
  const other = await open(browser, { hash: new URL(page.url()).hash });
  assert.equal(await held(other), toml);
  await redraws(page, () => type(page, "link.0.loss", '{"gilbert_elliott":{"p":0.5,"r":0.5}}'));
  assert.notEqual(await words(page, "rates"), rates); // the field parses a typed table
  assert.deepEqual([...page.troubles, ...other.troubles], []);
  await Promise.all([page, other].map((one) => one.context().close()));
});

test("a scenario opens with its trace; without it, the page names the missing file", async () => {
  const page = await open(browser);
  const files = await Promise.all(["lte.toml", "lte.csv"].map(async (name) => ({ name, mimeType: "text/plain", buffer: await ready(name) })));
  await page.setInputFiles("#file", files.slice(0, 1));
  await page.locator("#notice", { hasText: "lte.toml: link 1 (net->home), changes: lte.csv: a page cannot reach this file; open it together" }).waitFor();
  await applied(page, files[0].buffer.toString());
  await page.locator("#toml-wrong", { hasText: "lte.csv" }).waitFor();
  await page.setInputFiles("#file", [files[0], { ...files[1], buffer: Buffer.from("t_s,capacity_bps\n0,fast\n") }]);
  await page.locator("#notice", { hasText: "lte.csv: line 2" }).waitFor();
  await redraws(page, () => page.setInputFiles("#file", files));
  assert.match(await words(page, "rates"), /download ends at/);
  assert.match(await page.locator("#stage-a .link .label").first().textContent(), /6 Mb\/s · 20 ms, changes/);
  await page.setInputFiles("#file", [files[0], files[1], { ...files[0], name: "other.toml" }]);
  await page.locator("#notice", { hasText: "other.toml: the page opens one scenario at a time" }).waitFor();
  assert.deepEqual(page.troubles, []);
  await page.context().close();
});

test("numbers that JavaScript would change are rejected with their names", async () => {
  const page = await open(browser);
  const line = "[[link]]\nfrom = 'A'\nto = 'B'\ncapacity = '1 Mb/s'\ndelay = '1 ms'\nduplex = true\n[[flow]]\nname = 'x'\nlaw = 'jetmax'\nfrom = 'A'\nto = 'B'\n";
  await applied(page, `name = 'n'\nduration = '2 s'\nseed = 9007199254740993\n${line}`);
  await page.locator("#toml-wrong", { hasText: "seed: 9007199254740993; a page rounds integers above 9007199254740991" }).waitFor();
  await applied(page, `name = 'n'\nduration = '2 s'\n${line.replace("delay", "loss = inf\ndelay")}`);
  await page.locator("#toml-wrong", { hasText: "finite" }).waitFor();
  await page.evaluate(() => document.querySelectorAll("details.card").forEach((one) => { one.open = true; }));
  await type(page, "top.0.seed", "9007199254740993");
  await page.locator(".field:has([data-key='top.0.seed']) > .wrong", { hasText: "9007199254740993" }).waitFor();
  await type(page, "top.0.seed", "2");
  await page.waitForFunction(() => !document.querySelector(".controls .wrong:not([hidden])"));
  assert.deepEqual(page.troubles, []);
  await page.context().close();
});

test("forged links are rejected, or drawn without side effects", async () => {
  const link = (state) => `#s=${deflateRawSync(Buffer.from(typeof state === "string" ? state : JSON.stringify(state))).toString("base64url")}`;
  const scenario = {
    name: "n", duration: "2 s",
    link: [{ from: "A", to: "B", capacity: "1 Mb/s", delay: "1 ms", duplex: true }], flow: [{ name: "x", law: "jetmax", from: "A", to: "B" }],
  };
  const named = (a, b) => JSON.stringify({ scenario }).replaceAll('"A"', a).replaceAll('"B"', b);
  const damaged = [
    { scenario: { ...scenario, law: null } }, { scenario: { ...scenario, route: 5 } }, { scenario: { ...scenario, law: [1, 2] } },
    { scenario: { ...scenario, name: "x".repeat(5_000_000) } },
  ];
  const page = await open(browser);
  for (const state of damaged) {
    await follow(page, link(state));
    await page.locator("#notice", { hasText: "damaged" }).waitFor();
    await held(page);
    assert.deepEqual(page.troubles, []);
  }
  for (const state of [named('"__proto__"', '"constructor"'), named('"<img src=x onerror=alert(1)>"', '"B"'), { scenario, layout: { A: [5, "x"], B: 3 }, speed: "fast", time: 1e300, compare: "__proto__" }]) {
    const forged = await open(browser, { hash: link(state) });
    assert.equal(await forged.locator("#stage-a .node").count(), 2);
    await held(forged);
    assert.match(await words(forged, "rates"), /x ends at/);
    assert.deepEqual(forged.troubles, []);
    await forged.context().close();
  }
  await follow(page, link({ scenario: { ...scenario, duration: 5 } }));
  await page.locator(".field:has([data-key='top.0.duration']) > .wrong").waitFor({ state: "visible" }); // the error opens the box of its field
  await page.context().close();
});

test("a scenario that is too large for a link gets a message and no link", async () => {
  const page = await open(browser);
  let seed = 1;
  const word = () => Array.from({ length: 40 }, () => String.fromCharCode(97 + ((seed = (seed * 16807) % 2147483647) % 26))).join("");
  const links = Array.from({ length: 1500 }, () => `[[link]]\nfrom = "A"\nto = "B"\nname = "${word()}${word()}"\ncapacity = "1 Mb/s"\ndelay = "1 ms"\n`);
  const toml = `name = "n"\nduration = "1 s"\nsample = "1 s"\n${links.join("")}[[link]]\nfrom = "B"\nto = "A"\ncapacity = "1 Mb/s"\ndelay = "1 ms"\n[[flow]]\nname = "x"\nlaw = "jetmax"\nfrom = "A"\nto = "B"\n`;
  await redraws(page, () => page.setInputFiles("#file", { name: "n.toml", mimeType: "text/plain", buffer: Buffer.from(toml) }));
  await page.click("#share");
  await page.locator("#notice", { hasText: "too large for a link; save the scenario as a file" }).waitFor();
  assert.equal(new URL(page.url()).hash, "");
  assert.deepEqual(page.troubles, []);
  await page.context().close();
});

test("each plot marks the time of the packets, and ticks have few digits", async () => {
  const page = await open(browser);
  await network(page, "pair");
  await redraws(page, () => page.selectOption("#law-all", "level"));
  await drawn(page);
  await page.waitForTimeout(300);
  const off = await page.evaluate(() => {
    const [time, duration] = [parseFloat(document.getElementById("clock").textContent), parseFloat(document.querySelector("[data-key='top.0.duration']").value)];
    return [...document.querySelectorAll("#plots-a .u-over")].filter((one) => one.clientWidth).map((over) => {
      const at = over.querySelector(".now").getBoundingClientRect().left + 1 - over.getBoundingClientRect().left;
      return Math.abs(at - (time / duration) * over.clientWidth);
    });
  });
  assert.ok(off.length >= 3 && off.every((far) => far < 2), off.join());
  assert.match(await page.locator("#plots-a .signals figcaption").textContent(), /×10⁶/); // bit/s of Level, in few digits
  assert.equal(await field(page, "flow.0.law").inputValue(), "level");
  assert.deepEqual(page.troubles, []);
  await page.context().close();
});
