/** Summary of a result in one line. */

import { percent } from "./measures.js";
import { ended } from "./series.js";
import { format, short } from "./units.js";
import { language, words } from "./words.js";

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
    words.status.hops(hops.toLocaleString(language), Math.round(ms)),
    summary && dropsOf(summary),
    summary && ended(resolved, summary),
  ];
}

/**
 * @param {Resolved} resolved
 * @param {Summary | null | undefined} summary
 */
function measuresOf(resolved, summary) {
  if (!summary) return [words.status.noSummary];
  const [busiest] = summary.links.toSorted((a, b) => (b.utilisation ?? 0) - (a.utilisation ?? 0));
  return [
    busiest && words.status.utilisation(busiest.name, percent(busiest.utilisation)),
    busiest?.queueing_delay_s && words.status.delays(format("time", busiest.queueing_delay_s.p99)),
    typeof summary.jain === "number" && words.status.jain(short(summary.jain)),
    summary.settled && Number.isFinite(summary.settling_s) && words.status.settling(format("time", summary.settling_s)),
    dropsOf(summary),
    ended(resolved, summary),
  ];
}

/** @param {Summary} summary */
function dropsOf({ links }) {
  return words.status.dropped(links.reduce((sum, link) => sum + link.dropped_packets, 0).toLocaleString(language));
}
