/** Contents of the four plots of a result: titles, units and lines. Screen and saved files have the same plots. */

import { flows, links } from "./series.js";
import { format, short, unitFor } from "./units.js";
import { words } from "./words.js";

/**
 * @import { Series } from "./series.js"
 * @import { Resolved, Result } from "./types.js"
 */

/**
 * Line of a plot. A `quiet` line has no entry in legends; a `step` line keeps each value until the next sample.
 *
 * @typedef {{colour: string, dash: number[]}} Look
 * @typedef {Look & {name: string, values: Series, width: number, quiet?: boolean, step?: boolean}} Line
 */

/**
 * Plot of some lines on a common time axis. Values are in `unit`, but `peak` is in base units. `low` is the lower end of
 * the axis; null if the lines determine it.
 *
 * @typedef {ReturnType<typeof inUnit> & {key: "rates" | "queues" | "drops" | "signals", t: number[], low?: number | null,
 *   high?: number}} Panel
 */

/** Colours of lines on light and on dark pages. @typedef {{light: string[], dark: string[]}} Palette */

/** @type {Palette} */
const FLOW_COLOURS = {
  light: ["#0072b2", "#c24e00", "#007f5c", "#a6467f", "#5d4fc4", "#846000", "#333333"],
  dark: ["#56b4e9", "#ff9a52", "#35cfa1", "#eba3cf", "#a99cff", "#f0c750", "#e6e6e6"],
};
/** @type {Palette} */
const LINK_COLOURS = {
  light: ["#3d4a5c", "#9a3412", "#0f766e", "#7e22ce", "#a16207", "#be185d"],
  dark: ["#b6c2d4", "#fdba74", "#5eead4", "#d8b4fe", "#fde047", "#f9a8d4"],
};
/** Unit of fractions, and its factor. @type {[string, number]} */
const PERCENT = ["%", 0.01];
const DASHES = [[], [9, 4], [5, 3, 1.5, 3], [2.5, 2.5]];

/**
 * Returns the colour and dashes of the i-th line. Adjacent lines differ in colour and in dashes.
 *
 * @param {number} i
 * @param {boolean} dark
 * @param {Palette} palette
 * @returns {Look}
 */
export function look(i, dark, palette = FLOW_COLOURS) {
  const colours = dark ? palette.dark : palette.light;
  return { colour: colours[i % colours.length], dash: DASHES[i % DASHES.length] };
}

/**
 * Returns the maximum of a number and all values of a series.
 *
 * @param {number} most
 * @param {Series} values
 */
function larger(most, values) {
  return values.reduce((/** @type {number} */ most, x) => (x !== null && x > most ? x : most), most);
}

/**
 * Converts lines to the unit that suits their largest value.
 *
 * @param {"rate" | "time" | "share" | "number"} kind
 * @param {string} title
 * @param {Line[]} lines
 * @param {number} peak largest value of a compared result
 */
function inUnit(kind, title, lines, peak = 0) {
  const most = lines.reduce((most, { values }) => larger(most, values), peak);
  const [unit, factor] = kind === "number" ? power(most) : kind === "share" ? PERCENT : unitFor(kind, most || 1);
  const scaled = lines.map((line) => ({ ...line, values: line.values.map((x) => (x === null ? null : x / factor)) }));
  /** @param {number | null | undefined} x */
  const textOf = (x) => {
    if (x === null || x === undefined) return "–";
    return kind === "time" || kind === "rate" ? format(kind, x * factor) : `${short(x)}${unit ? ` ${unit}` : ""}`;
  };
  return { title, unit, lines: scaled, textOf, most: most / factor, peak: most };
}

/**
 * Returns the power of ten by which a plot divides large numbers, as text and as factor.
 *
 * @param {number} most largest number
 * @returns {[string, number]}
 */
function power(most) {
  const thousands = most >= 1e5 ? Math.min(Math.floor(Math.log10(most) / 3), 3) : 0;
  return [["", "×10³", "×10⁶", "×10⁹"][thousands], 1000 ** thousands];
}

/**
 * Returns the panels of a result.
 *
 * @param {Result} result
 * @param {boolean} dark
 * @param {{[panel: string]: number}} peaks largest values of a compared result
 * @returns {Panel[]}
 */
export function panels(result, dark, peaks = {}) {
  const { t, entries } = flows(result);
  const on = links(result);
  const rates = entries.flatMap((entry, i) => {
    const name = entry.count === 1 ? entry.name : words.plots.each(entry.name);
    return [
      { name, ...look(i, dark), values: entry.rate, width: 2 },
      { name: words.plots.fairFor(entry.name), ...look(i, dark), dash: [1.5, 4], values: entry.fair, width: 1.5, quiet: true, step: true },
    ];
  });
  /** @param {"wait" | "dropped" | "signal"} key */
  const lines = (key) => on.links.map((link, i) => ({ name: link.name, ...look(i, dark, LINK_COLOURS), values: link[key], width: 1.75 }));
  const limits = on.links.flatMap((link, i) => (link.buffer === null ? [] : [
    { name: words.plots.bufferOf(link.name), ...look(i, dark, LINK_COLOURS), dash: [1.5, 4], values: link.buffer, width: 1.5, quiet: true },
  ]));
  const peak = on.links.reduce((most, link) => larger(most, link.wait), 0);
  // A buffer far above the queueing delays would flatten their lines.
  const near = limits.map((limit) => ({ ...limit, values: limit.values.map((x) => (x !== null && x <= 3 * peak ? x : null)) }))
    .filter((limit) => limit.values.some((x) => x !== null));
  const all = result.resolved.flows.length;
  const shown = entries.length < all ? words.plots.firstFlows(entries.length, all) : words.plots.eachFlow;
  const longest = on.links.length < on.many ? words.plots.ofLinks(on.links.length, on.many) : "";
  const signals = inUnit("number", signalTitle(result.resolved), lines("signal").filter((line) => line.values.some((x) => x !== null)));
  return [
    { key: "rates", t, ...inUnit("rate", words.plots.rates(shown), rates, peaks.rates) },
    { key: "queues", t: on.t, ...inUnit("time", words.plots.queues(longest), [...lines("wait"), ...near], peaks.queues) },
    { key: "drops", t: on.t, ...inUnit("share", words.plots.drops, lines("dropped"), peaks.drops) },
    { key: "signals", t: on.t, ...signals, ...rangeOf(signals.lines) },
  ];
}

/**
 * Returns the panels of the game: throughput and capacity, and queueing delay.
 *
 * @param {{t: number[], rate: Series, capacity: Series, wait: Series}} course
 * @param {boolean} dark
 * @returns {Panel[]}
 */
export function gamePanels({ t, rate, capacity, wait }, dark) {
  const rates = [
    { name: words.steer.capacity, ...look(1, dark), dash: [1.5, 4], values: capacity, width: 2, step: true },
    { name: words.steer.you, ...look(0, dark), values: rate, width: 2 },
  ];
  const waits = [{ name: words.steer.queue, ...look(0, dark, LINK_COLOURS), values: wait, width: 1.75 }];
  return [
    { key: "rates", t, ...inUnit("rate", words.steer.rates, rates, 15e6) },
    { key: "queues", t, ...inUnit("time", words.steer.queues, waits, 0.1) },
  ];
}

/**
 * Returns the range of signals, without rare extremes. Such extremes would flatten the lines.
 *
 * @param {Line[]} lines
 */
function rangeOf(lines) {
  const values = lines.flatMap((line) => line.values.filter((x) => x !== null)).sort((a, b) => a - b);
  const [low, high] = [0.02, 0.98].map((share) => values[Math.floor(share * (values.length - 1))] ?? 0);
  const width = high - low || Math.abs(high) || 1;
  if (values.length && values[values.length - 1] - values[0] <= 4 * width) return { low: null };
  return { low: low - width / 10, high: high + width / 10 };
}

/**
 * Returns the title of the panel of signals.
 *
 * @param {Resolved} resolved
 */
function signalTitle(resolved) {
  const laws = [...new Set(resolved.links.flatMap((link) => Object.keys(link.laws)))];
  if (laws.length) return words.plots.routerSignals(laws.join(", "));
  const queues = [...new Set(resolved.links.map((link) => Object.keys(link.queue)[0]))];
  const active = queues.filter((name) => !name.startsWith("drop_"));
  return active.length ? words.plots.queueSignals(active.join(", ")) : words.plots.noSignals;
}

/**
 * Returns the largest value of each panel.
 *
 * @param {Panel[]} all
 */
export function peaksOf(all) {
  return Object.fromEntries(all.map(({ key, peak }) => [key, peak]));
}
