/** Quantities as scenarios write them: a number and a unit. */

const KINDS = {
  rate: [["Tb/s", 1e12], ["Gb/s", 1e9], ["Mb/s", 1e6], ["kb/s", 1e3], ["b/s", 1]],
  time: [["s", 1], ["ms", 1e-3], ["us", 1e-6], ["ns", 1e-9]],
  size: [["GB", 1e9], ["MB", 1e6], ["kB", 1e3], ["B", 1]],
};

const FACTORS = {
  rate: new Map(KINDS.rate),
  time: new Map([...KINDS.time, ["µs", 1e-6], ["ps", 1e-12], ["min", 60], ["h", 3600]]),
  size: new Map([...KINDS.size, ["TB", 1e12], ["KiB", 1024], ["MiB", 1048576], ["GiB", 1073741824]]),
  packets: new Map([["packets", 1], ["packet", 1]]),
  number: new Map([["", 1]]),
};

/** Returns the number in base units, or NaN for an invalid quantity of this kind. */
export function parse(kind, text) {
  const found = /^\s*([\d_.eE+-]+)\s*([^\d\s].*)?$/.exec(String(text ?? ""));
  const factor = found && FACTORS[kind].get((found[2] ?? "").trim());
  return factor === undefined || factor === null ? NaN : Number(found[1].replaceAll("_", "")) * factor;
}

/** Formats a number with this number of digits, without an exponent if that is short enough. */
export function short(value, digits = 3) {
  if (value === 0) return "0";
  return String(Number(value.toPrecision(digits)));
}

/** Formats a quantity in a suitable unit. */
export function format(kind, value, digits = 3) {
  if (!Number.isFinite(value)) return "–";
  if (kind === "packets") return value === 1 ? "1 packet" : `${short(value, 6)} packets`;
  if (kind === "number") return short(value, digits);
  const [unit, factor] = unitFor(kind, value);
  return `${short(value / factor, digits)} ${unit}`;
}

/** Returns the largest unit in which a value is at least 1, with its factor; returns the base unit for 0. */
export function unitFor(kind, value) {
  const units = KINDS[kind];
  return units.find(([, factor]) => Math.abs(value) >= factor * (1 - 1e-9)) ?? (value === 0 ? units.find(([, factor]) => factor === 1) : units.at(-1));
}
