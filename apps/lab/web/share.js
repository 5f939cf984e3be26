/** State of the page in the fragment of a URL: JSON, deflated, in base64url. Browsers never send fragments. */

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
 * Encodes a state as a fragment.
 *
 * @throws {Error} with one line, if the fragment is too long to be opened
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
 * Decodes the state in a fragment; returns null if the fragment has no state.
 *
 * @throws {Error} with one line, if the fragment is damaged
 */
export async function decode(fragment) {
  if (!fragment.startsWith("#s=")) return null;
  const broken = new Error("This link is damaged or cut off: the text after “#s=” cannot be read. Copy it again.");
  if (fragment.length > LONGEST) throw broken;
  try {
    const text = atob(fragment.slice(3).replaceAll("-", "+").replaceAll("_", "/"));
    const bytes = Uint8Array.from(text, (letter) => letter.charCodeAt(0));
    const state = JSON.parse(new TextDecoder().decode(await through(new DecompressionStream("deflate-raw"), bytes)), (_, value) => {
      if (value === null) throw broken; // the page never writes null
      return value;
    });
    if (!isScenario(state?.scenario)) throw broken;
    return state;
  } catch {
    throw broken;
  }
}

/** Returns true if the page can draw a scenario. The engine makes all other checks. */
export function isScenario(scenario) {
  const isTable = (of) => typeof of === "object" && of !== null && !Array.isArray(of);
  const isList = (of) => Array.isArray(of) && of.every(isTable);
  return isTable(scenario) && isList(scenario.link) && isList(scenario.flow) &&
    ["memory", "route"].every((name) => scenario[name] === undefined || isList(scenario[name])) &&
    (scenario.law === undefined || (isTable(scenario.law) && isList(Object.values(scenario.law)))) &&
    scenario.link.every((link) => typeof link.from === "string" && typeof link.to === "string");
}
