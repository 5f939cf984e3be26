/** Worker that runs scenarios. The newest request of each kind and side replaces older requests. */

import { Engine, Mistake } from "./engine.js";

/** @import { PlayRequest, Reply, Request, RunRequest, Scenario, SmallRequest } from "./types.js" */

/** Events between two checks for messages; about 10 ms of work. */
const SLICE_EVENTS = 60_000;
/** Minimum time before a newer run replaces a run, ms. */
const MIN_RUN_MS = 150;
/** Time to the first piece of a result, ms. It doubles for each further piece. */
const PIECE_MS = 60;

const ready = compiled();
/** @type {Map<string, Engine>} */
const engines = new Map();
/** Newest requests, by kind and side. @type {Map<string, RunRequest | PlayRequest>} */
const waiting = new Map();
/** Version of the scenario in each engine for packet positions. @type {Map<string, number>} */
const versions = new Map();
/** Number of the last request that the user has stopped. */
let stopped = 0;
let busy = false;

/** Compiles the engine; ignores the content type that the server declares. */
async function compiled() {
  const response = await fetch(new URL("engine.wasm", import.meta.url));
  if (!response.ok) throw new Mistake(`the engine, engine.wasm, cannot be loaded (${response.status})`);
  return WebAssembly.compile(await response.arrayBuffer());
}

/** @param {string} name */
async function engineFor(name) {
  const module = await ready;
  const engine = engines.get(name) ?? new Engine(module);
  engines.set(name, engine);
  return engine;
}

const channel = new MessageChannel();
/** Waits until pending messages have arrived. */
function receive() {
  return new Promise((resolve) => {
    channel.port1.onmessage = resolve;
    channel.port2.postMessage(0);
  });
}

/**
 * @param {Request} request
 * @param {Reply} message
 */
function reply({ id }, message) {
  postMessage({ id, ...message });
}

/**
 * @param {Request} request
 * @param {unknown} error
 */
function replyError(request, error) {
  const { message } = /** @type {Error} */ (error);
  reply(request, { wrong: error instanceof Mistake ? message.split("\n") : [`the engine failed: ${message}`], last: true });
}

/**
 * Simulates a scenario and sends its rows in pieces.
 *
 * @param {RunRequest} request
 * @param {() => boolean} isOld returns true if a newer request has arrived
 */
async function run(request, isOld) {
  const engine = await engineFor(request.side);
  const started = performance.now();
  /** @type {Reply} */
  let first = { resolved: engine.open(request.scenario) };
  let [due, pause] = [started + PIECE_MS, PIECE_MS];
  for (;;) {
    const progress = (request.id ?? 0) <= stopped ? "stopped" : engine.advance(Infinity, SLICE_EVENTS);
    const now = performance.now();
    if (progress !== "more") {
      const rows = { tables: engine.take(), now: engine.now, ...first };
      /** @type {Reply["early"]} */
      const early = progress === "cut" || progress === "stopped" ? progress : undefined;
      const end = { summary: engine.summary(), early, ms: performance.now() - started };
      reply(request, { ...rows, ...end, hops: engine.packetHops, last: true });
      return;
    }
    if (now > due) {
      reply(request, { tables: engine.take(), now: engine.now, ...first });
      first = {};
      pause *= 2;
      due = now + pause;
    }
    await receive();
    if (isOld() && performance.now() - started > MIN_RUN_MS) {
      reply(request, { dropped: true, last: true });
      return;
    }
  }
}

/**
 * Sends the positions of packets between two times. Restarts the run for another scenario or an earlier time.
 *
 * @param {PlayRequest} request
 * @param {() => boolean} isOld returns true if a newer request has arrived
 */
async function play(request, isOld) {
  const name = `play ${request.side}`;
  const engine = await engineFor(name);
  if (versions.get(name) !== request.version || engine.now > request.from) {
    engine.open(request.scenario, true);
    versions.set(name, request.version);
  }
  while (engine.advance(request.from, SLICE_EVENTS) === "more") {
    engine.stays();
    engine.take();
    await receive();
    if (isOld()) {
      reply(request, { dropped: true, last: true });
      return;
    }
  }
  engine.stays();
  while (engine.advance(request.to, SLICE_EVENTS) === "more");
  engine.take();
  reply(request, { stays: engine.stays(), now: engine.now, last: true });
}

async function work() {
  busy = true;
  for (;;) {
    const next = waiting.entries().next();
    if (next.done) break;
    const [key, request] = next.value;
    waiting.delete(key);
    const isOld = () => waiting.has(key);
    try {
      await (request.kind === "run" ? run(request, isOld) : play(request, isOld));
    } catch (error) {
      versions.delete(`play ${request.side}`);
      replyError(request, error);
    }
  }
  busy = false;
}

/**
 * Starts a run that the user steers, or advances it at a rate of its first flow.
 *
 * @param {{scenario: Scenario} | {rate: number, until: number}} step
 * @returns {Promise<Reply>}
 */
async function drive(step) {
  const engine = await engineFor("drive");
  if ("scenario" in step) return { resolved: engine.open(step.scenario) };
  engine.steer(0, step.rate);
  engine.advance(step.until, Infinity);
  return { tables: engine.take(), now: engine.now, summary: engine.summary() };
}

/**
 * @param {SmallRequest} request
 */
async function small(request) {
  if (request.kind === "drive") return drive(request.step);
  const engine = await engineFor("small");
  switch (request.kind) {
    case "parse": return { scenario: engine.parse(request.toml) };
    case "traces": return { scenario: engine.traces(request.scenario, request.files) };
    case "line": return { line: engine.line(request.mistake, request.toml) };
    case "catalogue": return { catalogue: engine.catalogue() };
    case "complete": {
      const resolved = engine.open(request.scenario);
      engine.advance(Infinity, Infinity);
      return { resolved, tables: engine.take(), now: engine.now, summary: engine.summary() };
    }
    case "check": return { resolved: engine.open(request.scenario) };
  }
}

/** @param {MessageEvent<Request>} message */
onmessage = async ({ data: request }) => {
  if (request.kind === "stop") {
    stopped = request.id ?? 0;
    return;
  }
  if (request.kind !== "run" && request.kind !== "play") {
    try {
      reply(request, { ...await small(request), last: true });
    } catch (error) {
      replyError(request, error);
    }
    return;
  }
  const key = `${request.kind} ${request.side}`;
  const old = waiting.get(key);
  if (old) reply(old, { dropped: true, last: true });
  waiting.set(key, request);
  if (!busy) work();
};
