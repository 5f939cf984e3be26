import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { applied, drawn, field, follow, launch, network, open, redraws, saved, type, url, words } from "./browser.mjs";
import { look } from "../web/panels.js";

let browser;
before(async () => { browser = await launch(); });
after(() => browser.close());

test("the page opens without requests to other hosts, and shows the fair rates of T1", async () => {
  const page = await open(browser);
  const rates = Array.from((await words(page, "rates")).matchAll(/x\d ends at ([\d.]+) Mb\/s/g), ([, rate]) => Number(rate));
  assert.ok(rates.length === 2 && rates.every((rate) => Math.abs(rate - 5) < 0.1), rates.join());
  assert.equal(await page.locator("#plots-a canvas").count(), 4);
  assert.deepEqual(page.troubles, []);
  await page.context().close();
});

test("each control has a name for screen readers", async () => {
  const page = await open(browser);
  await page.evaluate(() => document.querySelectorAll("details").forEach((one) => { one.open = true; }));
  const nameless = await page.evaluate(() => [...document.querySelectorAll("input, select, textarea, button, [role=button], summary")]
    .filter((one) => !one.hidden && !(one.ariaLabel || one.labels?.length || one.textContent.trim()))
    .map((one) => one.outerHTML.slice(0, 120)));
  assert.deepEqual(nameless, []);
  const unnamed = await page.evaluate(() => [...document.querySelectorAll("figure, section, aside, svg.network")].filter((one) => !one.ariaLabel && !one.getAttribute("aria-labelledby") && !one.querySelector("h2")).length);
  assert.equal(unnamed, 0);
  await page.context().close();
});

test("dragging the capacity redraws rates and their reference", async () => {
  const page = await open(browser);
  const slider = page.getByRole("slider", { name: "capacity, slider" });
  const box = await slider.boundingBox();
  const before = await words(page, "rates");
  await redraws(page, async () => {
    await page.mouse.move(box.x + box.width * 0.67, box.y + box.height / 2);
    await page.mouse.down();
    for (let step = 1; step <= 8; step += 1) await page.mouse.move(box.x + box.width * (0.67 - 0.03 * step), box.y + box.height / 2);
    await page.mouse.up();
  });
  const typed = parseFloat(await field(page, "link.0.capacity").inputValue());
  assert.ok(typed > 1 && typed < 4, `${typed} Mb/s`);
  assert.notEqual(await words(page, "rates"), before);
  const share = async () => {
    const [, number, unit] = /x1 ends at ([\d.]+) (.)b/.exec(await words(page, "rates"));
    return (Number(number) * (unit === "M" ? 1 : 1e-3)) / typed;
  };
  for (let tries = 0; tries < 50 && Math.abs((await share()) - 0.5) > 0.03; tries += 1) await page.waitForTimeout(100);
  assert.ok(Math.abs((await share()) - 0.5) < 0.03, `${await share()} of ${typed}`);
  await page.click("#undo");
  await page.waitForFunction(() => document.querySelector("[data-key='link.0.capacity']").value === "10 Mb/s");
  assert.equal(await page.locator("#undo").isDisabled(), true); // the drag is one step of undo
  await page.context().close();
});

test("two compared laws have plots with equal axes", async () => {
  const page = await open(browser);
  await network(page, "pair");
  await page.selectOption("#compare", "jetmax");
  await page.waitForFunction(() => document.querySelectorAll("#plots-b canvas").length === 4);
  await page.waitForFunction(() => /first ends at (5|4\.9)/.test(document.querySelector("#plots-b .rates").ariaLabel));
  assert.equal(await page.locator("#title-a").textContent(), "cubic");
  assert.equal(await page.locator("#title-b").textContent(), "jetmax");
  await page.selectOption("#compare", "");
  await page.waitForFunction(() => document.getElementById("side-b").hidden);
  await page.context().close();
});

test("pieces of a cancelled second run are not drawn", async () => {
  const page = await open(browser);
  const toml = "name = 'n'\nduration = '60 s'\nsample = '1 s'\n[[link]]\nfrom = 'A'\nto = 'B'\ncapacity = '100 Mb/s'\ndelay = '1 ms'\nduplex = true\nchanges = [{ at = '40 s', capacity = '50 Mb/s' }]\n[[flow]]\nname = 'x'\nlaw = 'level'\nfrom = 'A'\nto = 'B'\n";
  await redraws(page, () => applied(page, toml));
  const shown = await page.evaluate(() => new Promise((resolve) => {
    const law = document.getElementById("compare");
    const choose = (name) => {
      law.value = name;
      law.dispatchEvent(new Event("change"));
    };
    const plots = document.getElementById("plots-b");
    new MutationObserver((_, observer) => { // the first piece creates the plots
      observer.disconnect();
      choose("");
      delete document.body.dataset.redrawMs;
      resolve(plots.querySelector(".rates").ariaLabel);
    }).observe(plots, { childList: true });
    choose("jetmax");
  }));
  await drawn(page); // the worker has ended the second run before this run
  assert.equal(await words(page, "rates", "b"), shown);
  await page.context().close();
});

test("every field shows its error next to it", async () => {
  const page = await open(browser);
  await page.evaluate(() => document.querySelectorAll("details.card, details.more").forEach((one) => { one.open = true; }));
  await redraws(page, () => type(page, "top.0.duration", "2 s")); // each corrected field reruns the scenario
  const keys = await page.locator(".controls input[type=text]").evaluateAll((all) => all.map((one) => one.dataset.key));
  assert.ok(keys.length > 20, keys.join());
  for (const key of keys) {
    const was = await field(page, key).inputValue();
    await type(page, key, key === "top.0.name" ? "a/b" : key.endsWith(".name") ? "" : "§§");
    const message = page.locator(`.field:has([data-key="${key}"]) > .wrong`);
    if (key.startsWith("flow") && key.endsWith("name")) {
      await page.locator("#mistakes:not([hidden]), .controls .wrong:not([hidden])").first().waitFor();
    } else {
      await message.waitFor().catch(() => assert.fail(`no error next to ${key}`));
      assert.equal(await field(page, key).getAttribute("aria-invalid"), "true", key);
      assert.equal(await field(page, key).getAttribute("aria-describedby"), await message.getAttribute("id"));
    }
    await type(page, key, was);
    await page.waitForFunction(() => !document.querySelector(".controls .field .wrong:not([hidden])"));
  }
  assert.deepEqual(page.troubles, []);
  await page.context().close();
});

test("an error in a scenario file is shown with its line, an error in a link to the page in words", async () => {
  const page = await open(browser);
  await applied(page, "name = ");
  await page.locator("#toml-wrong", { hasText: "line 1, column" }).waitFor();
  const toml = "name = 'n'\nduration = '5 s'\n[[link]]\nfrom = 'A'\nto = 'B'\ncapacity = '9 apples'\ndelay = '1 ms'\n[[flow]]\nname = 'x'\nlaw = 'jetmax'\nfrom = 'A'\nto = 'B'\n";
  await applied(page, toml);
  await page.locator("#toml-wrong", { hasText: "line 6: link 1 (A->B), capacity" }).waitFor();
  await applied(page, "name = 'n'\nduration = '5 s'\nlink = 3\nflow = []\n");
  await page.locator("#toml-wrong", { hasText: "[[link]]" }).waitFor();
  const other = await open(browser, { hash: "#s=" });
  await other.locator("#notice", { hasText: "damaged" }).waitFor();
  for (const hash of ["#s=AAAA", "#s=%%%", `#s=${"A".repeat(70_000)}`, "#s=q1bKSy1XslJQSkxMUqoFAA"]) {
    await follow(other, hash);
    await other.locator("#notice", { hasText: "damaged" }).waitFor();
    assert.deepEqual(other.troubles, [], hash);
  }
  await other.context().close();
  const lesson = await open(browser, { hash: "#lesson=nothing" });
  await lesson.locator("#notice", { hasText: "no lesson “nothing”; there are queue" }).waitFor();
  await lesson.context().close();
  await page.context().close();
});

test("a file opens; an invalid or large one is rejected with a message", async () => {
  const page = await open(browser);
  const give = (name, content) => page.setInputFiles("#file", { name, mimeType: "text/plain", buffer: Buffer.from(content) });
  await give("x.toml", "no toml");
  await page.locator("#notice", { hasText: "x.toml: line 1" }).waitFor();
  await give("y.toml", "#".repeat(1_000_001));
  await page.locator("#notice", { hasText: "at most 1 MB" }).waitFor();
  await redraws(page, () => give("z.toml", "name = 'z'\nduration = '5 s'\n[[link]]\nfrom = 'A'\nto = 'Zürich'\ncapacity = '2 Mb/s'\ndelay = '1 ms'\nduplex = true\n[[flow]]\nname = 'lone'\nlaw = 'level'\nfrom = 'A'\nto = 'Zürich'\n"));
  // At 1.9 Mb/s, a sample of 100 ms has 23 or 24 packets.
  assert.match(await words(page, "rates"), /lone ends at 1\.(84|92) /);
  await page.context().close();
});

test("a link opens the same network in another browser", async () => {
  const page = await open(browser);
  await network(page, "parking-lot");
  await redraws(page, () => type(page, "link.0.capacity", "25 Mb/s"));
  await page.selectOption("#compare", "rcp");
  await page.click("#share");
  await page.waitForFunction(() => location.hash.startsWith("#s="));
  const other = await open(browser, { hash: new URL(page.url()).hash });
  for (const one of [page, other]) if (!(await one.locator("#text-box").evaluate((box) => box.open))) await one.click("#text-box summary");
  for (const one of [page, other]) await one.waitForFunction(() => document.getElementById("toml").value);
  assert.equal(await other.inputValue("#toml"), await page.inputValue("#toml"));
  assert.match(await other.inputValue("#toml"), /capacity = "25 Mb\/s"/);
  assert.equal(await other.inputValue("#compare"), "rcp");
  await Promise.all([page, other].map((one) => one.context().close()));
});

test("scenario, plots and tables are saved as files", async () => {
  const page = await open(browser);
  const toml = (await saved(page, "#save-toml")).toString();
  await redraws(page, () => applied(page, toml));
  assert.equal((await saved(page, "#save-toml")).toString(), toml);
  const svg = (await saved(page, "#save-svg")).toString();
  const parsed = await page.evaluate((text) => {
    const document = new DOMParser().parseFromString(text, "image/svg+xml");
    return [document.documentElement.localName, document.querySelectorAll("path title").length];
  }, svg);
  assert.equal(parsed[0], "svg");
  assert.ok(parsed[1] >= 7);
  const png = await saved(page, "#save-png");
  assert.deepEqual([...png.subarray(0, 4)], [0x89, 0x50, 0x4e, 0x47]);
  const rows = (await saved(page, "#save-flows")).toString().trim().split("\n");
  assert.equal(rows[0], "t,flow,active,throughput_bps,goodput_bps,sending_rate_bps,law_rate_bps,window_packets,proposal_bps,rtt_s,lost,bottleneck");
  assert.equal(rows.length, 1 + 2 * 700);
  assert.match(rows[2], /^0\.1,x2,0,/);
  const links = (await saved(page, "#save-links")).toString().trim().split("\n");
  assert.equal(links.length, 1 + 2 * 700);
  assert.match(links[1], /R1->R2/);
  assert.deepEqual(page.troubles, []);
  await page.context().close();
});

test("every action works from the keyboard: play, select, move, add, remove, undo", async () => {
  const page = await open(browser);
  await page.locator("h1").click();
  await page.keyboard.press(" ");
  assert.equal(await page.getAttribute("#play", "aria-pressed"), "true");
  await page.keyboard.press(" ");
  await page.locator("[data-key='node R1']").focus();
  const at = () => page.locator("[data-key='node R1']").getAttribute("transform");
  const was = await at();
  await page.keyboard.press("ArrowRight");
  assert.notEqual(await at(), was);
  await page.keyboard.press("ArrowDown"); // the node still has the focus
  await page.locator("[data-key='flow 1']").focus();
  await page.keyboard.press("Enter");
  assert.equal(await field(page, "flow.1.name").inputValue(), "x2");
  await redraws(page, () => page.click("#add-node"));
  assert.equal(await page.locator("[data-key='node N1']").count(), 1);
  for (const add of ["#add-link", "#add-flow"]) {
    await page.click(add);
    await page.locator("[data-key='node R1']").focus();
    await page.keyboard.press("Enter");
    await page.locator("[data-key='node N1']").focus();
    await redraws(page, () => page.keyboard.press("Enter"));
  }
  assert.match(await words(page, "rates"), /x3 ends at/);
  await page.locator("h1").click();
  await redraws(page, () => page.keyboard.press("Delete"));
  assert.doesNotMatch(await words(page, "rates"), /x3/);
  await redraws(page, () => page.keyboard.press("Control+z"));
  assert.match(await words(page, "rates"), /x3/);
  await page.click("#add-link");
  await page.keyboard.press("Escape");
  assert.equal(await page.locator("#hint").textContent(), "");
  assert.deepEqual(page.troubles, []);
  await page.context().close();
});

test("packets move only while the page plays", async () => {
  const page = await open(browser);
  const picture = () => page.locator("#stage-a canvas").evaluate((canvas) => canvas.toDataURL());
  const painted = () => page.locator("#stage-a canvas").evaluate((canvas) => {
    return canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data.some((x) => x > 0);
  });
  await page.waitForFunction(() => {
    const canvas = document.querySelector("#stage-a canvas");
    return canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data.some((x) => x > 0);
  });
  const standing = await picture();
  await page.waitForTimeout(200);
  assert.equal(await picture(), standing);
  const speed = Number(await page.locator("#speed").inputValue());
  const began = performance.now();
  await page.click("#play");
  await page.waitForFunction((before) => {
    const shown = parseFloat(document.querySelector("#clock").textContent);
    return shown > 14 && document.querySelector("#stage-a canvas").toDataURL() !== before;
  }, standing);
  assert.ok(await painted());
  await page.click("#play"); // stops the clock before the test reads the time
  const passed = parseFloat(await page.textContent("#clock")) - 14;
  const slowed = (speed * (performance.now() - began)) / 1000;
  assert.ok(passed > 0 && passed < slowed + 0.001, `${passed} s of ${slowed} s at speed ${speed}`);
  await page.locator("#scrub").fill("500");
  assert.equal(parseFloat(await page.textContent("#clock")), 35);
  await page.context().close();
});

test("large scenarios: 200 links, 10,000 points, too many rows", async () => {
  const page = await open(browser);
  const links = Array.from({ length: 200 }, (_, i) => `[[link]]\nfrom = "N${i}"\nto = "N${i + 1}"\ncapacity = "10 Mb/s"\ndelay = "1 ms"\nduplex = true\n`);
  const flow = (from, to) => `[[flow]]\nname = "${from}"\nlaw = "jetmax"\nfrom = "N${from}"\nto = "N${to}"\n`;
  await redraws(page, () => applied(page, `name = "long"\nduration = "3 s"\n${links.join("")}${flow(0, 3)}${flow(100, 103)}`));
  assert.equal(await page.locator("#stage-a .link").count(), 200);
  const line = "[[link]]\nfrom = 'A'\nto = 'B'\ncapacity = '1 Mb/s'\ndelay = '1 ms'\nduplex = true\n";
  await redraws(page, () => applied(page, `name = "fine"\nduration = "10 s"\nsample = "1 ms"\n${line}[[flow]]\nname = "x"\nlaw = "jetmax"\nfrom = "A"\nto = "B"\n`));
  assert.equal((await saved(page, "#save-flows")).toString().trim().split("\n").length, 10_001);
  await applied(page, `name = "fine"\nduration = "10 s"\nsample = "1 us"\n${line}[[flow]]\nname = "x"\nlaw = "jetmax"\nfrom = "A"\nto = "B"\n`);
  await page.locator(".field:has([data-key='top.0.sample']) > .wrong", { hasText: "a page holds" }).waitFor({ state: "attached" });
  assert.deepEqual(page.troubles, []);
  await page.context().close();
});

test("with many links, nodes do not overlap, and only the selected link has a label", async () => {
  const links = Array.from({ length: 200 }, (_, i) => `[[link]]\nfrom = "N${i}"\nto = "N${i + 1}"\ncapacity = "10 Mb/s"\ndelay = "1 ms"\nduplex = true\n`);
  for (const width of [390, 1440]) {
    const page = await open(browser, { width });
    await redraws(page, () => applied(page, `name = "long"\nduration = "1 s"\n${links.join("")}[[flow]]\nname = "x"\nlaw = "jetmax"\nfrom = "N0"\nto = "N3"\n`));
    const covered = await page.evaluate(() => {
      const boxes = [...document.querySelectorAll("#stage-a .node rect")].map((one) => one.getBoundingClientRect());
      const meet = (a, b) => a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom;
      return boxes.flatMap((a, i) => boxes.slice(0, i).filter((b) => meet(a, b))).length;
    });
    assert.equal(covered, 0, `${width} px`);
    const labels = () => page.locator("#stage-a .link .label:visible").count();
    assert.equal(await labels(), 1);
    await page.locator("[data-key='link 150']").focus();
    await page.keyboard.press("Shift+Tab");
    assert.equal(await labels(), 2); // the focused link also has a label
    await page.locator("#skip").focus();
    await page.keyboard.press("Enter");
    assert.equal(await page.evaluate(() => document.activeElement.id), "play");
    assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= window.innerWidth));
    assert.deepEqual(page.troubles, []);
    await page.context().close();
  }
});

test("the server predicts equilibrium and stability", async () => {
  const page = await open(browser);
  await page.locator("#theory", { hasText: "stable" }).waitFor();
  await page.locator("#theory td", { hasText: "5 Mb/s" }).first().waitFor();
  await type(page, "law.jetmax.tau", "1.5");
  await page.locator("#theory dd.bad", { hasText: "unstable" }).waitFor();
  await page.context().close();
});

for (const [file, line] of [["engine.wasm", "engine.wasm, cannot be loaded (404)"], ["worker.js", "worker.js cannot be loaded"]]) {
  test(`without ${file}, the page shows an error`, async () => {
    const context = await browser.newContext();
    await context.route(`**/${file}`, (route) => route.fulfill({ status: 404 }));
    const page = await context.newPage();
    await page.goto(url);
    await page.locator("#notice", { hasText: line }).waitFor();
    await context.close();
  });
}

for (const width of [390, 1440]) {
  test(`the page fits and texts have enough contrast at ${width} px, light and dark`, async () => {
    const page = await open(browser, { width, height: 844 });
    for (const colorScheme of ["light", "dark"]) {
      await page.emulateMedia({ colorScheme, reducedMotion: "reduce" });
      assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= window.innerWidth));
      const pairs = await page.evaluate(() => {
        const style = getComputedStyle(document.documentElement);
        const of = (name) => style.getPropertyValue(name).trim();
        return ["--ink", "--quiet", "--wrong", "--good", "--accent"].flatMap((ink) => ["--card", "--back"].map((back) => [ink, of(ink), of(back)]));
      });
      for (const [name, ink, back] of pairs) assert.ok(contrast(ink, back) >= 4.5, `${name} ${ink} on ${back}: ${contrast(ink, back)}`);
      const curves = [...Array(7).keys()].map((i) => look(i, colorScheme === "dark").colour);
      for (const curve of curves) assert.ok(contrast(curve, pairs[0][2]) >= 3, curve);
    }
    const small = await page.evaluate(() => [...document.querySelectorAll(".top button, .transport button, .tools button")].filter((one) => one.getBoundingClientRect().height < 24).length);
    assert.equal(small, 0);
    await page.context().close();
  });
}

/** Returns the contrast ratio of WCAG 2. */
function contrast(one, other) {
  const light = (hex) => {
    const parts = [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16) / 255).map((x) => (x <= 0.03928 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4));
    return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2];
  };
  const [a, b] = [light(one), light(other)].sort((x, y) => y - x);
  return (a + 0.05) / (b + 0.05);
}

test("a lesson explains after the experiment, and its slider and plot share the screen", async () => {
  const page = await open(browser, { height: 900 });
  await redraws(page, () => page.click("#lessons-open"));
  for (let number = 1; number <= 6; number += 1) {
    await page.locator("#lesson h2", { hasText: `Lesson ${number} of 6` }).waitFor();
    assert.equal(await page.locator("#lesson input[type=range], #lesson input[type=text]").count(), 0);
    if (number === 6) assert.ok(!(await page.locator("#plots-a").isVisible())); // the plot has the answer
    await page.locator("#lesson input[type=radio]").first().check();
    await page.waitForFunction(() => document.querySelector("#lesson .measured")?.textContent.length > 10);
    const explained = () => page.locator("#lesson summary", { hasText: "Answer" }).count();
    if (number < 6) assert.equal(await explained(), 0);
    assert.equal(await page.locator("#plots-a .plot").count(), 1);
    const bottoms = await page.evaluate(() => ["#lesson input[type=range]", "#plots-a .plot"]
      .map((one) => document.querySelector(one).getBoundingClientRect().bottom + scrollY));
    assert.ok(Math.max(...bottoms) <= 900, `lesson ${number}: ${bottoms}`);
    const slider = page.locator("#lesson input[type=range]").first();
    const before = await page.textContent("#lesson .measured");
    await slider.focus();
    for (const key of ["PageUp", "PageUp", "PageUp", "PageUp"]) await redraws(page, () => page.keyboard.press(key));
    assert.notEqual(await page.textContent("#lesson .measured"), before, `lesson ${number}`);
    if (!(await explained())) await page.getByRole("button", { name: "Explain" }).click();
    assert.ok((await page.textContent("#lesson .verdict")).length > 5);
    await page.locator("#lesson summary", { hasText: "Answer" }).click();
    assert.ok((await page.locator("#lesson details p").textContent()).length > 40);
    if (number < 6) await redraws(page, () => page.locator("#lesson button.main").click());
  }
  await page.fill("#lesson .check input", "19");
  await page.getByRole("button", { name: "Check" }).click();
  assert.match(await page.textContent("#lesson .check .verdict"), /tightest/);
  await page.fill("#lesson .check input", "20");
  await page.getByRole("button", { name: "Check" }).click();
  assert.equal(await page.textContent("#lesson .check .verdict"), "Right.");
  await page.getByRole("button", { name: "Close" }).click();
  assert.ok(await page.locator("#lesson").isHidden());
  await page.waitForFunction(() => document.querySelectorAll("#plots-a canvas").length === 4);
  assert.deepEqual(page.troubles, []);
  assert.ok(url.startsWith("http://127.0.0.1"));
  await drawn(page);
  await page.context().close();
});

test("on a phone, the plot of a lesson stays on the screen below its slider", async () => {
  const page = await open(browser, { hash: "#lesson=queue", width: 390, height: 844 });
  await page.locator("#lesson input[type=radio]").first().check();
  const slider = page.locator("#lesson input[type=range]");
  await slider.focus();
  await slider.evaluate((one) => one.scrollIntoView({ block: "center" }));
  const [control, plot] = await page.evaluate(() => ["#lesson input[type=range]", "#plots-a .queues"].map((one) => document.querySelector(one).getBoundingClientRect().toJSON()));
  assert.ok(control.top >= 0 && control.bottom <= plot.top && plot.bottom <= 844, JSON.stringify([control, plot]));
  await page.context().close();
});

test("the first view compares CUBIC with Level; a reload keeps edits, and undo restores the network before", async () => {
  const page = await open(browser, { hash: "" });
  await page.locator("#title-b", { hasText: "level" }).waitFor();
  assert.equal(await page.textContent("#title-a"), "cubic");
  assert.equal(await page.locator("#undo").isDisabled(), true);
  await redraws(page, () => type(page, "link.0.capacity", "4 Mb/s"));
  await page.reload();
  await drawn(page);
  assert.equal(await field(page, "link.0.capacity").inputValue(), "4 Mb/s");
  assert.equal(await page.inputValue("#compare"), "level");
  await network(page, "t3");
  await redraws(page, () => page.click("#lessons-open"));
  await redraws(page, () => page.click("#undo"));
  assert.ok(await page.locator("#lesson").isHidden());
  assert.equal(await page.inputValue("#preset"), "t3");
  await redraws(page, () => page.click("#undo"));
  assert.equal(await page.inputValue("#preset"), "pair");
  assert.equal(await field(page, "link.0.capacity").inputValue(), "4 Mb/s");
  assert.deepEqual(page.troubles, []);
  await page.context().close();
});

test("?embed leaves the drawing, the link and two plots", async () => {
  const page = await open(browser, { hash: "?embed#network=t1" });
  for (const [part, visible] of [["header.top", false], ["#stage-a", true], ["#entry", true], ["#flows", false], [".plot.rates", true], [".plot.drops", false]]) {
    assert.equal(await page.locator(part).first().isVisible(), visible, part);
  }
  assert.deepEqual(page.troubles, []);
  await page.context().close();
});

test("a longer link raises round trips that it exceeds; an error dims the plots", async () => {
  const page = await open(browser);
  await redraws(page, () => type(page, "link.0.delay", "300 ms"));
  await page.locator("#raised", { hasText: "x1 600 ms" }).waitFor();
  assert.equal(await page.locator("#plots-a.stale").count(), 0);
  await type(page, "link.0.capacity", "none");
  await page.locator("#plots-a.stale").waitFor();
  assert.match(await page.textContent("#status"), /last valid/);
  await redraws(page, () => type(page, "link.0.capacity", "10 Mb/s"));
  assert.equal(await page.locator("#plots-a.stale").count(), 0);
  await page.context().close();
});

test("an error of the second law dims only its plots, until its own run succeeds", async () => {
  const page = await open(browser);
  const dimmed = () => page.evaluate(() => [...document.querySelectorAll("[id].stale:not(#theory)")].map(({ id }) => id));
  await page.selectOption("#compare", "dctcp"); // no queue of T1 marks packets
  const mistake = page.locator("#mistakes", { hasText: "Second law: flow 1" });
  await mistake.waitFor();
  assert.deepEqual(await dimmed(), ["stage-b", "plots-b"]);
  await redraws(page, () => type(page, "link.0.capacity", "9 Mb/s"));
  assert.ok(await mistake.isVisible());
  assert.deepEqual(await dimmed(), ["stage-b", "plots-b"]);
  await page.selectOption("#compare", "level");
  await mistake.waitFor({ state: "hidden" });
  assert.deepEqual(await dimmed(), []);
  assert.doesNotMatch(await page.textContent("#status"), /last valid/);
  await page.context().close();
});

test("a change of the comparison is a step of undo", async () => {
  const page = await open(browser);
  await redraws(page, () => type(page, "link.0.capacity", "4 Mb/s"));
  await page.selectOption("#compare", "level");
  await page.selectOption("#compare", "rcp");
  await page.click("#undo");
  assert.equal(await page.inputValue("#compare"), "level");
  await page.click("#undo");
  assert.equal(await page.inputValue("#compare"), "");
  assert.equal(await field(page, "link.0.capacity").inputValue(), "4 Mb/s");
  await redraws(page, () => page.click("#undo"));
  assert.equal(await field(page, "link.0.capacity").inputValue(), "10 Mb/s");
  await page.context().close();
});

/** Reloads the page, and returns the state that it shows. */
async function reloaded(page) {
  await page.reload();
  await drawn(page);
  return page.evaluate(() => ({
    capacity: document.querySelector("[data-key='link.0.capacity']").value,
    compare: document.getElementById("compare").value,
    node: document.querySelector("[data-key='node R1']")?.getAttribute("transform"),
    speed: Number(document.getElementById("speed").value),
    time: parseFloat(document.getElementById("clock").textContent),
    hash: location.hash,
  }));
}

test("a reload keeps edits, the comparison, moved nodes, speed and time, after a network and after a link", async () => {
  const page = await open(browser, { hash: "#network=t1" });
  await page.selectOption("#speed", "1");
  await page.locator("#scrub").fill("500");
  assert.deepEqual(await reloaded(page), { ...await reloaded(page), speed: 1, time: 35, hash: "#network=t1" });
  await page.locator("[data-key='node R1']").focus();
  await page.keyboard.press("ArrowRight");
  const node = await page.getAttribute("[data-key='node R1']", "transform");
  assert.deepEqual(await reloaded(page), { capacity: "10 Mb/s", compare: "", node, speed: 1, time: 35, hash: "" });
  await page.goto(`${url}?new#network=t1`); // a new address, not a reload
  await drawn(page);
  await redraws(page, () => type(page, "link.0.capacity", "4 Mb/s"));
  assert.deepEqual(await reloaded(page), { ...await reloaded(page), capacity: "4 Mb/s", hash: "" });
  await page.click("#share");
  await page.waitForFunction(() => location.hash.startsWith("#s="));
  const { hash } = await reloaded(page);
  assert.match(hash, /^#s=/); // the link still names the state
  await page.selectOption("#compare", "level");
  assert.deepEqual(await reloaded(page), { ...await reloaded(page), capacity: "4 Mb/s", compare: "level", hash: "" });
  assert.deepEqual(page.troubles, []);
  await page.context().close();
});

test("a lesson keeps its speed in a reload", async () => {
  const page = await open(browser, { hash: "#lesson=delay" });
  const speed = 1 / 30; // nearest to the speed of the lesson
  assert.deepEqual(await reloaded(page), { ...await reloaded(page), speed, hash: "#lesson=delay" });
  await page.context().close();
});

test("a new fragment closes an open lesson, unless it opens one", async () => {
  const page = await open(browser, { hash: "#lesson=queue" });
  await page.click("#share");
  await page.waitForFunction(() => location.hash.startsWith("#s="));
  const { hash: link } = new URL(page.url());
  const other = await open(browser);
  await other.click("#share");
  await other.waitForFunction(() => location.hash.startsWith("#s="));
  const { hash: plain } = new URL(other.url());
  await other.context().close();
  for (const hash of ["#network=t1", plain, "#"]) {
    await redraws(page, () => follow(page, "#lesson=maxmin"));
    assert.ok(await page.locator("#lesson").isVisible());
    await redraws(page, () => follow(page, hash));
    assert.ok(await page.locator("#lesson").isHidden(), hash);
    assert.equal(await page.locator("body.concealed, body.with-lesson").count(), 0, hash);
    await page.waitForFunction(() => document.querySelectorAll("#plots-a canvas").length === 4);
  }
  await redraws(page, () => follow(page, link));
  await page.locator("#lesson h2", { hasText: "What a queue is" }).waitFor();
  assert.deepEqual(page.troubles, []);
  await page.context().close();
});

test("saved tables open as a stored result of their scenario", async () => {
  const page = await open(browser);
  const before = await words(page, "rates");
  const flows = await saved(page, "#save-flows");
  const links = await saved(page, "#save-links");
  const toml = await saved(page, "#save-toml");
  const give = (...tables) => page.setInputFiles("#file", tables.map(([name, buffer]) => ({ name, mimeType: "text/csv", buffer })));
  await redraws(page, () => give(["f.csv", flows], ["l.csv", links]));
  await page.locator("#stored", { hasText: "Stored result f.csv, l.csv" }).waitFor();
  assert.equal(await words(page, "rates"), before);
  const half = flows.toString().replaceAll(/,(\d{7}\.?\d*),/g, (_, rate) => `,${Number(rate) / 2},`);
  await redraws(page, () => give(["half.csv", Buffer.from(half)]));
  assert.notEqual(await words(page, "rates"), before); // the plots show the opened file, not a run
  await redraws(page, () => page.click("#run-here"));
  assert.ok(await page.locator("#stored").isHidden());
  assert.equal(await words(page, "rates"), before);
  await redraws(page, () => page.click("#undo")); // back to the first table
  assert.ok(await page.locator("#stored", { hasText: "f.csv, l.csv" }).isVisible());
  await type(page, "link.0.capacity", "none");
  await page.locator("#plots-a.stale").waitFor();
  await redraws(page, () => give(["t1.toml", toml], ["f.csv", flows]));
  assert.equal(await page.locator("#plots-a.stale").count(), 0);
  for (const [text, said] of [["a,b\n1,2\n", "line 1: no column"], [flows.toString().replace("x2", "x9"), "open the scenario of this table first"],
    [flows.toString().replace("0.1,x1", "zero,x1"), "is not a number"]]) {
    await give(["bad.csv", Buffer.from(text)]);
    await page.locator("#notice", { hasText: said }).waitFor();
  }
  assert.deepEqual(page.troubles, []);
  await page.context().close();
});

test("a stored result of the server is drawn without a run", { skip: !process.env.STORED_URL }, async () => {
  const page = await open(browser, { at: process.env.STORED_URL });
  await page.locator("#stored", { hasText: "measured on a network" }).waitFor();
  assert.match(await words(page, "rates"), /x1 ends at 1\.23 Mb\/s/);
  await page.locator("#status", { hasText: "utilisation" }).waitFor();
  await redraws(page, () => page.click("#run-here"));
  assert.doesNotMatch(await words(page, "rates"), /x1 ends at 1\.23 Mb\/s/);
  assert.deepEqual(page.troubles, []);
  await page.context().close();
});
