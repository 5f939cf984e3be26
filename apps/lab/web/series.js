/** Series for plots, from the columns of a result. */

import { fairRates } from "./fair.js";
import { parse } from "./units.js";

/** Limit on the links in plots, which are those with the longest queueing delays. */
export const MOST_LINKS = 6;
/** Limit on the flow entries in plots. */
export const MOST_FLOWS = 12;

/** Returns every `stride`-th number of a column from `first`; values that are not numbers become gaps. */
function every(column, stride, first, change = (x) => x) {
  const values = [];
  for (let row = first; row < column.length; row += stride) {
    const value = change(Number(column[row]), row);
    values.push(Number.isFinite(value) ? value : null);
  }
  return values;
}

function mean(values) {
  return values.reduce((sum, x) => sum + x, 0) / (values.length || 1);
}

/** Returns the mean service rate of a link in samples that end at these times, in bit/s; null if it is zero. */
export function meanRates(link, t) {
  const states = [{ at_s: 0, service_bps: link.service_bps }, ...(link.changes ?? [])];
  let state = 0;
  return t.map((end, sample) => {
    let from = sample > 0 ? t[sample - 1] : 0;
    const length = end - from;
    let bits = 0;
    for (;;) {
      const until = Math.min(states[state + 1]?.at_s ?? Infinity, end);
      bits += states[state].service_bps * Math.max(until - from, 0);
      from = Math.max(from, until);
      if (until >= end) break;
      state += 1;
    }
    return bits > 0 ? bits / length : null;
  });
}

/** Returns the throughput per flow of each of the first entries, with its max-min fair reference, in bit/s. */
export function flows(result, most = MOST_FLOWS) {
  const { resolved, tables: { flows: table } } = result;
  const stride = resolved.flows.length;
  if (!table || !stride) return { t: [], entries: [] };
  const t = every(table.t, stride, 0);
  const sending = new Map(resolved.flows.flatMap((flow, i) => {
    return flow.application ? [[i, mean(every(table.throughput_bps, stride, i).map((x) => x ?? 0))]] : [];
  }));
  const fair = fairRates(resolved, sending);
  const references = t.map((end, sample) => {
    return fair(Array.from(table.active.subarray(sample * stride, (sample + 1) * stride)), end);
  });
  const entries = resolved.flows.slice(0, most).map((flow, i) => {
    return {
      name: flow.name,
      law: flow.law,
      count: flow.count,
      rate: every(table.throughput_bps, stride, i, (x, row) => x / table.active[row]),
      rtt: every(table.rtt_s, stride, i),
      fair: references.map((rates) => (Number.isFinite(rates[i]) ? rates[i] : null)),
    };
  });
  return { t, entries };
}

/** Returns the buffer of a link, bytes; null if unlimited. */
function bufferBytes(resolved, index) {
  const link = resolved.links[index];
  const bytes = parse("size", link.buffer);
  if (Number.isFinite(bytes)) return bytes;
  const packets = parse("packets", link.buffer);
  const through = resolved.flows.filter((flow) => crosses(flow, link.name)).map((flow) => flow.packet_bytes);
  if (!Number.isFinite(packets) || !through.length) return null;
  return packets * Math.max(...through);
}

/** Returns the names of the links that data of an entry may cross. */
function linksOf(flow) {
  return flow.paths ? flow.paths.flatMap(({ path }) => path) : flow.path;
}

/** Returns true if data of an entry may cross a link. */
export function crosses(flow, name) {
  return linksOf(flow).includes(name);
}

/** Returns the names of the links that data crosses. */
function data(resolved) {
  return new Set(resolved.flows.flatMap(linksOf));
}

/** Returns the links that data crosses. If there are too many, returns those with the longest queueing delays. */
export function linksShown(result) {
  const { resolved, tables: { links: table } } = result;
  const names = data(resolved);
  const found = resolved.links.flatMap((link, i) => (names.has(link.name) ? [i] : []));
  if (found.length <= MOST_LINKS) return found;
  const stride = resolved.links.length;
  const peak = (i) => Math.max(0, ...every(table.queueing_delay_max_s, stride, i));
  const peaks = new Map(found.map((i) => [i, peak(i)]));
  return found.sort((a, b) => peaks.get(b) - peaks.get(a)).slice(0, MOST_LINKS).sort((a, b) => a - b);
}

/** Returns, for each link, drops, signal and longest queueing delay of the packets that leave in a sample. */
export function links(result) {
  const { resolved, tables: { links: table } } = result;
  const stride = resolved.links.length;
  if (!table) return { t: [], links: [], many: 0 };
  const t = every(table.t, stride, 0);
  const shown = linksShown(result).map((i) => {
    const { name } = resolved.links[i];
    const served = meanRates(resolved.links[i], t);
    const buffer = bufferBytes(resolved, i);
    return {
      index: i,
      name,
      wait: every(table.queueing_delay_max_s, stride, i, (delay, row) => (Number(table.backlog_max_bytes[row]) === 0 ? 0 : delay)),
      buffer: buffer === null ? null : served.map((bps) => (bps === null ? null : (buffer * 8) / bps)),
      used: every(table.throughput_bps, stride, i, (bps, row) => bps / (served[Math.floor(row / stride)] ?? NaN)),
      dropped: every(table.dropped_bytes, stride, i, (bytes, row) => {
        const length = table.t[row] - (row >= stride ? table.t[row - stride] : 0);
        const arrived = (table.arrival_bps[row] * length) / 8;
        return arrived > 0 ? bytes / arrived : 0;
      }),
      signal: every(table.signal, stride, i),
    };
  });
  return { t, links: shown, many: data(resolved).size };
}

/** Describes the outcomes of transfers; empty without transfers. */
export function ended(resolved, summary) {
  const entries = summary.flows.filter((_, i) => resolved.flows[i].transfers);
  const total = (key) => entries.reduce((sum, entry) => sum + entry[key], 0);
  const [started, finished, aborted] = ["started", "finished", "aborted"].map(total);
  if (!started) return "";
  const others = [[aborted, "aborted"], [started - finished - aborted, "unfinished"]].filter(([count]) => count);
  const words = others.map(([count, word]) => `, ${count.toLocaleString("en")} ${word}`).join("");
  return `${finished.toLocaleString("en")} of ${started.toLocaleString("en")} transfers finished${words}`;
}

/** Returns the index of the last sample at or before a time; -1 before the first. */
export function sampleAt(t, time) {
  let low = -1;
  let high = t.length;
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (t[middle] <= time + 1e-9) low = middle;
    else high = middle;
  }
  return low;
}

/** Summarises the last quarter of the flows' samples: fairness, utilisation and queueing delay. */
export function outcome(result) {
  const of = flows(result);
  const on = links(result);
  const from = Math.floor(of.t.length * 0.75);
  const late = (values) => {
    const known = values.slice(from).filter((x) => x !== null);
    return known.length ? mean(known) : null;
  };
  return {
    flows: of.entries.map((entry) => ({ name: entry.name, rate: late(entry.rate), fair: late(entry.fair) })),
    links: on.links.map((link) => ({
      name: link.name,
      wait: late(link.wait),
      longest: link.wait.reduce((most, x) => Math.max(most, x ?? 0), 0),
      used: late(link.used),
    })),
    dropped: result.summary?.links.reduce((sum, link) => sum + link.dropped_packets, 0) ?? null,
  };
}
