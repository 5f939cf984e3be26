// Verifies the statements of the lessons with the engine.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { Engine } from "../web/engine.js";
import { change, COURSE, lessonOf, reached } from "../web/lesson.js";
import { jain, outcome } from "../web/series.js";

const engine = new Engine(new WebAssembly.Module(readFileSync(new URL("../page/engine.wasm", import.meta.url))));

const fileOf = (id) => engine.parse(readFileSync(new URL(`../web/lessons/${id}.toml`, import.meta.url), "utf8"));
const LESSONS = COURSE.map((id) => lessonOf(id, fileOf(id)));

function run(scenario) {
  const resolved = engine.open(scenario);
  assert.equal(engine.advance(Infinity, 1e9), "there");
  return { resolved, tables: engine.take(), now: engine.now, summary: engine.summary() };
}

function lesson(id, edit = () => {}) {
  const scenario = structuredClone(LESSONS.find((one) => one.id === id).scenario);
  edit(scenario);
  const result = run(scenario);
  return { result, ...outcome(result) };
}

const tried = (id) => lesson(id, (scenario) => change(LESSONS.find((one) => one.id === id), scenario));
const near = (found, expected, share) => assert.ok(Math.abs(found / expected - 1) <= share, `${found}, not ${expected}`);

/** Returns the largest rate of a flow in the last quarter of a run, divided by its smallest rate. */
function swing({ tables, resolved, now }) {
  const rates = [...tables.flows.throughput_bps].filter((_, row) => row % resolved.flows.length === 0 && tables.flows.t[row] > 0.75 * now);
  return Math.max(...rates) / Math.min(...rates);
}

test("queue: it fills, an eighth of the packets is dropped, a full buffer delays packets by 114 ms", () => {
  assert.ok(lesson("queue").links[0].longest < 0.002);
  const { links, result } = tried("queue");
  near(links[0].longest, 100 * 8000 / 7e6, 0.03);
  const { tables: { links: { dropped_bytes: bytes, arrival_bps: arrived, t } } } = result;
  const late = [...t].flatMap((at, row) => (at > 7.5 && arrived[row] > 1e6 ? [Number(bytes[row]) / (arrived[row] * 0.05 / 8)] : []));
  near(late.reduce((a, b) => a + b) / late.length, 1 / 8, 0.05);
});

test("fairness: the near flow gets more under Reno, the same under JetMax", () => {
  near(jain(lesson("fairness").flows), 1, 0.02);
  const [close, far] = tried("fairness").flows;
  assert.ok(close.rate > 2 * far.rate);
  const fair = lesson("fairness", (scenario) => scenario.flow.forEach((flow, i) => Object.assign(flow, { law: "jetmax", rtt: i ? "80 ms" : "20 ms" })));
  near(jain(fair.flows), 1, 1e-4);
});

test("delay: rates oscillate at 200 ms, and converge with a gain of 0.05", () => {
  assert.ok(swing(lesson("delay").result) < 1.3);
  assert.ok(swing(tried("delay").result) > 2);
  const calm = lesson("delay", (scenario) => {
    scenario.flow.forEach((flow) => { flow.rtt = "200 ms"; });
    scenario.law.kelly.kappa = 0.05;
  });
  assert.ok(swing(calm.result) < 1.3, `${swing(calm.result)}`);
  assert.ok(jain(calm.flows) < jain(lesson("delay").flows));
});

test("buffers: the delay grows with the buffer; utilisation is 99 % with 25 packets, 89 % with 5", () => {
  near(tried("buffers").links[0].longest, 4 * lesson("buffers").links[0].longest, 0.02);
  for (const [packets, used] of [[25, 0.99], [5, 0.89]]) {
    const { result, links } = lesson("buffers", (scenario) => { scenario.link[0].buffer = `${packets} packets`; });
    near(result.summary.links[0].utilisation, used, 0.01);
    near(links[0].longest, (packets - 1) * 8000 / 1e7, 0.02); // delay of the last packet in a full buffer
  }
});

test("buffers: the checked answer is the largest buffer with a delay of at most 20 ms", () => {
  const sizes = [...Array(20).keys()].map((i) => i + 15);
  const short = sizes.filter((size) => lesson("buffers", ({ link }) => { link[0].buffer = `${size} packets`; }).links[0].longest <= 0.02);
  const { value, tolerance } = LESSONS.find((one) => one.id === "buffers").check;
  assert.deepEqual([value, tolerance], [Math.max(...short), 0]);
});

test("explicit: when five flows join, the delay is below 10 ms without drops; CUBIC fills the buffer", () => {
  const { links, dropped } = tried("explicit");
  assert.ok(links[0].longest < 0.01 && dropped === 0);
  const cubic = lesson("explicit", (scenario) => { scenario.flow.forEach((flow) => { flow.law = "cubic"; }); });
  near(cubic.links[0].longest, 0.08, 0.02);
});

test("maxmin: 9, 21, 11 and 9 Mb/s; x1 gets 10 Mb/s from 20 Mb/s of the third link on", () => {
  lesson("maxmin").flows.forEach(({ rate, fair }, i) => {
    near(fair, [9e6, 21e6, 11e6, 9e6][i], 1e-9);
    near(rate, fair, 0.02);
  });
  for (const [capacity, rate] of [["20 Mb/s", 10e6], ["40 Mb/s", 10e6], ["19 Mb/s", 9.5e6]]) {
    near(lesson("maxmin", (scenario) => { scenario.link[2].capacity = capacity; }).flows[0].rate, rate, 0.02);
  }
});

test("each lesson waits for its change, and has a hint for each wrong option, in each language", () => {
  for (const one of LESSONS) {
    const { id, scenario, concealed, right, file } = one;
    const changed = structuredClone(scenario);
    change(one, changed);
    assert.equal(reached(one, scenario), concealed, id);
    assert.ok(reached(one, changed), id);
    for (const { options, hints } of [file.en, file.de]) {
      assert.equal(hints.length, options.length, id);
      hints.forEach((hint, i) => assert.equal(hint.length > 20, i !== right, `${id}, option ${i}`));
    }
    assert.deepEqual(Object.keys(file.de).toSorted(), Object.keys(file.en).toSorted(), id);
  }
});

test("the lesson in the guide for teachers is valid, and its number and statement are right", () => {
  const guide = readFileSync(new URL("../../../docs/guides/teach.md", import.meta.url), "utf8");
  const own = lessonOf("own", engine.parse(/```toml\n(.*?)```/s.exec(guide)[1]));
  const small = structuredClone(own.scenario);
  change(own, small);
  const [before, after] = [own.scenario, small].map(run);
  assert.ok(after.summary.links[0].utilisation < 0.97 * before.summary.links[0].utilisation);
  near(outcome(after).links[0].longest * 1000, own.check.value, own.check.tolerance / own.check.value);
});

test("numbers of a lesson are the same in each language", () => {
  for (const { id, file: { en, de } } of LESSONS) {
    for (const key of ["text", "predict", "options", "why", "question", "answer"]) {
      const numbers = (text) => String(text).match(/\d+(?:\.\d+)?/g)?.toSorted() ?? [];
      assert.deepEqual(numbers(de[key]), numbers(en[key]), `${id}, ${key}`);
    }
  }
});

test("an invalid lesson is rejected with its key and the allowed values", () => {
  const file = fileOf("queue");
  const wrong = (edit) => {
    const copy = structuredClone(file);
    edit(copy.lesson);
    return () => lessonOf("own", copy);
  };
  for (const [edit, line] of [
    [(of) => { of.plot = "drops"; }, /^lesson, plot: needs "rates", "queues"$/], [(of) => { of.right = 4; }, /^lesson, right: needs 1 – 3$/],
    [(of) => { delete of.en.why; }, /^lesson, en.why/], [(of) => { of.measures = ["weight"]; }, /^lesson, measures: needs wait, loss/],
    [(of) => { of.change = { "links.1.capacity": 3 }; }, /^lesson, change/], [(of) => { delete of.en; delete of.de; }, /^lesson, en, de/],
    [(of) => { of.check = { value: "many" }; }, /^lesson, check/], [(of) => { of.en.hints = []; }, /^lesson, en.hints/],
  ]) assert.throws(wrong(edit), ({ message }) => line.test(message) && !message.includes("\n"), line.source);
});
