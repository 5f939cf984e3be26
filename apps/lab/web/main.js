/** Page: one scenario, its runs, and all elements that show or change them. */

import { Controls, named } from "./controls.js";
import { Editing } from "./editing.js";
import { readFiles, readScenario } from "./files.js";
import { LESSONS, Lessons } from "./lessons.js";
import { Packets } from "./packets.js";
import { panels } from "./panels.js";
import { Plots } from "./plots.js";
import { PRESETS, preset } from "./presets.js";
import { catalogue, lineOf, run } from "./runner.js";
import { lawOf, nodes, place, setLaw, toToml, withLaw } from "./scenario.js";
import { ended, flows as flowSeries, sampleAt } from "./series.js";
import { SAVES } from "./saves.js";
import { decode, encode } from "./share.js";
import { nearest, SPEEDS, suitable } from "./speeds.js";
import { arrange, Stage } from "./stage.js";
import { fetchResult, offered, sum } from "./stored.js";
import { Theory } from "./theory.js";
import { format, parse as quantityOf, short } from "./units.js";

const $ = (id) => document.getElementById(id);
const SETTLE_MS = 120; // time from the last change to the next request for packets
const MOST_UNDO = 100;
const MOST_ROWS = 300; // rows in the table of flow rates

const dark = window.matchMedia("(prefers-color-scheme: dark)");
const still = window.matchMedia("(prefers-reduced-motion: reduce)");

const lab = {
  scenario: { name: "", duration: "1 s", link: [], flow: [] },
  layout: {},
  selected: { kind: "link", index: 0 },
  compare: "",
  stored: null,
  catalogue: { laws: [], queues: [], buffers: [] },
  get dark() { return dark.matches; },
  change, select,
};
const clock = { time: 0, speed: 1 / 30, playing: false, dirty: true, last: 0 };
const undo = [];
let lastEdit = { key: null, at: 0 };
let version = 0;

const editing = new Editing(lab, { hint: (text) => { $("hint").textContent = text; }, press, redraw });
const act = { select, move, pick: (name) => editing.pick(name) };
const sides = {
  a: side("a", withPackets(new Stage($("stage-a"), act), "a")),
  b: side("b", withPackets(new Stage($("stage-b"), act), "b")),
};
const controls = new Controls(lab);
const theory = new Theory($("theory"));
const lessons = new Lessons($("lesson"), {
  open: openLesson, close: closeLesson, fields: (drag) => controls.forLesson(drag),
});

function withPackets(stage, name) {
  return { stage, packets: new Packets(name, stage) };
}

function side(name, parts) {
  return { name, ...parts, plots: new Plots($(`plots-${name}`), seek), result: null, drawn: 0 };
}

/* Changes of the scenario */

/** Edits the scenario and runs it. The edits of one drag are undone together. */
function change(edit, dragging = false, key = null) {
  const now = performance.now();
  const same = dragging && key !== null && key === lastEdit.key && now - lastEdit.at < 1000;
  if (!same) remember();
  lastEdit = { key, at: now };
  edit();
  lab.stored = null;
  rerun();
}

function remember() {
  undo.push(JSON.stringify({ scenario: lab.scenario, layout: lab.layout }));
  if (undo.length > MOST_UNDO) undo.shift();
  $("undo").disabled = false;
}

function takeBack() {
  const state = undo.pop();
  $("undo").disabled = undo.length === 0;
  if (!state) return;
  Object.assign(lab, JSON.parse(state), { stored: null });
  lastEdit = { key: null, at: 0 };
  rerun();
}

/** Shows a scenario from a file, a link or a lesson. */
function load(scenario, layout = null, stored = null) {
  lab.scenario = scenario;
  lab.stored = stored;
  lab.layout = layout ?? arrange(scenario);
  lab.selected = { kind: "link", index: 0 };
  undo.length = 0;
  $("undo").disabled = true;
  clock.time = 0.2 * (quantityOf("time", scenario.duration) || 0);
  clock.speed = suitable(scenario);
  $("speed").value = String(clock.speed);
  notice("");
  rerun();
}

/* Runs */

function rerun() {
  version += 1;
  const mine = version;
  const nobody = nodes(lab.scenario).filter((name) => !Object.hasOwn(lab.layout, name));
  if (nobody.length) lab.layout = { ...arrange(lab.scenario), ...lab.layout };
  const asked = performance.now();
  const jobs = lab.stored ? [] : [["a", structuredClone(lab.scenario)]];
  if (lab.compare) jobs.push(["b", withLaw(lab.scenario, lab.compare)]);
  else sides.b.result = null;
  for (const [name, scenario] of jobs) {
    run(name, scenario, (result) => {
      if (version - mine > 50 && !result.done) return;
      arrived(sides[name], result, mine, asked);
    });
  }
  if (lab.stored) showStored(mine);
  $("stored").hidden = !lab.stored;
  redraw();
  if ($("text-box").open) writeToml();
}

/** Draws a stored result, which has no packet positions. */
function showStored(mine) {
  const of = sides.a;
  clearTimeout(of.timer);
  of.drawn = mine;
  of.result = { ...lab.stored, version: mine };
  of.waits = false;
  of.packets.reset(mine, null, null);
  of.stage.clear();
  $("stored-from").textContent = `Stored result ${lab.stored.stored.path}, ${lab.stored.stored.origin}.`;
  blame(of, []);
  draw(of);
  tell();
  theory.ask(lab.scenario);
  document.body.dataset.redrawMs = "0";
}

/** Handles a result that is complete or in progress. */
function arrived(of, result, mine, asked) {
  if (mine < of.drawn) return;
  if (result.wrong) {
    if (mine === version) blame(of, result.wrong);
    return;
  }
  if (of.name === "a" && of.drawn !== mine) document.body.dataset.firstMs = String(Math.round(performance.now() - asked));
  of.drawn = mine;
  of.result = { ...result, version: mine };
  draw(of);
  if (!result.done || mine !== version) return;
  if (of.name === "a") {
    blame(of, []);
    lessons.show(of.result);
    theory.ask(lab.scenario);
    document.body.dataset.redrawMs = String(Math.round(performance.now() - asked));
  }
  if (sides.a.result?.done) tell();
  clearTimeout(of.timer);
  of.timer = setTimeout(() => {
    of.packets.reset(mine, result.scenario, of.result);
    clock.dirty = true;
  }, SETTLE_MS);
}

function draw(of) {
  const { resolved } = of.result;
  const other = of.name === "a" ? sides.b : sides.a;
  const own = panels(of.result, lab.dark);
  const beside = lab.compare && other.result ? panels(other.result, lab.dark, peaksOf(own)) : [];
  of.plots.show(beside.length ? panels(of.result, lab.dark, peaksOf(beside)) : own, resolved.duration_s);
  if (beside.length) other.plots.show(beside, other.result.resolved.duration_s);
  $(`title-${of.name}`).textContent = lab.compare ? [...new Set(resolved.flows.map((flow) => flow.law))].join(", ") : "";
  $(`title-${of.name}`).hidden = !lab.compare;
  clock.time = Math.min(clock.time, resolved.duration_s);
  of.plots.mark(clock.time);
  tellTime();
}

/** Returns the largest value of each panel, so that two compared results share axes. */
function peaksOf(all) {
  return Object.fromEntries(all.map(({ key, peak }) => [key, peak]));
}

/** Shows a summary of the run. */
function tell() {
  const { result } = sides.a;
  const warnings = result.resolved.warnings.map((one) => ` · ${one}`).join("");
  if (result.stored) {
    $("status").textContent = sum(result.resolved, result.summary) + warnings;
    return;
  }
  const dropped = result.summary.links.reduce((sum, link) => sum + link.dropped_packets, 0);
  const parts = [
    `${result.hops.toLocaleString("en")} packet-hops in ${Math.round(result.ms)} ms`,
    `${dropped.toLocaleString("en")} packets dropped`,
    ended(result.resolved, result.summary),
  ].filter(Boolean);
  if (result.cut) parts.unshift(`Cut at ${format("time", result.now)}: a page simulates 30 million events; shorten the run or slow the links`);
  $("status").textContent = parts.join(" · ") + warnings;
}

/** Shows each mistake next to its field, or in a list at the top if it has no field. */
function blame(of, lines) {
  const found = lines.map((text) => {
    const where = place(text);
    const { list, index, key, law } = where;
    const keys = list === "law" ? [`law.${law}.${key}`] : [`${list}.${index}.${key}`, ...(key === "rtt" ? ["all.rtt"] : [])];
    return { line: text, keys, where };
  });
  const rest = controls.blame(found);
  const box = $("mistakes");
  box.hidden = rest.length === 0;
  box.replaceChildren(...rest.map(({ line: text, where }) => {
    const item = document.createElement("li");
    item.textContent = of.name === "b" ? `Second law: ${text}` : text;
    if (where.list === "link" || where.list === "flow") {
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = "Show";
      button.addEventListener("click", () => select(where.list, where.index));
      item.append(" ", button);
    }
    return item;
  }));
}

/* The drawing */

function redraw() {
  const paths = lab.scenario.flow.map((flow, i) => {
    if (Array.isArray(flow.path) && flow.path.length > 1) return flow.path;
    return route(flow, i);
  });
  const view = { scenario: lab.scenario, layout: lab.layout, selected: lab.selected, picked: editing.first, dark: lab.dark, paths };
  sides.a.stage.show(view);
  if (lab.compare) sides.b.stage.show(view);
  $("stage-b").hidden = $("side-b").hidden = !lab.compare;
  $("entry-title").textContent = "Link";
  controls.show();
  const laws = [...new Set(lab.scenario.flow.map(lawOf))];
  $("law-all").value = laws.length === 1 ? laws[0] : "";
  $("remove").disabled = !editing.removable;
  clock.dirty = true;
}

/** Returns the first and last hops of a flow, from the last run that contained the flow. */
function route(flow, i) {
  const resolved = sides.a.result?.resolved;
  const known = resolved?.flows[i];
  if (known && known.name === flow.name) {
    const ends = new Map(resolved.links.map((link) => [link.name, [link.from, link.to]]));
    const path = [ends.get(known.path[0])[0], ...known.path.map((name) => ends.get(name)[1])];
    if (path[0] === flow.from && path.at(-1) === flow.to) return path;
  }
  return flow.from && flow.to && flow.from !== flow.to ? [flow.from, flow.to] : null;
}

function select(kind, index) {
  lab.selected = { kind, index };
  redraw();
}

function move(node, x, y) {
  lab.layout = { ...lab.layout, [node]: [x, y] };
  redraw();
}

/** Shows the kind of item that is being added. */
function press(adding) {
  for (const kind of ["link", "flow"]) {
    if (kind === adding) $(`add-${kind}`).setAttribute("aria-pressed", "true");
    else $(`add-${kind}`).removeAttribute("aria-pressed");
  }
}

/* Time */

function seek(time) {
  clock.time = time;
  clock.dirty = true;
  for (const of of Object.values(sides)) of.plots.mark(time);
  tellTime();
}

function tellTime() {
  const { result } = sides.a;
  const duration = result?.resolved?.duration_s ?? 1;
  const scrub = $("scrub");
  scrub.value = String(Math.round((clock.time / duration) * 1000));
  const digits = Math.max(0, Math.min(4, Math.ceil(-Math.log10(clock.speed)) + 1));
  const text = `${clock.time.toFixed(digits)} s`;
  scrub.setAttribute("aria-valuetext", text);
  $("clock").textContent = text;
  const now = performance.now();
  if (now - (tellTime.last ?? 0) < 90 && clock.playing) return;
  tellTime.last = now;
  tellRates();
}

/** Shows the rates at the time of the displayed packets. */
function tellRates() {
  const { result } = sides.a;
  if (!result?.tables.flows) return;
  if (tellRates.of !== result) {
    tellRates.of = result;
    tellRates.series = flowSeries(result, MOST_ROWS);
  }
  const { t, entries } = tellRates.series;
  const sample = Math.max(sampleAt(t, clock.time), 0);
  const caption = document.querySelector("#flows [data-time]");
  if (caption) caption.textContent = `Rates at ${$("clock").textContent}`;
  for (const cell of document.querySelectorAll("#flows [data-rate], #flows [data-fair]")) {
    const entry = entries[Number(cell.dataset.rate ?? cell.dataset.fair)];
    const value = (cell.dataset.rate !== undefined ? entry?.rate : entry?.fair)?.[sample];
    cell.textContent = value === null || value === undefined ? "–" : format("rate", value);
  }
}

function setPlaying(on) {
  clock.playing = on;
  clock.last = 0;
  $("play").textContent = on ? "Pause" : "Play";
  $("play").setAttribute("aria-pressed", String(on));
}

function frame(now) {
  requestAnimationFrame(frame);
  const { result } = sides.a;
  if (!result?.resolved || !(clock.playing || clock.dirty)) return;
  const duration = result.resolved.duration_s;
  if (clock.playing) {
    const passed = clock.last ? Math.min(now - clock.last, 100) / 1000 : 0;
    clock.last = now;
    const waits = sides.a.waits && passed > 0;
    if (!waits) clock.time += passed * clock.speed;
    if (clock.time >= duration) {
      clock.time = duration;
      setPlaying(false);
    }
    for (const of of Object.values(sides)) of.plots.mark(clock.time);
    tellTime();
  }
  let drawn = true;
  for (const of of Object.values(sides)) {
    if (!of.result || of.result.stored || (of.name === "b" && !lab.compare)) continue;
    const there = of.packets.draw(clock.time, clock.speed, lab.dark);
    of.waits = !there;
    drawn &&= there;
  }
  clock.dirty = !drawn;
}

/* Lessons */

function openLesson(lesson) {
  controls.forLesson([]);
  lab.compare = "";
  $("compare").value = "";
  lessons.open(lesson);
  load(structuredClone(lesson.scenario));
  clock.speed = nearest(lesson.speed);
  $("speed").value = String(clock.speed);
  $("lessons-open").setAttribute("aria-expanded", "true");
  history.replaceState(null, "", `#lesson=${lesson.id}`);
  $("preset").value = "";
}

function closeLesson() {
  lessons.close();
  controls.forLesson([]);
  $("lessons-open").setAttribute("aria-expanded", "false");
  history.replaceState(null, "", location.pathname);
}

/* Files and links */

function notice(text) {
  $("notice").textContent = text;
  $("notice").hidden = !text;
}

function writeToml() {
  $("toml").value = toToml(lab.scenario);
  wrongToml("");
}

function wrongToml(text) {
  $("toml-wrong").textContent = text;
  $("toml-wrong").hidden = !text;
  $("toml").toggleAttribute("aria-invalid", Boolean(text));
  if (text) $("toml").setAttribute("aria-invalid", "true");
}

/** Loads a scenario from text; reports mistakes with their places to `from`. */
async function take(text, from) {
  try {
    load(await readScenario(text));
    return true;
  } catch (error) {
    from(error.message);
    return false;
  }
}

async function apply() {
  const text = $("toml").value;
  wrongToml("");
  if (!(await take(text, wrongToml))) return;
  $("toml").value = text;
  run("check", lab.scenario, async (result) => {
    if (!result.wrong) return;
    const lines = await Promise.all(result.wrong.map(async (mistake) => {
      const line = await lineOf(mistake, text);
      return line ? `line ${line}: ${mistake}` : mistake;
    }));
    wrongToml(lines.join("\n"));
  });
}

/** Opens a scenario with its traces, saved tables, or both. The tables are results of the scenario. */
async function openFiles(files) {
  const { scenario, stored } = await readFiles(files, lab.scenario);
  if (scenario) {
    closeLesson();
    $("preset").value = "";
  }
  load(scenario ?? lab.scenario, scenario ? null : lab.layout, stored);
}

async function share() {
  const state = { scenario: lab.scenario, layout: lab.layout, compare: lab.compare, speed: clock.speed, time: clock.time };
  let fragment;
  try {
    fragment = await encode(state);
  } catch (error) {
    notice(error.message);
    return;
  }
  history.replaceState(null, "", fragment);
  try {
    await navigator.clipboard.writeText(location.href);
    notice("The link is copied. It opens this network with these values.");
  } catch {
    notice("The link is in the address bar; copy it from there.");
  }
}

/** Opens the lesson or network that the page's address names, or else the first network. */
async function openAddress() {
  const lesson = LESSONS.find(({ id }) => location.hash === `#lesson=${id}`);
  if (lesson) {
    openLesson(lesson);
    return;
  }
  try {
    if (offered && !location.hash) {
      const stored = await fetchResult();
      load(stored.scenario, null, stored);
      $("preset").value = "";
      return;
    }
    const state = await decode(location.hash);
    if (state) {
      lab.compare = lab.catalogue.laws.some((law) => law.name === state.compare) ? state.compare : "";
      $("compare").value = lab.compare;
      const isSpot = (spot) => Array.isArray(spot) && spot.length === 2 && spot.every((x) => x >= 0 && x <= 1);
      const spots = Object.entries(state.layout ?? {}).filter(([, spot]) => isSpot(spot));
      load(state.scenario, { ...arrange(state.scenario), ...Object.fromEntries(spots) });
      if (SPEEDS.includes(state.speed)) clock.speed = state.speed;
      $("speed").value = String(clock.speed);
      $("preset").value = "";
      if (state.time > 0) clock.time = Number(state.time);
      return;
    }
    await openPreset("t1");
    if (/^#lesson=/.test(location.hash)) notice(`There is no lesson “${location.hash.slice(8)}”; there are ${LESSONS.map(({ id }) => id).join(", ")}.`);
  } catch (error) {
    await openPreset("t1");
    notice(error.message);
  }
}

async function openPreset(name) {
  $("preset").value = name;
  if (await take(await preset(name), notice)) $("preset").value = name;
}

/* Start */

function fill(select, rows) {
  select.replaceChildren(...rows.map(([value, text]) => new Option(text, value)));
}

function listen() {
  $("preset").addEventListener("change", async ({ target }) => {
    if (!target.value) return;
    closeLesson();
    openPreset(target.value);
  });
  $("law-all").addEventListener("change", ({ target }) => {
    if (target.value) change(() => lab.scenario.flow.forEach((flow) => setLaw(flow, target.value)));
  });
  $("compare").addEventListener("change", ({ target }) => {
    lab.compare = target.value;
    rerun();
  });
  $("lessons-open").addEventListener("click", () => (lessons.lesson ? closeLesson() : openLesson(LESSONS[0])));
  $("run-here").addEventListener("click", () => {
    lab.stored = null;
    rerun();
  });
  $("undo").addEventListener("click", takeBack);
  $("share").addEventListener("click", share);
  for (const [id, call] of Object.entries(SAVES)) {
    $(id).addEventListener("click", () => {
      $("files").open = false;
      if (id === "save-toml" || sides.a.result?.done) call(lab.scenario, sides.a.result);
      else notice("The run is not finished; try again in a moment.");
    });
  }
  $("open-toml").addEventListener("click", () => $("file").click());
  $("file").addEventListener("change", async ({ target }) => {
    $("files").open = false;
    await openFiles([...target.files]).catch((error) => notice(error.message));
    target.value = "";
  });
  $("apply").addEventListener("click", apply);
  $("text-box").addEventListener("toggle", () => $("text-box").open && writeToml());
  $("add-node").addEventListener("click", () => editing.addNode());
  $("add-link").addEventListener("click", () => editing.start("link"));
  $("add-flow").addEventListener("click", () => editing.start("flow"));
  $("remove").addEventListener("click", () => editing.remove());
  $("skip").addEventListener("click", () => $("play").focus());
  $("play").addEventListener("click", () => {
    if (!clock.playing && clock.time >= (sides.a.result?.resolved.duration_s ?? 0)) clock.time = 0;
    setPlaying(!clock.playing);
  });
  $("scrub").addEventListener("input", ({ target }) => seek((target.value / 1000) * (sides.a.result?.resolved?.duration_s ?? 1)));
  $("speed").addEventListener("change", ({ target }) => {
    clock.speed = Number(target.value);
    clock.dirty = true;
  });
  document.addEventListener("keydown", keys);
  dark.addEventListener("change", () => {
    for (const of of Object.values(sides)) {
      of.plots.clear();
      if (of.result) draw(of);
    }
    redraw();
  });
  window.addEventListener("hashchange", openAddress);
}

function keys(event) {
  const typing = /^(INPUT|TEXTAREA|SELECT|BUTTON|SUMMARY)$/.test(event.target.tagName);
  if (event.key === "Escape") {
    editing.stop();
    $("files").open = false;
  } else if (event.key === " " && !typing) {
    event.preventDefault();
    $("play").click();
  } else if ((event.key === "Delete" || event.key === "Backspace") && !typing) editing.remove();
  else if (event.key === "z" && (event.ctrlKey || event.metaKey) && !/^(TEXTAREA)$/.test(event.target.tagName) && event.target.type !== "text") {
    event.preventDefault();
    takeBack();
  }
}

async function begin() {
  listen();
  fill($("preset"), [["", "own network"], ...PRESETS]);
  fill($("speed"), SPEEDS.map((speed) => [String(speed), speed < 1 ? `1/${Math.round(1 / speed)}` : `${short(speed)}×`]));
  lab.catalogue = await catalogue();
  const laws = lab.catalogue.laws.map(named);
  fill($("law-all"), [["", "different laws"], ...laws]);
  fill($("compare"), [["", "no second law"], ...laws]);
  await openAddress();
  setPlaying(!still.matches);
  requestAnimationFrame(frame);
}

begin().catch((error) => notice(`The lab cannot start: ${error.message}`));
