/**
 * Types that several files share; this file has no code.
 *
 * A scenario has the structure of its file. Keys that the page does not use have the type `unknown`.
 *
 * @typedef {{[key: string]: unknown}} Entry
 * @typedef {Entry & {from: string, to: string, name?: string, capacity?: string, delay?: string, buffer?: string,
 *   loss?: unknown, queue?: string | Entry, law?: string | Entry, duplex?: boolean, changes?: unknown,
 *   reverse?: Entry}} Link
 * @typedef {Entry & {name: string, law: string | Entry, from?: string, to?: string, count?: number, path?: string[],
 *   reverse_path?: string[]}} Flow
 * @typedef {object} Scenario
 * @property {string} name
 * @property {unknown} [description]
 * @property {string} duration
 * @property {string} [sample]
 * @property {number | string} [seed]
 * @property {Link[]} link
 * @property {Flow[]} flow
 * @property {Entry[]} [memory]
 * @property {{at: string, to: string, via: string}[]} [route]
 * @property {{[law: string]: Entry}} [law] parameters of laws
 */

/**
 * The network of a scenario, with all defaults. The engine returns it.
 *
 * @typedef {{at_s: number, service_bps: number, target_bps: number}} LinkChange
 * @typedef {{name: string, from: string, to: string, buffer: string, service_bps: number, target_bps: number,
 *   laws: Entry, queue: Entry, changes?: LinkChange[]}} ResolvedLink
 * @typedef {{from_s: number, path_of: number[]}} Plan paths of an entry's flows from a time on
 * @typedef {{name: string, law: string, count: number, path: string[], paths?: {path: string[]}[], plans?: Plan[],
 *   signal: string, params: Entry, packet_bytes: number, ack_bytes: number, application?: unknown,
 *   transfers?: unknown}} ResolvedFlow
 * @typedef {{duration_s: number, links: ResolvedLink[], flows: ResolvedFlow[], warnings: string[]}} Resolved
 */

/**
 * Tables of a run: the values of each column. Rows are ordered by time, then by flow or link.
 *
 * @typedef {Float64Array | BigUint64Array | Uint32Array | Int32Array} Column
 * @typedef {{rows: number, t: Column, active: Column, throughput_bps: Column, rtt_s: Column}} FlowTable
 * @typedef {{rows: number, t: Column, throughput_bps: Column, arrival_bps: Column, backlog_max_bytes: Column,
 *   queueing_delay_max_s: Column, dropped_bytes: Column, signal: Column}} LinkTable
 * @typedef {{flows?: FlowTable, links?: LinkTable}} Tables
 * @typedef {{rows: number, arrived: Float64Array, departed: Float64Array, ends: Float64Array, link: Uint32Array,
 *   flow: Uint32Array, ack: Uint32Array, fate: Uint32Array}} StayTable stays of packets at links; times in seconds
 */

/**
 * Exact counters and measures of a complete run.
 *
 * @typedef {{name: string, dropped_packets: number, utilisation: number | null,
 *   queueing_delay_s?: {p99: number} | null}} LinkSummary
 * @typedef {{sent_packets: number, dropped_packets: number, lost_packets?: number, started: number, finished: number,
 *   aborted: number}} FlowSummary
 * @typedef {{links: LinkSummary[], flows: FlowSummary[], jain?: number | null, settled?: boolean,
 *   settling_s?: number}} Summary
 */

/**
 * Result of a run, complete or in progress, or a stored result.
 *
 * @typedef {object} Result
 * @property {Scenario} scenario
 * @property {Resolved} resolved
 * @property {Tables} tables
 * @property {number} now simulated time, s
 * @property {boolean} done
 * @property {Summary | null} [summary] present in a complete result
 * @property {number} [ms] computing time
 * @property {number} [hops] link crossings of all packets
 * @property {"cut" | "stopped"} [early] reason of an early end: the limit of events, or the user
 * @property {string[]} [wrong] errors of an invalid scenario; other properties are then missing
 * @property {{path: string, origin: string}} [stored] source of a stored result
 */

/**
 * Laws and queue disciplines of the engine, with their parameters.
 *
 * @typedef {"rate" | "time" | "size" | "packets" | "number"} Kind kind of a quantity
 * @typedef {{name: string, doc: string, default: string, low: string, high: string,
 *   kind: Kind | "switch" | "choice", choices: string[]}} Parameter
 * @typedef {{name: string, title: string, params: Parameter[]}} Algorithm
 * @typedef {{laws: Algorithm[], queues: Algorithm[]}} Catalogue
 */

/**
 * State of the drawing. A layout has the position of each node, as fractions of width and height.
 *
 * @typedef {[number, number]} Spot
 * @typedef {{[node: string]: Spot}} Layout
 * @typedef {{kind: "link" | "flow", index: number} | {kind: "node", index: string}} Selected
 * @typedef {{select: (kind: Selected["kind"], index: Selected["index"]) => void,
 *   move: (node: string, x: number, y: number) => void, pick: (node: string) => void}} Act callbacks of a drawing
 */

/**
 * Messages from the page to a worker, and its replies. A request has at least one reply; `last` marks the last one.
 * If a newer request replaces a request, the older request gets the reply `dropped`.
 *
 * @typedef {"a" | "b"} SideName
 * @typedef {{kind: "run", side: SideName, scenario: Scenario, id?: number}} RunRequest
 * @typedef {{kind: "play", side: SideName, version: number, scenario: Scenario, from: number, to: number}} PlayRequest
 * @typedef {{kind: "parse", toml: string} | {kind: "traces", scenario: Scenario, files: {[name: string]: string}} |
 *   {kind: "line", mistake: string, toml: string} | {kind: "catalogue"} |
 *   {kind: "check" | "complete", scenario: Scenario} |
 *   {kind: "drive", step: {scenario: Scenario} | {rate: number, until: number}}} SmallRequest answered without a run
 * @typedef {(RunRequest | PlayRequest | SmallRequest | {kind: "stop"}) & {id?: number}} Request
 * @typedef {Partial<Result> & {id?: number, last?: boolean, dropped?: boolean, stays?: StayTable, line?: number | null,
 *   catalogue?: Catalogue}} Reply
 */

export {};
