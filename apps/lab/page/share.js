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

/** The fragment for a state. */
export async function encode(state) {
  const bytes = await through(new CompressionStream("deflate-raw"), new TextEncoder().encode(JSON.stringify(state)));
  const text = Array.from(bytes, (byte) => String.fromCharCode(byte)).join("");
  return `#s=${btoa(text).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "")}`;
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
    const state = JSON.parse(new TextDecoder().decode(await through(new DecompressionStream("deflate-raw"), bytes)));
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
    scenario.link.every((link) => typeof link.from === "string" && typeof link.to === "string");
}
