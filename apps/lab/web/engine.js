/** Simulator, compiled to WebAssembly. Its functions take texts, and return objects and typed arrays. */

/** @import { Catalogue, Resolved, Scenario, StayTable, Summary, Tables } from "./types.js" */

/** Status of a call that failed: the output is the error message. */
const WRONG = 1;
/** Progress of a run, by status. */
const PROGRESS = ["there", "wrong", "more", "cut"];
/** Arrays of columns, by type. @type {{[type: string]: any}} */
const ARRAYS = { f8: Float64Array, u8: BigUint64Array, u4: Uint32Array, i4: Int32Array };

/** Error of the engine for an invalid input, with a line per mistake. */
export class Mistake extends Error {}

/** Engine, which has at most one run at a time. */
export class Engine {
  /**
   * Exports of `apps/lab/src/exports.rs`.
   *
   * @type {{memory: WebAssembly.Memory, output: () => number, output_length: () => number,
   *   input: (length: number) => number, now: () => number, packet_hops: () => number, [name: string]: any}}
   */
  #calls;

  /** @param {WebAssembly.Module} module */
  constructor(module) {
    this.module = module;
    this.#calls = this.#instance();
  }

  #instance() {
    return /** @type {any} */ (new WebAssembly.Instance(this.module).exports);
  }

  #bytes() {
    const calls = this.#calls;
    return new Uint8Array(calls.memory.buffer, calls.output(), calls.output_length());
  }

  #text() {
    return new TextDecoder().decode(this.#bytes());
  }

  /**
   * Calls a function of the engine with a text and numbers; returns its status.
   *
   * @param {string} name
   * @param {string} [text]
   * @param {number[]} more
   */
  #call(name, text, ...more) {
    try {
      if (text !== undefined) {
        const bytes = new TextEncoder().encode(text);
        const address = this.#calls.input(bytes.length);
        new Uint8Array(this.#calls.memory.buffer, address, bytes.length).set(bytes);
      }
      const status = this.#calls[name](...more);
      if (status === WRONG) throw new Mistake(this.#text());
      return status;
    } catch (error) {
      if (error instanceof WebAssembly.RuntimeError) {
        this.#calls = this.#instance(); // the failed run left undefined memory
        throw new Mistake("the engine failed on this scenario. This is a bug; please report it");
      }
      throw error;
    }
  }

  /**
   * Calls a function of the engine that returns JSON.
   *
   * @param {string} name
   * @param {string} [text]
   * @param {number[]} more
   */
  #json(name, text, ...more) {
    this.#call(name, text, ...more);
    return JSON.parse(this.#text());
  }

  /**
   * Parses a scenario in TOML.
   *
   * @param {string} toml
   * @returns {Scenario}
   */
  parse(toml) {
    return this.#json("parse", toml);
  }

  /**
   * Replaces the name of each trace file in a link by the changes in the file.
   *
   * @param {Scenario} scenario
   * @param {{[name: string]: string}} files texts of the files
   * @returns {Scenario}
   */
  traces(scenario, files) {
    return this.#json("traces", JSON.stringify({ scenario, files }));
  }

  /**
   * Returns the line number of a mistake in a scenario file, or null.
   *
   * @param {string} mistake
   * @param {string} toml
   */
  line(mistake, toml) {
    this.#call("line", `${mistake}\0${toml}`);
    return Number(this.#text()) || null;
  }

  /**
   * Returns laws and queue disciplines with their parameters.
   *
   * @returns {Catalogue}
   */
  catalogue() {
    return this.#json("catalogue", "");
  }

  /**
   * Starts a run; returns its network.
   *
   * @param {Scenario} scenario
   * @param {boolean} trace enables the packet positions of `stays`
   * @returns {Resolved}
   */
  open(scenario, trace = false) {
    return this.#json("open", JSON.stringify(scenario), trace ? 1 : 0);
  }

  /**
   * Advances to a time, but by at most `events` events. Returns "there" if the run has reached this time or its end.
   * Returns "cut" if it has reached the limit of events of a run, and otherwise "more".
   *
   * @param {number} until s
   * @param {number} events
   */
  advance(until, events) {
    return PROGRESS[this.#call("advance", undefined, until, events)];
  }

  /**
   * Changes the sending rate of a flow entry under CBR from now on.
   *
   * @param {number} entry
   * @param {number} bps
   */
  steer(entry, bps) {
    this.#call("steer", undefined, entry, bps);
  }

  /** Simulated time, s. */
  get now() {
    return this.#calls.now();
  }

  /** Number of link crossings, summed over all packets. */
  get packetHops() {
    return this.#calls.packet_hops();
  }

  /**
   * Returns the rows since the last call.
   *
   * @returns {Tables}
   */
  take() {
    this.#call("take");
    return unpack(this.#bytes());
  }

  /**
   * Returns exact counters.
   *
   * @returns {Summary}
   */
  summary() {
    return this.#json("summary");
  }

  /**
   * Returns the stays that ended since the last call, and the stays in progress. A stay is the time that one packet
   * spends at one link.
   *
   * @returns {StayTable}
   */
  stays() {
    this.#call("stays");
    return unpack(this.#bytes()).stays;
  }
}

/**
 * Unpacks the tables of `apps/lab/src/output.rs`: length of a JSON text, the text, then the values.
 *
 * @param {Uint8Array} bytes
 */
function unpack(bytes) {
  const length = Number(new DataView(bytes.buffer, bytes.byteOffset).getBigUint64(0, true));
  const index = JSON.parse(new TextDecoder().decode(bytes.subarray(8, 8 + length)));
  const begin = bytes.byteOffset + 8 + length;
  /** @type {any} */
  const tables = {};
  for (const [name, { rows, columns }] of Object.entries(index)) {
    tables[name] = { rows };
    for (const [column, type, offset] of columns) {
      const array = ARRAYS[type];
      const from = begin + offset;
      tables[name][column] = new array(bytes.buffer.slice(from, from + rows * array.BYTES_PER_ELEMENT));
    }
  }
  return tables;
}
