/**
 * Requests to the two workers of the page. The first worker runs scenarios. The second worker computes the positions
 * of packets, so that runs and positions do not wait for each other. It starts at the first request for positions, when
 * the first worker has compiled the engine.
 */

/** @import { Catalogue, Reply, Request, Resolved, Result, RunRequest, Scenario, SideName, SmallRequest } from "./types.js" */

/**
 * Starts a worker. Returns a function that sends a request, and passes each reply to a listener.
 *
 * @param {string} script
 * @returns {(request: Request, listener: (reply: Reply) => void) => void}
 */
function open(script) {
  const worker = new Worker(new URL(script, import.meta.url), { type: "module" });
  /** @type {Map<number, (reply: Reply) => void>} */
  const waiting = new Map();
  let number = 0;
  worker.onmessage = ({ data }) => {
    const listener = waiting.get(data.id);
    if (data.last) waiting.delete(data.id);
    listener?.(data);
  };
  worker.onerror = (event) => {
    event.preventDefault();
    const wrong = [`${script} cannot be loaded; is the server still running?`];
    for (const listener of waiting.values()) listener({ wrong, last: true });
    waiting.clear();
  };
  return (request, listener) => {
    number += 1;
    if (request.kind !== "stop") waiting.set(number, listener);
    worker.postMessage({ ...request, id: number });
  };
}

const runs = open("worker.js");
/** @type {ReturnType<typeof open> | null} */
let plays = null;

/**
 * Appends the rows of a piece to a table.
 *
 * @param {any} table
 * @param {any} piece
 */
export function joined(table, piece) {
  if (!table) return piece;
  const { rows, ...columns } = piece;
  /** @type {any} */
  const both = { rows: table.rows + rows };
  for (const [name, values] of Object.entries(columns)) {
    both[name] = new values.constructor(both.rows);
    both[name].set(table[name]);
    both[name].set(values, table.rows);
  }
  return both;
}

/**
 * Runs a scenario. `show` receives the result after each piece. After a newer run on the same side, `show` is not
 * called again.
 *
 * @param {RunRequest["side"]} side
 * @param {Scenario} scenario
 * @param {(result: Result) => void} show
 */
export function run(side, scenario, show) {
  /** @type {any} */
  const result = { tables: {}, scenario };
  runs({ kind: "run", side, scenario }, ({ tables, last, dropped, id: _, ...more }) => {
    if (dropped) return;
    Object.assign(result, more);
    for (const [name, piece] of Object.entries(tables ?? {})) result.tables[name] = joined(result.tables[name], piece);
    result.done = Boolean(last);
    show(result);
  });
}

/** Ends the current runs. Their results then have the rows until now. */
export function stop() {
  runs({ kind: "stop" }, () => {});
}

/**
 * Requests the positions of packets between two times.
 *
 * @param {SideName} side
 * @param {number} version
 * @param {Scenario} scenario
 * @param {number} from s
 * @param {number} to s
 * @param {(reply: Reply) => void} show
 */
export function play(side, version, scenario, from, to, show) {
  plays ??= open("worker.js");
  plays({ kind: "play", side, version, scenario, from, to }, (reply) => {
    if (!reply.dropped) show(reply);
  });
}

/**
 * @param {SmallRequest} request
 */
function small(request) {
  return new Promise((resolve, reject) => {
    runs(request, (reply) => (reply.wrong ? reject(new Error(reply.wrong.join("\n"))) : resolve(reply)));
  });
}

/**
 * Parses a scenario in TOML. An error names the line of the mistake.
 *
 * @param {string} toml
 * @returns {Promise<unknown>}
 */
export const parse = async (toml) => (await small({ kind: "parse", toml })).scenario;

/**
 * Replaces the name of each trace file in a link by the changes in the file.
 *
 * @param {Scenario} scenario
 * @param {{[name: string]: string}} files texts of the files
 * @returns {Promise<Scenario>}
 */
export const withTraces = async (scenario, files) => (await small({ kind: "traces", scenario, files })).scenario;

/**
 * Returns the line number of a mistake in a scenario file, or null.
 *
 * @param {string} mistake
 * @param {string} toml
 * @returns {Promise<number | null>}
 */
export const lineOf = async (mistake, toml) => (await small({ kind: "line", mistake, toml })).line;

/**
 * Returns the network of a scenario. An error has a line per mistake.
 *
 * @param {Scenario} scenario
 * @returns {Promise<Resolved>}
 */
export const check = async (scenario) => (await small({ kind: "check", scenario })).resolved;

/**
 * Runs a scenario to its end, without pieces.
 *
 * @param {Scenario} scenario
 * @returns {Promise<Result>}
 */
export const complete = async (scenario) => ({ ...(await small({ kind: "complete", scenario })), scenario, done: true });

/**
 * Starts a run that the user steers, or sets the rate of its first flow and advances it. Returns the network, or the rows
 * since the last call.
 *
 * @param {{scenario: Scenario} | {rate: number, until: number}} step
 * @returns {Promise<Reply>}
 */
export const drive = (step) => small({ kind: "drive", step });

/**
 * Returns laws and queue disciplines with their parameters.
 *
 * @returns {Promise<Catalogue>}
 */
export const catalogue = async () => (await small({ kind: "catalogue" })).catalogue;
