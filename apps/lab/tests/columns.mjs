// Runs scenarios, and prints the digests of columns and the summary. Each line of standard input is a scenario in JSON.
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { Engine, Mistake } from "../web/engine.js";

const module = new WebAssembly.Module(readFileSync(new URL("../page/engine.wasm", import.meta.url)));
const engine = new Engine(module);

/** Returns the digest of a column. NaNs are normalised, because their bits depend on the processor. */
function digest(values) {
  const plain = values instanceof Float64Array ? values.map((x) => (Number.isNaN(x) ? NaN : x)) : values;
  return createHash("sha256").update(new Uint8Array(plain.buffer)).digest("hex");
}

function run(line) {
  try {
    engine.open(JSON.parse(line));
    while (engine.advance(Infinity, 100_000) === "more");
    const columns = {};
    for (const [table, { rows, ...of }] of Object.entries(engine.take())) {
      for (const [name, values] of Object.entries(of)) columns[`${table}.${name}`] = [rows, digest(values)];
    }
    return { columns, summary: engine.summary() };
  } catch (error) {
    if (!(error instanceof Mistake)) throw error;
    return { mistake: error.message };
  }
}

for (const line of readFileSync(0, "utf8").split("\n").filter(Boolean)) console.log(JSON.stringify(run(line)));
