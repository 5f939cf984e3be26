/** State of the page in the fragment of a URL: JSON, deflated, in base64url. Browsers do not send fragments to servers. */

import { words } from "./words.js";

/** @import { Layout, Scenario, Spot } from "./types.js" */

/** @typedef {{scenario: Scenario, layout: Layout, compare: string, speed: number, time: number,
 *   preset?: string, lesson?: string, own?: unknown}} Shared own: table of the user's own lesson */

/** Limit on the length of a fragment. */
const MAX_FRAGMENT = 60_000;
/** Limit on the uncompressed state, bytes. */
const MAX_STATE_BYTES = 1_000_000;

/**
 * Compresses or decompresses bytes.
 *
 * @param {CompressionStream | DecompressionStream} stream
 * @param {Uint8Array<ArrayBuffer>} bytes
 */
async function pipe(stream, bytes) {
  const reader = new Blob([bytes]).stream().pipeThrough(stream).getReader();
  const parts = [];
  let size = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return new Uint8Array(await new Blob(parts).arrayBuffer());
    size += value.length;
    if (size > MAX_STATE_BYTES) throw new Error("too long");
    parts.push(value);
  }
}

/**
 * Encodes a state as a fragment.
 *
 * @param {Shared} state
 * @throws {Error} with one line, if the fragment is too long to be opened
 */
export async function encode(state) {
  const plain = new TextEncoder().encode(JSON.stringify(state));
  const bytes = await pipe(new CompressionStream("deflate-raw"), plain);
  const text = Array.from(bytes, (byte) => String.fromCharCode(byte)).join("");
  const fragment = `#s=${btoa(text).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "")}`;
  if (plain.length > MAX_STATE_BYTES || fragment.length > MAX_FRAGMENT) {
    throw new Error(words.links.tooLarge);
  }
  return fragment;
}

/**
 * Decodes the state in a fragment. Removes invalid positions of nodes.
 *
 * @param {string} fragment
 * @returns {Promise<Shared>}
 * @throws {Error} with one line, if the fragment is damaged
 */
export async function decode(fragment) {
  const broken = new Error(words.links.broken);
  if (fragment.length > MAX_FRAGMENT) throw broken;
  try {
    const text = atob(fragment.slice(3).replaceAll("-", "+").replaceAll("_", "/"));
    const bytes = Uint8Array.from(text, (letter) => letter.charCodeAt(0));
    const json = new TextDecoder().decode(await pipe(new DecompressionStream("deflate-raw"), bytes));
    const state = JSON.parse(json, (_, value) => {
      if (value === null) throw broken; // the page never writes null
      return value;
    });
    if (!isScenario(state.scenario)) throw broken;
    const layout = Object.entries(state.layout ?? {}).filter(([, spot]) => isSpot(spot));
    return { ...state, layout: Object.fromEntries(layout), time: Number(state.time) };
  } catch {
    throw broken;
  }
}

/**
 * @param {unknown} spot
 * @returns {spot is Spot}
 */
function isSpot(spot) {
  return Array.isArray(spot) && spot.length === 2 && spot.every((x) => x >= 0 && x <= 1);
}

/**
 * Returns true if the page can draw a scenario. The engine makes all other checks.
 *
 * @param {any} scenario
 * @returns {scenario is Scenario}
 */
export function isScenario(scenario) {
  /** @param {unknown} value */
  const isTable = (value) => typeof value === "object" && value !== null && !Array.isArray(value);
  /** @param {unknown} value */
  const isList = (value) => Array.isArray(value) && value.every(isTable);
  return isTable(scenario) && isList(scenario.link) && isList(scenario.flow) &&
    ["memory", "route"].every((name) => scenario[name] === undefined || isList(scenario[name])) &&
    (scenario.law === undefined || (isTable(scenario.law) && isList(Object.values(scenario.law)))) &&
    scenario.link.every((/** @type {any} */ link) => typeof link.from === "string" && typeof link.to === "string");
}
