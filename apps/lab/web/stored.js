/** Stored results: a directory that `levelflow lab --open` serves, or saved tables. */

import { ended } from "./series.js";
import { format, short } from "./units.js";

/** True if the server has a result to show. */
export const offered = /\bresult\b/.test(document.querySelector("meta[name=levelflow-server]")?.content ?? "");

const EMPTY_INDEX = -1;
const MOST_ROWS = 500_000;

/** Fetches the result from the server, with the path and origin of the result in `stored`. */
export async function fetchResult() {
  const found = await (await fetch("result.json")).json();
  const tables = Object.fromEntries(Object.entries(found.tables).map(([name, columns]) => [name, table(columns)]));
  return { ...found, tables, done: true, stored: { path: found.path, origin: origin(found) } };
}

function table(columns) {
  const arrays = Object.entries(columns).map(([name, values]) => [name, Float64Array.from(values, (x) => x ?? NaN)]);
  return { rows: columns.t.length, ...Object.fromEntries(arrays) };
}

function origin({ network, by, status }) {
  const how = network ? `measured on a network (${network.form}, Linux ${network.kernel})` : `simulated by Levelflow ${by}`;
  return status === "complete" ? how : `${how}; the run did not end (${status ?? "killed"})`;
}

/**
 * Parses a CSV file of flows or links in a scenario; returns the name of the table, "flows" or "links", and its
 * columns.
 *
 * @throws {Error} with one line: problem and place
 */
export function readCsv(text, resolved) {
  const lines = text.split(/\r?\n/).filter((line) => line);
  if (lines.length > MOST_ROWS + 1) throw new Error(`${lines.length - 1} rows; a page holds ${MOST_ROWS}.`);
  const header = cells(lines[0] ?? "");
  const kind = ["flow", "link"].find((one) => header.includes(one));
  const needed = { flow: ["t", "active", "throughput_bps", "rtt_s"],
    link: ["t", "throughput_bps", "arrival_bps", "backlog_max_bytes", "queueing_delay_max_s", "dropped_bytes", "signal"] }[kind];
  const lacks = needed ? needed.filter((name) => !header.includes(name)) : ["flow or link"];
  if (lacks.length) throw new Error(`line 1: no column ${lacks[0]}; it needs the columns of “Flows as CSV” or “Links as CSV”.`);
  const entries = resolved[`${kind}s`].map(({ name }) => name);
  const columns = header.map(() => new Float64Array(lines.length - 1));
  const links = new Map(resolved.links.map(({ name }, i) => [name, i]));
  lines.slice(1).forEach((line, row) => {
    const values = cells(line);
    if (values.length !== header.length) throw new Error(`line ${row + 2}: ${values.length} values, not ${header.length}.`);
    const expected = entries[row % entries.length];
    header.forEach((name, i) => {
      if (name === kind && values[i] !== expected) {
        throw new Error(`line ${row + 2}: ${kind} “${values[i]}” where the open scenario has “${expected}”; open its scenario first.`);
      }
      columns[i][row] = name === kind ? row % entries.length : name === "bottleneck"
        ? links.get(values[i]) ?? EMPTY_INDEX : number(values[i], `line ${row + 2}, ${name}`);
    });
  });
  const rows = lines.length - 1;
  if (rows === 0 || rows % entries.length) throw new Error(`${rows} rows, not the same number for each ${kind}: the file is cut off.`);
  return { kind: `${kind}s`, table: { rows, ...Object.fromEntries(header.map((name, i) => [name, columns[i]])) } };
}

function cells(line) {
  const found = line.matchAll(/(?:^|,)(?:"((?:[^"]|"")*)"|([^,]*))/g);
  return Array.from(found, ([, quoted, plain]) => (quoted === undefined ? plain : quoted.replaceAll('""', '"')));
}

function number(text, where) {
  const value = text === "" ? NaN : Number(text);
  if (text !== "" && Number.isNaN(value)) throw new Error(`${where}: “${text}” is not a number.`);
  return value;
}

/** Summarises a stored result in a line. */
export function sum(resolved, summary) {
  if (!summary) return "The result has no summary.";
  const busiest = summary.links.reduce((most, link) => ((link.utilisation ?? 0) > (most?.utilisation ?? -1) ? link : most), null);
  const dropped = summary.links.reduce((total, link) => total + link.dropped_packets, 0);
  return [
    busiest && `${busiest.name}: utilisation ${short(100 * busiest.utilisation)} %`,
    busiest?.queueing_delay_s && `99 % of its queueing delays below ${format("time", busiest.queueing_delay_s.p99)}`,
    summary.jain !== null && summary.jain !== undefined && `Jain’s index of throughput ${short(summary.jain)}`,
    summary.settled && Number.isFinite(summary.settling_s) && `settling time ${format("time", summary.settling_s)}`,
    `${dropped.toLocaleString("en")} packets dropped`,
    ended(resolved, summary),
  ].filter(Boolean).join(" · ");
}
