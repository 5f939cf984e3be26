/** Opened files: a scenario, the traces that it names, and saved tables. */

import { parse, run, withTraces } from "./runner.js";
import { isScenario } from "./share.js";
import { readCsv } from "./stored.js";
import { format } from "./units.js";

const WHOLE = "A scenario needs [[link]] entries with “from” and “to”, and [[flow]] entries; [[memory]], [[route]] and [law] are tables.";
const MOST_SCENARIO_BYTES = 1_000_000;
const MOST_TABLE_BYTES = 100_000_000;

/** Returns the names, without folders, of the trace files that a scenario's links name. */
function tracesOf(scenario) {
  const changes = scenario.link.flatMap((link) => [link.changes, link.reverse?.changes]);
  const paths = changes.flatMap((of) => (of && !Array.isArray(of) && typeof of === "object" ? Object.values(of) : []));
  return new Set(paths.map((path) => String(path).split(/[/\\]/).at(-1)));
}

function check(file, most, what) {
  if (file.size > most) throw new Error(`${file.name} has ${format("size", file.size)}; ${what} has at most ${format("size", most)}.`);
}

/** Runs a function on a file; adds the file's name to its error. */
async function of(file, work) {
  try {
    return await work();
  } catch (error) {
    throw new Error(`${file.name}: ${error.message}`);
  }
}

/**
 * Parses a scenario from the text of its file. Replaces its traces by the changes in `files`.
 *
 * @throws {Error} with a line per mistake
 */
export async function readScenario(text, files = []) {
  const scenario = await parse(text);
  if (!isScenario(scenario)) throw new Error(WHOLE);
  const names = tracesOf(scenario);
  if (!names.size) return scenario;
  const texts = {};
  for (const file of files.filter(({ name }) => names.has(name))) {
    check(file, MOST_TABLE_BYTES, "a trace");
    texts[file.name] = await file.text();
  }
  return withTraces(scenario, texts);
}

/**
 * Returns the scenario among opened files, with its traces. Tables among the files become a stored result of this
 * scenario, or of `current`.
 *
 * @throws {Error} with one line: file, problem and place
 */
export async function readFiles(files, current) {
  const isTable = ({ name }) => /\.csv$/i.test(name);
  const file = files.find(({ name }) => /\.toml$/i.test(name)) ?? files.find((one) => !isTable(one));
  let [scenario, rest] = [null, files];
  if (file) {
    check(file, MOST_SCENARIO_BYTES, "a scenario file");
    const text = await file.text();
    scenario = await of(file, () => readScenario(text, files));
    const names = tracesOf(await parse(text));
    rest = files.filter((one) => one !== file && !names.has(one.name));
  }
  const stray = rest.find((one) => !isTable(one));
  if (stray) throw new Error(`${stray.name}: one scenario is opened at a time, with its traces and tables.`);
  return { scenario, stored: rest.length ? await readTables(rest, scenario ?? current) : null };
}

async function readTables(files, scenario) {
  const { resolved } = await finished(scenario);
  const tables = {};
  for (const file of files) {
    check(file, MOST_TABLE_BYTES, "a table");
    const text = await file.text();
    const { kind, table } = await of(file, () => readCsv(text, resolved));
    tables[kind] = table;
  }
  const path = files.map(({ name }) => name).join(", ");
  return {
    resolved, tables, now: resolved.duration_s, summary: null, done: true, scenario,
    stored: { path, origin: "read from CSV tables" },
  };
}

/** Resolves to the result of a scenario once the run has finished. */
function finished(scenario) {
  return new Promise((resolve, reject) => {
    run("check", structuredClone(scenario), (result) => {
      if (result.wrong) reject(new Error(result.wrong[0]));
      else if (result.done) resolve(result);
    });
  });
}
