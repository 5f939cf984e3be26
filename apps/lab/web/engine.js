/** The simulator, compiled to WebAssembly: texts in, objects and typed arrays out. */

const WRONG = 1;
const PROGRESS = ["there", "wrong", "more", "cut"];
const ARRAYS = { f8: Float64Array, u8: BigUint64Array, u4: Uint32Array, i4: Int32Array };

/** What the engine says of bad input: a line per mistake. */
export class Mistake extends Error {}

/** One run at a time; a page has an engine for each run that it shows. */
export class Engine {
  #calls;

  constructor(module) {
    this.module = module;
    this.restart();
  }

  /** A fresh memory; what a failed run leaves behind is of no use. */
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
        throw new Mistake("the engine failed on this scenario, which is a mistake of ours: please report it");
      }
      throw error;
    }
  }

  /** A scenario in TOML as an object. */
  parse(toml) {
    this.#call("parse", toml);
    return JSON.parse(this.#text());
  }

  /** A scenario with changes in place of the traces that its links name, from the texts of files by name. */
  traces(scenario, files) {
    this.#call("traces", JSON.stringify({ scenario, files }));
    return JSON.parse(this.#text());
  }

  /** A value as typed: TOML where it is TOML, otherwise the text itself. */
  value(text) {
    this.#call("value", text);
    return JSON.parse(this.#text());
  }

  /** The number of the line of a scenario file that a mistake is about, or null. */
  line(mistake, toml) {
    this.#call("line", `${mistake}\0${toml}`);
    return Number(this.#text()) || null;
  }

  /** Laws, queue disciplines and buffer algorithms with their parameters. */
  catalogue() {
    this.#call("catalogue", "");
    return JSON.parse(this.#text());
  }

  /** Begins a run; what the scenario stands for. With `trace`, `stays` tells where packets are. */
  open(scenario, trace = false) {
    this.#call("open", JSON.stringify(scenario), trace ? 1 : 0);
    return JSON.parse(this.#text());
  }

  /** Goes on until a time in seconds, for at most so many events: "there", "more" or "cut". */
  advance(until, events) {
    return PROGRESS[this.#call("advance", undefined, until, events)];
  }

  get now() {
    return this.#calls.now();
  }

  get packetHops() {
    return this.#calls.packet_hops();
  }

  /** What was recorded since the last call: columns by table and name. */
  take() {
    this.#call("take");
    return unpack(this.#bytes());
  }

  /** Exact counters. */
  summary() {
    this.#call("summary");
    return JSON.parse(this.#text());
  }

  /** The stays of packets that ended since the last call, and those that go on, as columns. */
  stays() {
    this.#call("stays");
    return unpack(this.#bytes()).stays;
  }
}

/** Tables from one piece of memory: length of a JSON text, the text, then the values. */
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
