/** Simulator, compiled to WebAssembly: texts in, objects and typed arrays out. */

const WRONG = 1;
const PROGRESS = ["there", "wrong", "more", "cut"];
const ARRAYS = { f8: Float64Array, u8: BigUint64Array, u4: Uint32Array, i4: Int32Array };

/** Error of the engine for invalid input: one line per mistake. */
export class Mistake extends Error {}

/** Engine for one run at a time. A page has one engine for each run that it shows. */
export class Engine {
  #calls;

  constructor(module) {
    this.module = module;
    this.restart();
  }

  /** Starts with fresh memory, because a failed run leaves it in an undefined state. */
  restart() {
    this.#calls = new WebAssembly.Instance(this.module).exports;
  }

  #bytes() {
    const calls = this.#calls;
    return new Uint8Array(calls.memory.buffer, calls.output(), calls.output_length());
  }

  #text() {
    return new TextDecoder().decode(this.#bytes());
  }

  #call(name, text, ...more) {
    try {
      if (text !== undefined) {
        const bytes = new TextEncoder().encode(text);
        const place = this.#calls.input(bytes.length);
        new Uint8Array(this.#calls.memory.buffer, place, bytes.length).set(bytes);
      }
      const status = this.#calls[name](...more);
      if (status === WRONG) throw new Mistake(this.#text());
      return status;
    } catch (error) {
      if (error instanceof WebAssembly.RuntimeError) {
        this.restart();
        throw new Mistake("the engine failed on this scenario. This is a bug; please report it");
      }
      throw error;
    }
  }

  /** Parses a scenario in TOML; returns an object. */
  parse(toml) {
    this.#call("parse", toml);
    return JSON.parse(this.#text());
  }

  /** Replaces each trace file that a link names by the changes in this file; `files` has texts by name. */
  traces(scenario, files) {
    this.#call("traces", JSON.stringify({ scenario, files }));
    return JSON.parse(this.#text());
  }

  /** Parses a typed value: TOML if it is valid TOML, otherwise the text itself. */
  value(text) {
    this.#call("value", text);
    return JSON.parse(this.#text());
  }

  /** Returns the line number in a scenario file that a mistake refers to, or null. */
  line(mistake, toml) {
    this.#call("line", `${mistake}\0${toml}`);
    return Number(this.#text()) || null;
  }

  /** Returns laws, queue disciplines and buffer algorithms with their parameters. */
  catalogue() {
    this.#call("catalogue", "");
    return JSON.parse(this.#text());
  }

  /** Starts a run; returns the description of its network. `trace` enables `stays`, the positions of packets. */
  open(scenario, trace = false) {
    this.#call("open", JSON.stringify(scenario), trace ? 1 : 0);
    return JSON.parse(this.#text());
  }

  /** Advances to a time in seconds, or by at most `events` events: "there", "more" or "cut". */
  advance(until, events) {
    return PROGRESS[this.#call("advance", undefined, until, events)];
  }

  get now() {
    return this.#calls.now();
  }

  get packetHops() {
    return this.#calls.packet_hops();
  }

  /** Returns rows recorded since the last call: columns by table and name. */
  take() {
    this.#call("take");
    return unpack(this.#bytes());
  }

  /** Returns exact counters. */
  summary() {
    this.#call("summary");
    return JSON.parse(this.#text());
  }

  /** Returns the stays of packets at links that ended since the last call, and the stays in progress, as columns. */
  stays() {
    this.#call("stays");
    return unpack(this.#bytes()).stays;
  }
}

/** Unpacks tables from one block of memory: length of a JSON text, the text, then the values. */
function unpack(bytes) {
  const length = Number(new DataView(bytes.buffer, bytes.byteOffset).getBigUint64(0, true));
  const index = JSON.parse(new TextDecoder().decode(bytes.subarray(8, 8 + length)));
  const begin = bytes.byteOffset + 8 + length;
  const tables = {};
  for (const [name, { rows, columns }] of Object.entries(index)) {
    tables[name] = { rows };
    for (const [column, kind, at] of columns) {
      const array = ARRAYS[kind];
      const from = begin + at;
      tables[name][column] = new array(bytes.buffer.slice(from, from + rows * array.BYTES_PER_ELEMENT));
    }
  }
  return tables;
}
