/** The state of the page in the fragment of a link: JSON, deflated, in base64url. Nothing of it goes to a server. */

const LONGEST = 60_000;
const LONGEST_TEXT = 1_000_000;

async function through(stream, bytes) {
  const piped = new Blob([bytes]).stream().pipeThrough(stream);
  const parts = [];
  let size = 0;
  for await (const part of readable(piped)) {
    size += part.length;
    if (size > LONGEST_TEXT) throw new Error("too long");
    parts.push(part);
  }
  return new Uint8Array(await new Blob(parts).arrayBuffer());
}

async function* readable(stream) {
  const reader = stream.getReader();
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    yield value;
  }
}

/**
 * The fragment for a state.
 *
 * @throws {Error} with one line, if it would be too long to be opened
 */
export async function encode(state) {
  const plain = new TextEncoder().encode(JSON.stringify(state));
  const bytes = await through(new CompressionStream("deflate-raw"), plain);
  const text = Array.from(bytes, (byte) => String.fromCharCode(byte)).join("");
  const fragment = `#s=${btoa(text).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "")}`;
  if (plain.length > LONGEST_TEXT || fragment.length > LONGEST) {
    throw new Error("This network is too large for a link; save the scenario as a file.");
  }
  return fragment;
}

/**
 * The state in a fragment; null if the fragment holds none.
 *
 * @throws {Error} with one line, if what it holds is broken
 */
export async function decode(fragment) {
  if (!fragment.startsWith("#s=")) return null;
  const broken = new Error("This link is damaged or cut off: what follows “#s=” cannot be read. Ask for it again.");
  if (fragment.length > LONGEST) throw broken;
  try {
    const text = atob(fragment.slice(3).replaceAll("-", "+").replaceAll("_", "/"));
    const bytes = Uint8Array.from(text, (letter) => letter.charCodeAt(0));
    const state = JSON.parse(new TextDecoder().decode(await through(new DecompressionStream("deflate-raw"), bytes)), (_, value) => {
      if (value === null) throw broken; // the page writes none
      return value;
    });
    if (!isScenario(state?.scenario)) throw broken;
    return state;
  } catch {
    throw broken;
  }
}

/** Whether the page can draw it; the engine says whether it can be run. */
export function isScenario(scenario) {
  const isTable = (of) => typeof of === "object" && of !== null && !Array.isArray(of);
  const isList = (of) => Array.isArray(of) && of.every(isTable);
  return isTable(scenario) && isList(scenario.link) && isList(scenario.flow) &&
    ["memory", "route"].every((name) => scenario[name] === undefined || isList(scenario[name])) &&
    (scenario.law === undefined || (isTable(scenario.law) && isList(Object.values(scenario.law)))) &&
    scenario.link.every((link) => typeof link.from === "string" && typeof link.to === "string");
}
