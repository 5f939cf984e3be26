/** Preset networks: names of scenario files, and titles. */
export const PRESETS = [
  ["pair", "Pair: two TCP flows"],
  ["t1", "T1: a short and a long path"],
  ["t2", "T2: 99 short flows, one long"],
  ["t3", "T3: delayed ACKs"],
  ["t4", "T4: a square of routers"],
  ["t5", "T5: fifty flows join"],
  ["dumbbell", "Dumbbell"],
  ["parking-lot", "Parking lot"],
];

/**
 * Fetches the text of a preset.
 *
 * @param {string} name
 */
export async function preset(name) {
  const reply = await fetch(new URL(`presets/${name}.toml`, import.meta.url));
  if (!reply.ok) throw new Error(`The network “${name}” cannot be loaded (${reply.status}).`);
  return reply.text();
}
