/** Max-min fair rates, with which the page compares the rates of a run. */

import { parse } from "./units.js";

/**
 * Computes the max-min fair rate per flow of each entry, in bit/s; 0 for entries without an active flow.
 *
 * The rates of all flows increase together. A flow stops increasing when a link on its path is full.
 *
 * @param {number[]} room capacity of each link for these flows, bit/s
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
    const levels = left.map((rest, link) => (load[link] > 0 ? Math.max(rest, 0) / load[link] : Infinity));
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

/** Returns the state in force at a time, from states in order of time; `first` if none has begun. */
function inForce(first, states, begin, time) {
  return (states ?? []).findLast((state) => state[begin] < time) ?? first;
}

/** Returns the paths of an entry's flows at a time, as links, each with the fraction of flows on this path. */
function pathsOf(flow, time, index) {
  const links = (path) => path.map((name) => index.get(name));
  if (!flow.plans) return [{ route: links(flow.path), share: 1 }];
  const taken = inForce(flow.plans[0], flow.plans, "from_s", time).path_of;
  return flow.paths.map(({ path }, number) => ({
    route: links(path), share: taken.filter((of) => of === number).length / taken.length,
  }));
}

/**
 * Returns a function that computes the fair rate per flow of each entry. Its arguments are the numbers of active flows
 * and the end of a sample, in seconds.
 *
 * The capacity of a link is the target of its routers, less the rate of unresponsive senders. Flows use their routes
 * at the end of the sample.
 *
 * @param {Map<number, number>} sending total rate of entries with applications, in bit/s; these entries do not compete
 */
export function fairRates(resolved, sending = new Map()) {
  const index = new Map(resolved.links.map((link, i) => [link.name, i]));
  const listens = resolved.flows.map((flow) => flow.signal !== "nothing");
  const begins = [
    ...resolved.links.flatMap((link) => (link.changes ?? []).map((change) => change.at_s)),
    ...resolved.flows.flatMap((flow) => (flow.plans ?? []).map((plan) => plan.from_s)),
  ].sort((a, b) => a - b);
  const known = new Map();
  const rates = (active, time) => {
    const room = resolved.links.map((link) => inForce(link, link.changes, "at_s", time).target_bps);
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
  return (active, time) => {
    while (phase < begins.length && begins[phase] < time) phase += 1;
    while (phase > 0 && begins[phase - 1] >= time) phase -= 1;
    const key = `${phase} ${active.join()}`;
    if (!known.has(key)) known.set(key, rates(active, time));
    return known.get(key);
  };
}
