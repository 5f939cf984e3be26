/** Stored results: a result directory that `levelflow lab --open` serves, or saved tables. */

import { words } from "./words.js";

/** @import { Resolved, Result } from "./types.js" */

/** True if the server has a result to show. */
export const offered = document.querySelector("meta[name=levelflow-server][content~=result]") !== null;

/** Value of the column `bottleneck` for a flow without a bottleneck. */
const NO_LINK = -1;
/** Limit on the rows of a table. */
const MAX_ROWS = 500_000;

/**
 * Fetches the result from the server.
 *
 * @returns {Promise<Result>}
 */
export async function fetchResult() {
  const found = await (await fetch("result.json")).json();
  const tables = Object.fromEntries(Object.entries(found.tables).map(([name, columns]) => [name, table(columns)]));
  return { ...found, tables, done: true, stored: { path: found.path, origin: origin(found) } };
}

/** @param {{[name: string]: (number | null)[]}} columns */
function table(columns) {
  const arrays = Object.entries(columns).map(([name, values]) => [name, Float64Array.from(values, (x) => x ?? NaN)]);
  return { rows: columns.t.length, ...Object.fromEntries(arrays) };
}

/**
 * Returns the origin of a result in words.
 *
 * @param {{network: {form: string, kernel: string} | null, by: string, status: string | null}} found
 */
function origin({ network, by, status }) {
  const how = network ? words.files.measured(network.form, network.kernel) : words.files.simulated(by);
  return status === "complete" ? how : words.files.partial(how, status ?? words.files.killed);
}

/**
 * Parses a saved table of flows or links.
 *
 * @param {string} text
 * @param {Resolved} resolved network with the flows and links of the table
 * @returns {{kind: "flows" | "links", table: any}}
 * @throws {Error} with one line: problem and place
 */
export function readCsv(text, resolved) {
  const lines = text.split(/\r?\n/).filter((line) => line);
  if (lines.length > MAX_ROWS + 1) throw new Error(words.files.rows(lines.length - 1, MAX_ROWS));
  const header = cells(lines[0] ?? "");
  const kind = header.includes("flow") ? "flow" : "link";
  const needed = {
    flow: ["t", "active", "throughput_bps", "rtt_s"],
    link: ["link", "t", "throughput_bps", "arrival_bps", "backlog_max_bytes", "queueing_delay_max_s", "dropped_bytes", "signal"],
  };
  const missing = needed[kind].find((name) => !header.includes(name));
  if (missing) {
    const name = missing === "link" ? words.files.columnOr : missing;
    throw new Error(words.files.noColumn(name));
  }
  const entries = resolved[`${kind}s`].map(({ name }) => name);
  const columns = header.map(() => new Float64Array(lines.length - 1));
  const links = new Map(resolved.links.map(({ name }, i) => [name, i]));
  lines.slice(1).forEach((line, row) => {
    const values = cells(line);
    if (values.length !== header.length) throw new Error(words.files.line(row + 2, words.files.values(values.length, header.length)));
    const expected = entries[row % entries.length];
    header.forEach((name, i) => {
      if (name === kind && values[i] !== expected) {
        throw new Error(words.files.line(row + 2, words.files.otherEntry(kind, values[i], expected)));
      }
      columns[i][row] = name === kind ? row % entries.length : name === "bottleneck"
        ? links.get(values[i]) ?? NO_LINK : number(values[i], words.files.line(row + 2, name));
    });
  });
  const rows = lines.length - 1;
  if (rows === 0 || rows % entries.length) throw new Error(words.files.incomplete(rows, kind));
  return { kind: `${kind}s`, table: { rows, ...Object.fromEntries(header.map((name, i) => [name, columns[i]])) } };
}

/** @param {string} line */
function cells(line) {
  const found = line.matchAll(/(?:^|,)(?:"((?:[^"]|"")*)"|([^,]*))/g);
  return Array.from(found, ([, quoted, plain]) => (quoted === undefined ? plain : quoted.replaceAll('""', '"')));
}

/**
 * Parses a number; an empty text is NaN.
 *
 * @param {string} text
 * @param {string} where place for the error
 */
function number(text, where) {
  const value = text === "" ? NaN : Number(text);
  if (text !== "" && Number.isNaN(value)) throw new Error(words.files.noNumber(where, text));
  return value;
}
