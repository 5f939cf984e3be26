/** Max-min fair rates, the reference for the rates of a run. */

import { parse } from "./units.js";

/** @import { Resolved, ResolvedFlow } from "./types.js" */

/**
 * Computes the max-min fair rate per flow of each flow entry, in bit/s. A flow entry without active flows has the rate
 * 0.
 *
 * The rates of all flows increase together. The rate of a flow stops increasing when a link of its path is full.
 *
 * @param {number[]} room capacity of each link that these flows may use, bit/s
 * @param {number[][]} routes links of each entry's path
 * @param {number[]} counts number of flows of each entry
 */
export function maxmin(room, routes, counts) {
  const left = [...room];
  const rates = counts.map(() => 0);
  const rising = new Set(counts.flatMap((count, i) => (count > 0 ? [i] : [])));
  while (rising.size > 0) {
    const load = left.map(() => 0);
    for (const i of rising) for (const link of routes[i]) load[link] += counts[i];
    const levels = left.map((room, link) => (load[link] > 0 ? Math.max(room, 0) / load[link] : Infinity));
    const level = Math.min(...levels);
    const tight = levels.indexOf(level);
    for (const i of [...rising]) {
      if (!routes[i].includes(tight)) continue;
      rates[i] = level;
      rising.delete(i);
      for (const link of routes[i]) left[link] -= counts[i] * level;
    }
  }
  return rates;
}

/**
 * Returns the paths of a flow entry at a time, and the fraction of its flows on each path.
 *
 * @param {ResolvedFlow} flow
 * @param {number} time
 * @param {Map<string, number>} index number of each link
 */
function pathsOf(flow, time, index) {
  /** @param {string[]} path */
  const links = (path) => path.map((name) => /** @type {number} */ (index.get(name)));
  if (!flow.plans || !flow.paths) return [{ route: links(flow.path), share: 1 }];
  const { path_of: taken } = flow.plans.findLast((plan) => plan.from_s < time) ?? flow.plans[0];
  return flow.paths.map(({ path }, number) => ({
    route: links(path), share: taken.filter((other) => other === number).length / taken.length,
  }));
}

/**
 * Returns a function that computes the fair rate per flow of each flow entry. The function receives the number of
 * active flows of each flow entry, and the end of a sample in seconds.
 *
 * The capacity of a link is the target rate of its routers minus the rate of unresponsive senders. The function uses
 * the paths at the end of the sample.
 *
 * @param {Resolved} resolved
 * @param {Map<number, number>} sending total rate of entries with applications, in bit/s; these entries do not compete
 */
export function fairRates(resolved, sending = new Map()) {
  const index = new Map(resolved.links.map((link, i) => [link.name, i]));
  const listens = resolved.flows.map((flow) => flow.signal !== "nothing");
  const begins = [
    ...resolved.links.flatMap((link) => (link.changes ?? []).map((change) => change.at_s)),
    ...resolved.flows.flatMap((flow) => (flow.plans ?? []).map((plan) => plan.from_s)),
  ].sort((a, b) => a - b);
  /** @type {Map<string, number[]>} */
  const known = new Map();
  /** @type {(active: number[], time: number) => number[]} */
  const ratesAt = (active, time) => {
    const room = resolved.links.map((link) => (link.changes?.findLast(({ at_s }) => at_s < time) ?? link).target_bps);
    /** @type {{i: number, route: number[], count: number}[]} */
    const competing = [];
    const fixed = resolved.flows.map((flow, i) => {
      const own = listens[i] ? NaN : parse("rate", flow.params.rate);
      const sent = sending.get(i) ?? (listens[i] ? undefined : own * active[i]);
      for (const { route, share } of pathsOf(flow, time, index)) {
        const count = active[i] * share;
        if (sent !== undefined) for (const link of route) room[link] -= share * sent;
        else if (count > 0) competing.push({ i, route, count });
      }
      return sending.has(i) ? NaN : own;
    });
    const found = maxmin(room, competing.map(({ route }) => route), competing.map(({ count }) => count));
    const fair = resolved.flows.map((_, i) => (active[i] === 0 ? NaN : fixed[i]));
    competing.forEach(({ i, count }, k) => { fair[i] = (Number.isNaN(fair[i]) ? 0 : fair[i]) + (found[k] * count) / active[i]; });
    return fair;
  };
  let phase = 0;
  /** @type {(active: number[], time: number) => number[]} */
  return (active, time) => {
    while (phase < begins.length && begins[phase] < time) phase += 1;
    while (phase > 0 && begins[phase - 1] >= time) phase -= 1;
    const key = `${phase} ${active.join()}`;
    const rates = known.get(key) ?? ratesAt(active, time);
    known.set(key, rates);
    return rates;
  };
}
