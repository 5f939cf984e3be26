/** From the columns of a result to what plots show. */

import { fairRates } from "./fair.js";
import { parse } from "./units.js";

/** Links that are drawn at most; those with the longest queues. */
export const MOST_LINKS = 6;
/** Flow entries that are drawn at most. */
export const MOST_FLOWS = 12;

/** Every `stride`-th number of a column from `first`; what is no number as a gap. */
function every(column, stride, first, change = (x) => x) {
  const values = [];
  for (let row = first; row < column.length; row += stride) {
    const value = change(Number(column[row]), row);
    values.push(Number.isFinite(value) ? value : null);
  }
  return values;
}

/** Whether the rows of an entry say what its law sends, or only what arrives. */
function hasRate(flow) {
  return flow.count !== null && !flow.finite;
}

/** Rates of one flow of each entry and their max-min fair reference, bit/s. */
export function flows(result) {
  const { resolved, tables: { flows: table } } = result;
  const stride = resolved.flows.length;
  if (!table || !stride) return { t: [], entries: [] };
  const t = every(table.t, stride, 0);
  const fair = fairRates(resolved);
  const references = t.map((_, sample) => {
    return fair(Array.from(table.active.subarray(sample * stride, (sample + 1) * stride)));
  });
  const entries = resolved.flows.slice(0, MOST_FLOWS).map((flow, i) => {
    const column = hasRate(flow) ? table.rate_bps : table.delivered_bps;
    return {
      name: flow.name,
      law: flow.law,
      count: flow.count,
      rate: every(column, stride, i, (x, row) => x / table.active[row]),
      delivered: every(table.delivered_bps, stride, i, (x, row) => x / table.active[row]),
      rtt: every(table.rtt_s, stride, i),
      fair: references.map((rates) => (Number.isFinite(rates[i]) ? rates[i] : null)),
    };
  });
  return { t, entries };
}

/** The buffer of a link as the wait of a packet that comes last, s; null if there is no limit. */
export function bufferWait(resolved, index) {
  const link = resolved.links[index];
  const bytes = parse("size", link.buffer);
  if (Number.isFinite(bytes)) return (bytes * 8) / link.capacity_bps;
  const packets = parse("packets", link.buffer);
  const through = resolved.flows.filter((flow) => flow.path.includes(link.name)).map((flow) => flow.packet_bytes);
  if (!Number.isFinite(packets) || !through.length) return null;
  return (packets * Math.max(...through) * 8) / link.capacity_bps;
}

/** Links that data crosses; of many, those with the longest queues. */
export function linksShown(result) {
  const { resolved, tables: { links: table } } = result;
  const data = new Set(resolved.flows.flatMap((flow) => flow.path));
  const found = resolved.links.flatMap((link, i) => (data.has(link.name) ? [i] : []));
  if (found.length <= MOST_LINKS) return found;
  const stride = resolved.links.length;
  const peak = (i) => Math.max(0, ...every(table.queue_max_bytes, stride, i)) / resolved.links[i].capacity_bps;
  const peaks = new Map(found.map((i) => [i, peak(i)]));
  return found.sort((a, b) => peaks.get(b) - peaks.get(a)).slice(0, MOST_LINKS).sort((a, b) => a - b);
}

/** Queueing delay, drops and signal of each link. */
export function links(result) {
  const { resolved, tables: { links: table } } = result;
  const stride = resolved.links.length;
  if (!table) return { t: [], links: [] };
  const t = every(table.t, stride, 0);
  const shown = linksShown(result).map((i) => {
    const { name, capacity_bps: capacity } = resolved.links[i];
    return {
      index: i,
      name,
      wait: every(table.queue_max_bytes, stride, i, (bytes) => (bytes * 8) / capacity),
      buffer: bufferWait(resolved, i),
      used: every(table.throughput_bps, stride, i, (bps) => bps / capacity),
      dropped: every(table.dropped_bytes, stride, i, (bytes, row) => {
        const length = table.t[row] - (row >= stride ? table.t[row - stride] : 0);
        const arrived = (table.arrival_bps[row] * length) / 8;
        return arrived > 0 ? bytes / arrived : 0;
      }),
      signal: every(table.signal, stride, i),
    };
  });
  return { t, links: shown };
}

/** The index of the last sample at or before a time; -1 before the first. */
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

/** The last quarter of the flows' samples in a few numbers: how fair, how full, how long the queues. */
export function outcome(result) {
  const of = flows(result);
  const on = links(result);
  const from = Math.floor(of.t.length * 0.75);
  const mean = (values) => {
    const late = values.slice(from).filter((x) => x !== null);
    return late.length ? late.reduce((sum, x) => sum + x, 0) / late.length : null;
  };
  return {
    flows: of.entries.map((entry) => ({ name: entry.name, rate: mean(entry.rate), fair: mean(entry.fair) })),
    links: on.links.map((link) => ({
      name: link.name,
      wait: mean(link.wait),
      longest: link.wait.reduce((most, x) => Math.max(most, x ?? 0), 0),
      used: mean(link.used),
    })),
    dropped: result.summary?.links.reduce((sum, link) => sum + link.dropped_packets, 0) ?? null,
  };
}
