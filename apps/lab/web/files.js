/** Opened files: a scenario, its traces, and saved tables. */

import { check, parse, withTraces } from "./runner.js";
import { isScenario } from "./share.js";
import { readCsv } from "./stored.js";
import { format } from "./units.js";
import { words } from "./words.js";

/** @import { Result, Scenario, Tables } from "./types.js" */

const MAX_SCENARIO_BYTES = 1_000_000;
const MAX_TABLE_BYTES = 100_000_000;

/**
 * Returns the names of the trace files of a scenario, without folders.
 *
 * @param {Scenario} scenario
 */
function tracesOf(scenario) {
  const changes = scenario.link.flatMap((link) => [link.changes, link.reverse?.changes]);
  const paths = changes.flatMap((of) => (of && !Array.isArray(of) && typeof of === "object" ? Object.values(of) : []));
  return new Set(paths.map((path) => String(path).split(/[/\\]/).at(-1)));
}

/**
 * Returns the text of a file.
 *
 * @param {File} file
 * @param {number} most limit on its size, bytes
 * @param {string} kind
 */
async function textOf(file, most, kind) {
  if (file.size > most) throw new Error(words.files.tooLarge(file.name, format("size", file.size), kind, format("size", most)));
  return file.text();
}

/**
 * Calls a function. Adds the name of a file to an error.
 *
 * @template T
 * @param {File} file
 * @param {() => T | Promise<T>} read
 */
async function naming(file, read) {
  try {
    return await read();
  } catch (error) {
    throw new Error(`${file.name}: ${/** @type {Error} */ (error).message}`);
  }
}

/**
 * Parses a scenario. Replaces the name of each trace file by the changes in the file.
 *
 * @param {string} text
 * @param {File[]} files
 * @throws {Error} with a line per mistake
 */
export async function readScenario(text, files = []) {
  const scenario = await parse(text);
  if (!isScenario(scenario)) throw new Error(words.files.form);
  const names = tracesOf(scenario);
  if (!names.size) return scenario;
  /** @type {{[name: string]: string}} */
  const texts = {};
  for (const file of files) if (names.has(file.name)) texts[file.name] = await textOf(file, MAX_TABLE_BYTES, words.files.trace);
  return withTraces(scenario, texts);
}

/**
 * Reads opened files: at most one scenario with its traces, and tables. The tables are a stored result of this
 * scenario, or of the current scenario if no scenario is opened.
 *
 * @param {File[]} files
 * @param {Scenario} current
 * @throws {Error} with one line: file, problem and place
 */
export async function readFiles(files, current) {
  /** @param {File} file */
  const isTable = ({ name }) => /\.csv$/i.test(name);
  const file = files.find(({ name }) => /\.toml$/i.test(name)) ?? files.find((one) => !isTable(one));
  let scenario = null;
  let tables = files;
  if (file) {
    const text = await textOf(file, MAX_SCENARIO_BYTES, words.files.scenario);
    scenario = await naming(file, () => readScenario(text, files));
    const traces = tracesOf(/** @type {Scenario} */ (await parse(text)));
    tables = files.filter((other) => other !== file && !traces.has(other.name));
  }
  const stray = tables.find((other) => !isTable(other));
  if (stray) throw new Error(words.files.oneScenario(stray.name));
  return { scenario, stored: tables.length ? await readTables(tables, scenario ?? current) : null };
}

/**
 * @param {File[]} files
 * @param {Scenario} scenario
 * @returns {Promise<Result>}
 */
async function readTables(files, scenario) {
  const resolved = await check(scenario);
  /** @type {Tables} */
  const tables = {};
  for (const file of files) {
    const text = await textOf(file, MAX_TABLE_BYTES, words.files.table);
    const { kind, table } = await naming(file, () => readCsv(text, resolved));
    tables[kind] = table;
  }
  const path = files.map(({ name }) => name).join(", ");
  return {
    resolved, tables, now: resolved.duration_s, summary: null, done: true, scenario,
    stored: { path, origin: words.files.fromCsv },
  };
}
