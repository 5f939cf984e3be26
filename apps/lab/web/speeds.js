/** Speeds of the animation: simulated time over real time. */

import { parse } from "./units.js";

/** @import { Scenario } from "./types.js" */

export const SPEEDS = [1 / 3000, 1 / 1000, 1 / 300, 1 / 100, 1 / 30, 1 / 10, 1 / 3, 1, 3, 10];

/**
 * Returns the available speed that is nearest to a speed.
 *
 * @param {number} wanted
 */
export function nearest(wanted) {
  /** @param {number} speed */
  const distance = (speed) => Math.abs(Math.log(speed / wanted));
  return SPEEDS.reduce((best, speed) => (distance(speed) < distance(best) ? speed : best));
}

/**
 * Returns a speed at which packets cross a link of median delay in about 1.2 s.
 *
 * @param {Scenario} scenario
 */
export function suitable(scenario) {
  const delays = scenario.link.map((link) => parse("time", link.delay)).filter((x) => x > 0).sort((a, b) => a - b);
  return nearest((delays[Math.floor(delays.length / 2)] ?? 0.01) / 1.2);
}
