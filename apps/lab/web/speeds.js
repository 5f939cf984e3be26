/** How fast packets move: simulated over real time. */

import { parse } from "./units.js";

export const SPEEDS = [1 / 3000, 1 / 1000, 1 / 300, 1 / 100, 1 / 30, 1 / 10, 1 / 3, 1, 3, 10];

/** The speed that is nearest to a wish. */
export function nearest(wish) {
  const far = (speed) => Math.abs(Math.log(speed / wish));
  return SPEEDS.reduce((best, speed) => (far(speed) < far(best) ? speed : best));
}

/** A speed at which one sees packets cross the slowest of the usual links. */
export function suitable(scenario) {
  const delays = scenario.link.map((link) => parse("time", link.delay)).filter((x) => x > 0).sort((a, b) => a - b);
  return nearest((delays[Math.floor(delays.length / 2)] ?? 0.01) / 1.2);
}
