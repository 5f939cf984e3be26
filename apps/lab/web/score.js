/** Network and score of the game in which the student is the controller. */

import { flows, links, meanRates } from "./series.js";

/** @import { Result, Scenario } from "./types.js" */

/** Base round-trip time of the network, s. */
const BASE_RTT_S = 0.1;

/** Network of the game: one flow on a link whose capacity changes. @type {Scenario} */
export const GAME = {
  name: "you are the controller", duration: "30 s",
  link: [{
    from: "A", to: "B", capacity: "10 Mb/s", delay: "50 ms", buffer: "100 packets", duplex: true,
    changes: [{ at: "9 s", capacity: "4 Mb/s" }, { at: "17 s", capacity: "14 Mb/s" }, { at: "24 s", capacity: "7 Mb/s" }],
  }],
  flow: [{ name: "you", law: { cbr: { rate: "1 Mb/s", acks: true } }, from: "A", to: "B" }],
};

/** Laws with which the student competes. */
export const RIVALS = ["level", "jetmax", "bbr3", "vegas", "cubic", "reno"];

/**
 * Returns the scenario of the game under a law.
 *
 * @param {string} law
 * @returns {Scenario}
 */
export function gameOf(law) {
  return { ...structuredClone(GAME), flow: [{ name: law, law, from: "A", to: "B" }] };
}

/**
 * Returns throughput, capacity and queueing delay at the samples of a run.
 *
 * @param {Result} result
 */
export function courseOf(result) {
  const { t, entries: [{ rate }] } = flows(result);
  const { links: [{ wait }] } = links(result);
  return { t, rate, capacity: meanRates(result.resolved.links[0], t), wait };
}

/**
 * Returns the score of a run, 0 to 100: the mean of `throughput / capacity * base RTT / (base RTT + queueing delay)`.
 * Also returns the mean share of the capacity, and the mean queueing delay in seconds.
 *
 * @param {Result} result
 */
export function scoreOf(result) {
  const { t, rate, capacity, wait } = courseOf(result);
  const sums = { points: 0, share: 0, delay: 0 };
  t.forEach((_, sample) => {
    // Packets of a fuller link may arrive just after its capacity has fallen.
    const share = Math.min((rate[sample] ?? 0) / (capacity[sample] ?? Infinity), 1);
    const delay = wait[sample] ?? 0;
    sums.points += (100 * share * BASE_RTT_S) / (BASE_RTT_S + delay);
    sums.share += share;
    sums.delay += delay;
  });
  const count = t.length || 1;
  return { score: sums.points / count, share: sums.share / count, delay: sums.delay / count };
}
