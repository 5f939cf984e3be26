/** Series for plots, from the columns of a result. */

import { fairRates } from "./fair.js";
import { parse } from "./units.js";
import { language, words } from "./words.js";

/** @import { Column, Resolved, ResolvedFlow, ResolvedLink, Result, Summary } from "./types.js" */

/** @typedef {(number | null)[]} Series values at the samples; null is a gap */

/** Limit on the links in plots. */
const MAX_LINKS = 6;
/** Limit on the flow entries in plots. */
const MAX_FLOWS = 12;

/**
 * Returns every `stride`-th value of a column, beginning with row `first`. Infinite values and NaN become gaps.
 *
 * @param {Column} column
 * @param {number} stride
 * @param {number} first
 * @param {(value: number, row: number) => number} convert
 */
function every(column, stride, first, convert = (x) => x) {
  const values = [];
  for (let row = first; row < column.length; row += stride) {
    const value = convert(Number(column[row]), row);
    values.push(Number.isFinite(value) ? value : null);
  }
  return values;
}

/**
 * Returns the times of the samples.
 *
 * @param {Column} column
 * @param {number} stride
 */
function times(column, stride) {
  return every(column, stride, 0).map(Number);
}

/** @param {Series} values */
function peakOf(values) {
  return values.reduce((/** @type {number} */ peak, x) => Math.max(peak, x ?? 0), 0);
}

/** @param {number[]} values */
function mean(values) {
  return values.reduce((sum, x) => sum + x, 0) / (values.length || 1);
}

/**
 * Returns the mean service rate of a link in each sample, in bit/s; null if the rate is zero.
 *
 * @param {ResolvedLink} link
 * @param {number[]} t ends of the samples, s
 */
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

/**
 * Returns the throughput per flow and the max-min fair rate of each flow entry, in bit/s.
 *
 * @param {Result} result
 * @param {number} most limit on the entries
 */
export function flows(result, most = MAX_FLOWS) {
  const { resolved, tables: { flows: table } } = result;
  const stride = resolved.flows.length;
  if (!table || !stride) return { t: [], entries: [] };
  const t = times(table.t, stride);
  const sending = new Map();
  resolved.flows.forEach((flow, i) => {
    if (flow.application) sending.set(i, mean(every(table.throughput_bps, stride, i).map(Number)));
  });
  const fair = fairRates(resolved, sending);
  const references = t.map((end, sample) => {
    return fair(Array.from(table.active.subarray(sample * stride, (sample + 1) * stride), Number), end);
  });
  const entries = resolved.flows.slice(0, most).map((flow, i) => {
    return {
      name: flow.name,
      count: flow.count,
      rate: every(table.throughput_bps, stride, i, (bps, row) => bps / Number(table.active[row])),
      fair: references.map((rates) => (Number.isFinite(rates[i]) ? rates[i] : null)),
    };
  });
  return { t, entries };
}

/**
 * Returns the buffer of a link in bytes; null for an unlimited buffer.
 *
 * @param {Resolved} resolved
 * @param {ResolvedLink} link
 */
export function bufferBytes(resolved, link) {
  const bytes = parse("size", link.buffer);
  if (Number.isFinite(bytes)) return bytes;
  const packets = parse("packets", link.buffer);
  const through = resolved.flows.filter((flow) => crosses(flow, link.name)).map((flow) => flow.packet_bytes);
  if (!Number.isFinite(packets) || !through.length) return null;
  return packets * Math.max(...through);
}

/**
 * Returns the names of all links on the paths of a flow entry.
 *
 * @param {ResolvedFlow} flow
 */
function linksOf(flow) {
  return flow.paths ? flow.paths.flatMap(({ path }) => path) : flow.path;
}

/**
 * Returns true if a link is on a path of a flow entry.
 *
 * @param {ResolvedFlow} flow
 * @param {string} name
 */
export function crosses(flow, name) {
  return linksOf(flow).includes(name);
}

/**
 * Returns queueing delays, drops and signals of the links with data packets. If there are too many links, returns
 * those with the longest queueing delays.
 *
 * @param {Result} result
 */
export function links(result) {
  const { resolved, tables: { links: table } } = result;
  const stride = resolved.links.length;
  if (!table) return { t: [], links: [], many: 0 };
  const t = times(table.t, stride);
  const names = new Set(resolved.flows.flatMap(linksOf));
  let found = resolved.links.flatMap(({ name }, i) => (names.has(name) ? [i] : []));
  if (found.length > MAX_LINKS) {
    const peaks = resolved.links.map((_, i) => peakOf(every(table.queueing_delay_max_s, stride, i)));
    found = found.sort((a, b) => peaks[b] - peaks[a]).slice(0, MAX_LINKS).sort((a, b) => a - b);
  }
  const shown = found.map((i) => {
    const link = resolved.links[i];
    const served = meanRates(link, t);
    const buffer = bufferBytes(resolved, link);
    return {
      name: link.name,
      /** Longest queueing delay of the packets that depart in the sample, s. */
      wait: every(table.queueing_delay_max_s, stride, i, (delay, row) => (Number(table.backlog_max_bytes[row]) === 0 ? 0 : delay)),
      /** Queueing delay of a full buffer, s. */
      buffer: buffer === null ? null : served.map((bps) => (bps === null ? null : (buffer * 8) / bps)),
      /** Fraction of arriving bytes that the queue drops. */
      dropped: every(table.dropped_bytes, stride, i, (bytes, row) => {
        const sample = Math.floor(row / stride);
        const arrived = (Number(table.arrival_bps[row]) * (t[sample] - (t[sample - 1] ?? 0))) / 8;
        return arrived > 0 ? bytes / arrived : 0;
      }),
      signal: every(table.signal, stride, i),
    };
  });
  return { t, links: shown, many: names.size };
}

/**
 * Returns the numbers of finished, aborted and unfinished transfers in words; empty without transfers.
 *
 * @param {Resolved} resolved
 * @param {Summary} summary
 */
export function ended(resolved, summary) {
  const entries = summary.flows.filter((_, i) => resolved.flows[i].transfers);
  const keys = /** @type {const} */ (["started", "finished", "aborted"]);
  const [started, finished, aborted] = keys.map((key) => entries.reduce((sum, entry) => sum + entry[key], 0));
  if (!started) return "";
  const others = Object.entries({ [words.status.aborted]: aborted, [words.status.unfinished]: started - finished - aborted }).filter(([, count]) => count);
  const rest = others.map(([word, count]) => `, ${count.toLocaleString(language)} ${word}`).join("");
  return `${words.status.transfers(finished.toLocaleString(language), started.toLocaleString(language))}${rest}`;
}

/**
 * Returns the index of the last sample at or before a time; -1 before the first sample.
 *
 * @param {number[]} t
 * @param {number} time
 */
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

/**
 * Returns mean rates in the last quarter of a run, and the longest queueing delay of each link.
 *
 * @param {Result} result
 */
export function outcome(result) {
  const of = flows(result);
  const on = links(result);
  const from = Math.floor(of.t.length * 0.75);
  /** @param {Series} values */
  const late = (values) => {
    const known = values.slice(from).filter((x) => x !== null);
    return known.length ? mean(known) : null;
  };
  return {
    flows: of.entries.map((entry) => ({ name: entry.name, rate: late(entry.rate), fair: late(entry.fair) })),
    links: on.links.map((link) => ({ name: link.name, longest: peakOf(link.wait) })),
    dropped: result.summary?.links.reduce((sum, link) => sum + link.dropped_packets, 0) ?? null,
  };
}

/**
 * Returns Jain's index of `rate / fair rate`. The index is 1 if every flow has its fair rate.
 *
 * @param {ReturnType<typeof outcome>["flows"]} flows
 */
export function jain(flows) {
  const shares = flows.flatMap(({ rate, fair }) => (rate !== null && fair ? [rate / fair] : []));
  const sum = shares.reduce((a, b) => a + b, 0);
  return shares.length ? (sum * sum) / (shares.length * shares.reduce((a, b) => a + b * b, 0)) : NaN;
}

/**
 * Returns the names of the laws of a network.
 *
 * @param {Resolved} resolved
 */
export function lawsOf({ flows }) {
  return [...new Set(flows.map(({ law }) => law))];
}
