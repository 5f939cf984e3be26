/** Worker that runs scenarios. The newest request of each kind and side replaces older requests. */

import { Engine, Mistake } from "./engine.js";

const SLICE_EVENTS = 60_000; // about ten milliseconds of work
const PATIENCE_MS = 150; // a run that takes longer is replaced by a newer run
const PIECE_MS = 60; // time to the first piece of a result; doubles for each further piece

const ready = compiled();
const engines = new Map();
const waiting = new Map();
const players = new Map();
let busy = false;

/** Compiles the engine; ignores the content type that the server declares. */
async function compiled() {
  const reply = await fetch(new URL("engine.wasm", import.meta.url));
  if (!reply.ok) throw new Mistake(`the engine, engine.wasm, is not there (${reply.status})`);
  return WebAssembly.compile(await reply.arrayBuffer());
}

async function engine(name) {
  const module = await ready;
  if (!engines.has(name)) engines.set(name, new Engine(module));
  return engines.get(name);
}

const breath = new MessageChannel();
/** Lets pending messages arrive. */
function breathe() {
  return new Promise((resolve) => {
    breath.port1.onmessage = resolve;
    breath.port2.postMessage(0);
  });
}

function answer(request, reply) {
  postMessage({ id: request.id, ...reply });
}

function wrong(request, error) {
  const lines = error instanceof Mistake ? error.message.split("\n") : [`the engine failed: ${error.message}`];
  answer(request, { wrong: lines, last: true });
}

/** Simulates a scenario and sends its records in pieces. */
async function run(request, isOld) {
  const engineOf = await engine(request.side);
  const begin = performance.now();
  let first = { resolved: engineOf.open(request.scenario) };
  let [due, pause] = [begin + PIECE_MS, PIECE_MS];
  for (;;) {
    const progress = engineOf.advance(Infinity, SLICE_EVENTS);
    const over = progress !== "more";
    const now = performance.now();
    const told = over || now > due;
    const piece = told ? { tables: engineOf.take(), now: engineOf.now, ...first } : null;
    if (told) {
      first = {};
      pause *= 2;
      due = now + pause;
    }
    if (over) {
      const end = { summary: engineOf.summary(), cut: progress === "cut", ms: performance.now() - begin };
      answer(request, { ...piece, ...end, hops: engineOf.packetHops, last: true });
      return;
    }
    if (told) answer(request, piece);
    await breathe();
    if (isOld() && performance.now() - begin > PATIENCE_MS) {
      answer(request, { dropped: true, last: true });
      return;
    }
  }
}

/** Sends the positions of packets between two times; restarts the run if necessary. */
async function play(request, isOld) {
  const name = `play ${request.side}`;
  const engineOf = await engine(name);
  const player = players.get(name);
  if (!player || player.version !== request.version || engineOf.now > request.from) {
    engineOf.open(request.scenario, true);
    players.set(name, { version: request.version });
  }
  while (engineOf.advance(request.from, SLICE_EVENTS) === "more") {
    engineOf.stays();
    engineOf.take();
    await breathe();
    if (isOld()) {
      answer(request, { dropped: true, last: true });
      return;
    }
  }
  engineOf.stays();
  while (engineOf.advance(request.to, SLICE_EVENTS) === "more");
  engineOf.take();
  answer(request, { stays: engineOf.stays(), now: engineOf.now, last: true });
}

const WORK = { run, play };

async function work() {
  busy = true;
  for (;;) {
    const next = waiting.entries().next();
    if (next.done) break;
    const [key, request] = next.value;
    waiting.delete(key);
    try {
      await WORK[request.kind](request, () => waiting.has(key));
    } catch (error) {
      players.delete(`play ${request.side}`);
      wrong(request, error);
    }
  }
  busy = false;
}

const SMALL = {
  parse: (engineOf, request) => ({ scenario: engineOf.parse(request.toml) }),
  traces: (engineOf, request) => ({ scenario: engineOf.traces(request.scenario, request.files) }),
  line: (engineOf, request) => ({ line: engineOf.line(request.mistake, request.toml) }),
  catalogue: (engineOf) => ({ catalogue: engineOf.catalogue() }),
};

onmessage = async ({ data: request }) => {
  if (request.kind in SMALL) {
    try {
      answer(request, { ...SMALL[request.kind](await engine("small"), request), last: true });
    } catch (error) {
      wrong(request, error);
    }
    return;
  }
  const key = `${request.kind} ${request.side}`;
  const old = waiting.get(key);
  if (old) answer(old, { dropped: true, last: true });
  waiting.set(key, request);
  if (!busy) work();
};
