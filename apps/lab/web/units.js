/** Quantities as scenarios write them: a number and a unit. */

/** @import { Kind } from "./types.js" */

/** Units in which quantities are written, from large to small. @type {{[kind: string]: [string, number][]}} */
const KINDS = {
  rate: [["Tb/s", 1e12], ["Gb/s", 1e9], ["Mb/s", 1e6], ["kb/s", 1e3], ["b/s", 1]],
  time: [["s", 1], ["ms", 1e-3], ["us", 1e-6], ["ns", 1e-9]],
  size: [["GB", 1e9], ["MB", 1e6], ["kB", 1e3], ["B", 1]],
};

/** Units that are read. @type {{[kind: string]: Map<string, number>}} */
const FACTORS = {
  rate: new Map(KINDS.rate),
  time: new Map([...KINDS.time, ["µs", 1e-6], ["ps", 1e-12], ["min", 60], ["h", 3600]]),
  size: new Map([...KINDS.size, ["TB", 1e12], ["KiB", 1024], ["MiB", 1048576], ["GiB", 1073741824]]),
  packets: new Map([["packets", 1], ["packet", 1]]),
  number: new Map([["", 1]]),
};

/**
 * Parses a quantity; returns it in base units, or NaN for an invalid text.
 *
 * @param {string} kind
 * @param {unknown} text
 */
export function parse(kind, text) {
  const found = /^\s*([\d_.eE+-]+)\s*([^\d\s].*)?$/.exec(String(text ?? ""));
  const factor = found ? FACTORS[kind].get((found[2] ?? "").trim()) : undefined;
  return found && factor !== undefined ? Number(found[1].replaceAll("_", "")) * factor : NaN;
}

/**
 * Formats a number with this number of significant digits.
 *
 * @param {number} value
 */
export function short(value, digits = 3) {
  if (value === 0) return "0";
  return String(Number(value.toPrecision(digits)));
}

/**
 * Formats a quantity in a suitable unit.
 *
 * @param {Kind} kind
 * @param {number | null | undefined} value
 */
export function format(kind, value, digits = 3) {
  if (value === null || value === undefined || !Number.isFinite(value)) return "–";
  if (kind === "packets") return value === 1 ? "1 packet" : `${short(value, 6)} packets`;
  if (kind === "number") return short(value, digits);
  const [unit, factor] = unitFor(kind, value);
  return `${short(value / factor, digits)} ${unit}`;
}

/**
 * Returns the largest unit in which a value is at least 1, and the factor of this unit. Returns the base unit for 0.
 *
 * @param {"rate" | "time" | "size"} kind
 * @param {number} value
 */
export function unitFor(kind, value) {
  const units = KINDS[kind];
  if (value === 0) return units.find(([, factor]) => factor === 1) ?? units[0];
  return units.find(([, factor]) => Math.abs(value) >= factor * (1 - 1e-9)) ?? units[units.length - 1];
}
