/** Preset networks: names of scenario files. */

import { words } from "./words.js";

/** Names and titles of the presets. */
export const PRESETS = Object.entries(words.preset.titles);

/**
 * Fetches the text of a preset.
 *
 * @param {string} name
 */
export async function preset(name) {
  const reply = await fetch(new URL(`presets/${name}.toml`, import.meta.url));
  if (!reply.ok) throw new Error(words.preset.failed(name, reply.status));
  return reply.text();
}
