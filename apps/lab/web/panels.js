/** What the four plots of a result are: titles, units and lines, for the screen and for files alike. */

import { flows, links } from "./series.js";
import { format, short, unitFor } from "./units.js";

const LIGHT = ["#0072b2", "#c24e00", "#007f5c", "#a6467f", "#5d4fc4", "#846000", "#333333"];
const DARK = ["#56b4e9", "#ff9a52", "#35cfa1", "#eba3cf", "#a99cff", "#f0c750", "#e6e6e6"];
const DASHES = [[], [9, 4], [5, 3, 1.5, 3], [2.5, 2.5]];

/** The colour and the dashes of the i-th line; neighbours differ in both. */
export function look(i, dark) {
  const colours = dark ? DARK : LIGHT;
  return { colour: colours[i % colours.length], dash: DASHES[i % DASHES.length] };
}

/** Ticks and values in one unit, which the largest value chooses. */
function inUnit(kind, title, lines, peak = 0) {
  const most = lines.reduce((most, { values }) => values.reduce((a, b) => (b > a ? b : a), most), peak);
  const [unit, factor] = kind === "number" ? power(most) : kind === "share" ? ["%", 0.01] : unitFor(kind, most || 1);
  const scaled = lines.map((line) => ({ ...line, values: line.values.map((x) => (x === null ? null : x / factor)) }));
  const tell = (x) => (x === null || x === undefined ? "–" : kind === "time" || kind === "rate"
    ? format(kind, x * factor) : `${short(x)}${unit ? ` ${unit}` : ""}`);
  return { title, unit, lines: scaled, tell, most: most / factor, peak: most };
}

/** Which flows are drawn. */
function some(drawn, all) {
  return drawn.length < all.length ? `the first ${drawn.length} of ${all.length} flows` : "each flow";
}

/** The power of ten in which numbers up to this one are short. */
function power(most) {
  const thousands = most >= 1e5 ? Math.min(Math.floor(Math.log10(most) / 3), 3) : 0;
  return [["", "×10³", "×10⁶", "×10⁹"][thousands], 1000 ** thousands];
}

/** The panels of a result, which share their axis of time; `peaks` are those of a result beside it, by panel. */
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
    .filter((limit) => limit.values.some((x) => x !== null)); // a buffer that is far away would flatten the queue
  const longest = on.links.length < on.many ? ` of ${on.links.length} of ${on.many} links` : "";
  const signals = lines("signal").filter((line) => line.values.some((x) => x !== null));
  return [
    { key: "rates", t: of.t, ...inUnit("rate", `Throughput of ${some(of.entries, result.resolved.flows)}; dotted: max-min fair`, rates, peaks.rates) },
    { key: "queues", t: on.t, ...inUnit("time", `Queueing delay${longest}, longest in each sample; dotted: buffer`, [...lines("wait"), ...near], peaks.queues) },
    { key: "drops", t: on.t, ...inUnit("share", "Share of arriving bytes that queues drop", lines("dropped"), peaks.drops) },
    { key: "signals", t: on.t, ...signal(signalTitle(result.resolved), signals) },
  ];
}

/** The panel of signals, whose frame is in its unit. */
function signal(title, lines) {
  const panel = inUnit("number", title, lines);
  return { ...panel, ...framed(panel.lines) };
}

/** The frame of signals: what they are most of the time, if a few extremes would flatten that. */
function framed(lines) {
  const values = lines.flatMap((line) => line.values.filter((x) => x !== null)).sort((a, b) => a - b);
  const [low, high] = [0.02, 0.98].map((share) => values[Math.floor(share * (values.length - 1))] ?? 0);
  const inside = high - low || Math.abs(high) || 1;
  if (values.length && values.at(-1) - values[0] <= 4 * inside) return { low: null };
  return { low: low - inside / 10, high: high + inside / 10 };
}

/** What the routers of a result feed back. */
function signalTitle(resolved) {
  const laws = [...new Set(resolved.links.flatMap((link) => Object.keys(link.laws)))];
  if (laws.length) return `What routers signal (${laws.join(", ")})`;
  const queues = [...new Set(resolved.links.map((link) => Object.keys(link.queue)[0]))];
  const active = queues.filter((name) => !name.startsWith("drop_"));
  return active.length ? `What queues signal (${active.join(", ")})` : "What routers signal: nothing, senders find out alone";
}
