/**
 * Interface of the page to its workers: one for runs, and one for the positions of packets, so that neither waits. The
 * second worker starts at its first request, when the first worker has compiled the engine.
 */

function open(script) {
  const worker = new Worker(new URL(script, import.meta.url), { type: "module" });
  const waiting = new Map();
  let number = 0;
  worker.onmessage = ({ data }) => {
    const listener = waiting.get(data.id);
    if (data.last) waiting.delete(data.id);
    listener?.(data);
  };
  worker.onerror = (event) => {
    event.preventDefault();
    const wrong = [`${script} cannot be loaded; is the server gone?`];
    for (const listener of waiting.values()) listener({ wrong, last: true });
    waiting.clear();
  };
  return (request, listener) => {
    number += 1;
    waiting.set(number, listener);
    worker.postMessage({ ...request, id: number });
  };
}

const runs = open("worker.js");
let plays = null;

/** Joins the rows of a table that arrives in pieces. */
function join(table, piece) {
  if (!table) return piece;
  const joined = { rows: table.rows + piece.rows };
  for (const [name, values] of Object.entries(piece)) {
    if (name === "rows") continue;
    joined[name] = new values.constructor(joined.rows);
    joined[name].set(table[name]);
    joined[name].set(values, table.rows);
  }
  return joined;
}

/**
 * Runs a scenario; `show` receives the result so far after each piece, and again at the end.
 *
 * A result has `resolved`, `tables`, `now` and, at the end, `summary`, `ms`, `cut` and `done`. For an invalid scenario
 * it has `wrong`, the lines with its mistakes. A newer run ends an older run without a further call of `show`.
 */
export function run(side, scenario, show) {
  const result = { tables: {}, scenario };
  runs({ kind: "run", side, scenario }, ({ tables, last, dropped, id: _, ...more }) => {
    if (dropped) return;
    Object.assign(result, more);
    for (const [name, piece] of Object.entries(tables ?? {})) result.tables[name] = join(result.tables[name], piece);
    result.done = Boolean(last);
    show(result);
  });
}

/** Requests the positions of packets between two times, as columns of their stays at links. */
export function play(side, version, scenario, from, to, show) {
  plays ??= open("worker.js");
  plays({ kind: "play", side, version, scenario, from, to }, (reply) => {
    if (!reply.dropped) show(reply);
  });
}

function small(request) {
  return new Promise((resolve, reject) => {
    runs(request, (reply) => (reply.wrong ? reject(new Error(reply.wrong.join("\n"))) : resolve(reply)));
  });
}

/** Parses a scenario in TOML; rejects with the line of the mistake. */
export const parse = async (toml) => (await small({ kind: "parse", toml })).scenario;

/** Replaces each trace file that a link names by the changes in this file; `files` has texts by name. */
export const withTraces = async (scenario, files) => (await small({ kind: "traces", scenario, files })).scenario;

/** Returns the line number that a mistake refers to, or null. */
export const lineOf = async (mistake, toml) => (await small({ kind: "line", mistake, toml })).line;

/** Returns laws, queue disciplines and buffer algorithms. */
export const catalogue = async () => (await small({ kind: "catalogue" })).catalogue;
