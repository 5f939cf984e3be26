/** Max-min fair rates: the reference that a run is compared with. */

import { parse } from "./units.js";

/**
 * The max-min fair rate of one flow of each entry, bit/s; 0 where none is under way.
 *
 * The rates of all flows rise together; a link that is full stops those that cross it.
 *
 * @param {number[]} room what each link has for them, bit/s
 * @param {number[][]} routes for each entry, the links that it crosses
 * @param {number[]} counts how many flows of each entry there are
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

/** A function from the numbers of flows under way to the fair rate of one flow of each entry. */
export function fairRates(resolved) {
  const index = new Map(resolved.links.map((link, i) => [link.name, i]));
  const routes = resolved.flows.map((flow) => flow.path.map((name) => index.get(name)));
  const listens = resolved.flows.map((flow) => flow.signal !== "nothing");
  const known = new Map();
  return (active) => {
    const key = active.join();
    if (!known.has(key)) {
      const room = resolved.links.map((link) => link.target_bps);
      const fixed = resolved.flows.map((flow, i) => (listens[i] ? NaN : parse("rate", flow.params.rate)));
      fixed.forEach((rate, i) => {
        if (!listens[i]) for (const link of routes[i]) room[link] -= rate * active[i];
      });
      const rates = maxmin(room, routes, active.map((count, i) => (listens[i] ? count : 0)));
      known.set(key, rates.map((rate, i) => (active[i] === 0 ? NaN : listens[i] ? rate : fixed[i])));
    }
    return known.get(key);
  };
}
