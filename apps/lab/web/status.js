/** Summary of a result in one line. */

import { ended } from "./series.js";
import { format, short } from "./units.js";
import { words } from "./words.js";

/** @import { Resolved, Result, Summary } from "./types.js" */

/**
 * Returns the summary of a complete result, with its warnings.
 *
 * @param {Result} result
 */
export function statusOf(result) {
  const parts = result.stored ? measuresOf(result.resolved, result.summary) : countersOf(result);
  return [...parts.filter(Boolean), ...result.resolved.warnings].join(" · ");
}

/** @param {Result} result */
function countersOf({ resolved, summary, hops = 0, ms = 0, early, now }) {
  return [
    early && words.run[early === "cut" ? "tooLong" : "stopped"](format("time", now)),
    `${hops.toLocaleString("en")} packet-hops in ${Math.round(ms)} ms`,
    summary && dropsOf(summary),
    summary && ended(resolved, summary),
  ];
}

/**
 * @param {Resolved} resolved
 * @param {Summary | null | undefined} summary
 */
function measuresOf(resolved, summary) {
  if (!summary) return ["The result has no summary."];
  const [busiest] = summary.links.toSorted((a, b) => (b.utilisation ?? 0) - (a.utilisation ?? 0));
  return [
    busiest && `${busiest.name}: utilisation ${short(100 * (busiest.utilisation ?? 0))} %`,
    busiest?.queueing_delay_s && `99 % of its queueing delays below ${format("time", busiest.queueing_delay_s.p99)}`,
    typeof summary.jain === "number" && `Jain’s index of throughput ${short(summary.jain)}`,
    summary.settled && Number.isFinite(summary.settling_s) && `settling time ${format("time", summary.settling_s)}`,
    dropsOf(summary),
    ended(resolved, summary),
  ];
}

/** @param {Summary} summary */
function dropsOf({ links }) {
  return `${links.reduce((sum, link) => sum + link.dropped_packets, 0).toLocaleString("en")} packets dropped`;
}
