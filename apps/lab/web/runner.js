/**
 * The workers as the page sees them: one for runs, and one for the positions of packets, so that neither waits. The
 * second begins when it is first asked, so that the first has compiled the engine by then.
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

/** Rows of a table that comes in pieces. */
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
 * Runs a scenario; `show` gets the result so far after each piece, and once more in the end.
 *
 * A result has `resolved`, `tables`, `now` and, in the end, `summary`, `ms`, `cut` and `done`. For a scenario that is
 * not allowed it has `wrong`, the lines that say why. A run that a newer one has overtaken ends without a word.
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

/** Where packets are between two times: the columns of their stays. */
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

/** A scenario in TOML as an object; rejects with the line that says what is wrong. */
export const parse = async (toml) => (await small({ kind: "parse", toml })).scenario;

/** A scenario with changes in place of the traces that its links name, from the texts of files by name. */
export const withTraces = async (scenario, files) => (await small({ kind: "traces", scenario, files })).scenario;

/** The number of the line that a mistake is about, or null. */
export const lineOf = async (mistake, toml) => (await small({ kind: "line", mistake, toml })).line;

/** Laws, queue disciplines and buffer algorithms. */
export const catalogue = async () => (await small({ kind: "catalogue" })).catalogue;
