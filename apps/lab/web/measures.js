/** Main measures of a complete result, to compare two laws. */

import { element } from "./dom.js";
import { jain, outcome } from "./series.js";
import { format, short } from "./units.js";
import { words } from "./words.js";

/** @import { Result } from "./types.js" */

/** @param {number | null | undefined} share */
export function percent(share) {
  return `${short(100 * (share ?? 0))} %`;
}

/**
 * Returns the fraction of data packets that queues drop or links lose.
 *
 * @param {Result} result
 */
export function lost({ summary }) {
  const flows = summary?.flows ?? [];
  const sent = flows.reduce((sum, flow) => sum + flow.sent_packets, 0);
  return sent ? flows.reduce((sum, flow) => sum + flow.dropped_packets + (flow.lost_packets ?? 0), 0) / sent : 0;
}

/**
 * Returns the measures as terms and values.
 *
 * @param {Result} result
 * @returns {[string, string][]}
 */
export function measures(result) {
  const { summary } = result;
  if (!summary?.links.length) return [];
  const busiest = summary.links.reduce((most, link) => ((link.utilisation ?? 0) > (most.utilisation ?? 0) ? link : most));
  const delays = summary.links.flatMap(({ queueing_delay_s: delay }) => (delay ? [delay.p99] : []));
  const many = new Set(result.resolved.flows.flatMap((flow) => flow.path)).size > 1;
  const index = jain(outcome(result).flows);
  return [
    [many ? words.measures.usedOf(busiest.name) : words.measures.used, percent(busiest.utilisation)],
    ...(delays.length ? [/** @type {[string, string]} */ ([words.measures.delay, format("time", Math.max(...delays))])] : []),
    ...(Number.isFinite(index) ? [/** @type {[string, string]} */ ([words.measures.jain, short(index)])] : []),
    [words.measures.lost, percent(lost(result))],
  ];
}

/**
 * Shows measures in a definition list.
 *
 * @param {HTMLElement} place
 * @param {[string, string][]} all
 */
export function showMeasures(place, all) {
  place.replaceChildren(...all.map(([term, value]) => element("div", {}, element("dt", { text: term }), element("dd", { text: value }))));
}
