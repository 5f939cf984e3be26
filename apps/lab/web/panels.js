/** Contents of the four plots of a result: titles, units and lines, for the screen and for files. */

import { flows, links } from "./series.js";
import { format, short, unitFor } from "./units.js";

const LIGHT = ["#0072b2", "#c24e00", "#007f5c", "#a6467f", "#5d4fc4", "#846000", "#333333"];
const DARK = ["#56b4e9", "#ff9a52", "#35cfa1", "#eba3cf", "#a99cff", "#f0c750", "#e6e6e6"];
const DASHES = [[], [9, 4], [5, 3, 1.5, 3], [2.5, 2.5]];

/** Returns the colour and dashes of the i-th line. Adjacent lines differ in both. */
export function look(i, dark) {
  const colours = dark ? DARK : LIGHT;
  return { colour: colours[i % colours.length], dash: DASHES[i % DASHES.length] };
}

/** Converts ticks and values to one unit, chosen by the largest value. */
function inUnit(kind, title, lines, peak = 0) {
  const most = lines.reduce((most, { values }) => values.reduce((a, b) => (b > a ? b : a), most), peak);
  const [unit, factor] = kind === "number" ? power(most) : kind === "share" ? ["%", 0.01] : unitFor(kind, most || 1);
  const scaled = lines.map((line) => ({ ...line, values: line.values.map((x) => (x === null ? null : x / factor)) }));
  const tell = (x) => (x === null || x === undefined ? "–" : kind === "time" || kind === "rate"
    ? format(kind, x * factor) : `${short(x)}${unit ? ` ${unit}` : ""}`);
  return { title, unit, lines: scaled, tell, most: most / factor, peak: most };
}

/** Describes the selection of drawn flows in words. */
function some(drawn, all) {
  return drawn.length < all.length ? `the first ${drawn.length} of ${all.length} flows` : "each flow";
}

/** Returns the power of ten by which numbers up to `most` are divided to make them short. */
function power(most) {
  const thousands = most >= 1e5 ? Math.min(Math.floor(Math.log10(most) / 3), 3) : 0;
  return [["", "×10³", "×10⁶", "×10⁹"][thousands], 1000 ** thousands];
}

/** Returns the panels of a result, with a common time axis; `peaks` has the peaks of a compared result, by panel. */
export function panels(result, dark, peaks = {}) {
  const of = flows(result);
  const on = links(result);
  const rates = of.entries.flatMap((entry, i) => {
    const name = entry.count === 1 ? entry.name : `${entry.name}, each`;
    return [
      { name, ...look(i, dark), values: entry.rate, width: 2 },
      { name: `fair for ${entry.name}`, ...look(i, dark), dash: [1.5, 4], values: entry.fair, width: 1.5, quiet: true, step: true },
    ];
  });
  const lines = (key) => on.links.map((link, i) => ({ name: link.name, ...look(i, dark), values: link[key], width: 1.75 }));
  const limits = on.links.flatMap((link, i) => (link.buffer === null ? [] : [
    { name: `buffer of ${link.name}`, ...look(i, dark), dash: [1.5, 4], values: link.buffer, width: 1.5, quiet: true },
  ]));
  const peak = on.links.reduce((most, link) => link.wait.reduce((a, b) => (b > a ? b : a), most), 0);
  const near = limits.map((limit) => ({ ...limit, values: limit.values.map((x) => (x <= 3 * peak ? x : null)) }))
    .filter((limit) => limit.values.some((x) => x !== null)); // a buffer far above the queue would flatten its curve
  const longest = on.links.length < on.many ? ` of ${on.links.length} of ${on.many} links` : "";
  const signals = lines("signal").filter((line) => line.values.some((x) => x !== null));
  return [
    { key: "rates", t: of.t, ...inUnit("rate", `Throughput of ${some(of.entries, result.resolved.flows)}; dotted: max-min fair`, rates, peaks.rates) },
    { key: "queues", t: on.t, ...inUnit("time", `Queueing delay${longest}, longest in each sample; dotted: buffer`, [...lines("wait"), ...near], peaks.queues) },
    { key: "drops", t: on.t, ...inUnit("share", "Share of arriving bytes that queues drop", lines("dropped"), peaks.drops) },
    { key: "signals", t: on.t, ...signal(signalTitle(result.resolved), signals) },
  ];
}

/** Creates the panel of signals, with the frame in the unit of the panel. */
function signal(title, lines) {
  const panel = inUnit("number", title, lines);
  return { ...panel, ...framed(panel.lines) };
}

/** Returns the range of signals without rare extremes, which would flatten the other values. */
function framed(lines) {
  const values = lines.flatMap((line) => line.values.filter((x) => x !== null)).sort((a, b) => a - b);
  const [low, high] = [0.02, 0.98].map((share) => values[Math.floor(share * (values.length - 1))] ?? 0);
  const inside = high - low || Math.abs(high) || 1;
  if (values.length && values.at(-1) - values[0] <= 4 * inside) return { low: null };
  return { low: low - inside / 10, high: high + inside / 10 };
}

/** Returns the title of the panel of signals. */
function signalTitle(resolved) {
  const laws = [...new Set(resolved.links.flatMap((link) => Object.keys(link.laws)))];
  if (laws.length) return `What routers signal (${laws.join(", ")})`;
  const queues = [...new Set(resolved.links.map((link) => Object.keys(link.queue)[0]))];
  const active = queues.filter((name) => !name.startsWith("drop_"));
  return active.length ? `What queues signal (${active.join(", ")})` : "What routers signal: nothing";
}
