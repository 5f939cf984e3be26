/** Names of lines at their right ends, for plots on the screen and in saved files. */

/** @import { Line } from "./panels.js" */

/** Limit on the lines of a plot with names. More names do not fit. */
const MAX_NAMES = 8;
/** Limit on the letters of a name. */
const MAX_LETTERS = 14;
/** Width of the names, pixels. */
export const NAMES_WIDTH = 96;

/**
 * Returns the names of the lines and their heights. Names of close lines move apart.
 *
 * @param {Line[]} lines
 * @param {(value: number) => number} y height of a value
 * @param {number} top
 * @param {number} bottom
 * @param {number} step smallest distance between two names
 */
export function namesAtEnds(lines, y, top, bottom, step) {
  const named = lines.filter((line) => !line.quiet).flatMap(({ name, colour, values }) => {
    const end = values.findLast((value) => value !== null);
    const text = name.length > MAX_LETTERS ? `${name.slice(0, MAX_LETTERS - 1)}…` : name;
    return end === null || end === undefined ? [] : [{ text, colour, y: Math.min(Math.max(y(end), top), bottom) }];
  });
  if (named.length > MAX_NAMES) return [];
  named.sort((a, b) => a.y - b.y);
  for (let i = 1; i < named.length; i += 1) named[i].y = Math.max(named[i].y, named[i - 1].y + step);
  let limit = bottom;
  for (const one of named.toReversed()) {
    one.y = Math.min(one.y, limit);
    limit = one.y - step;
  }
  return named;
}
