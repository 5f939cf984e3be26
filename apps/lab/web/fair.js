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

/** Of states in order of time, the last that has begun before a time; `first` before all of them. */
function inForce(first, states, begin, time) {
  return (states ?? []).findLast((state) => state[begin] < time) ?? first;
}

/** The paths of the flows of an entry at a time, as links, each with the share of the flows that takes it. */
function pathsOf(flow, time, index) {
  const links = (path) => path.map((name) => index.get(name));
  if (!flow.plans) return [{ route: links(flow.path), share: 1 }];
  const taken = inForce(flow.plans[0], flow.plans, "from_s", time).path_of;
  return flow.paths.map(({ path }, number) => ({
    route: links(path), share: taken.filter((of) => of === number).length / taken.length,
  }));
}

/**
 * A function from the numbers of flows under way and the end of a sample, s, to the fair rate of one flow of each entry.
 *
 * Links have then what their routers aim at, less what unresponsive senders take; flows go where routes led.
 *
 * @param {Map<number, number>} sending what entries with applications together send, bit/s: they do not compete
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
