/** Functions on scenarios, which have the structure of a scenario file. */

/** @import { Flow, Layout, Resolved, Scenario } from "./types.js" */

/**
 * Returns the names of the nodes, in the order of the links.
 *
 * @param {Scenario} scenario
 */
export function nodes(scenario) {
  return [...new Set(scenario.link.flatMap((link) => [link.from, link.to]))];
}

/**
 * Returns the names of all drawn nodes. Nodes without links exist only in the layout.
 *
 * @param {Scenario} scenario
 * @param {Layout} layout
 */
export function drawnNodes(scenario, layout) {
  return [...new Set([...nodes(scenario), ...Object.keys(layout)])];
}

/**
 * Returns true if a scenario has links and flows, so that it can run.
 *
 * @param {Scenario} scenario
 */
export function isComplete({ link, flow }) {
  return link.length > 0 && flow.length > 0;
}

/**
 * Replaces drop-tail queues by queues that mark packets: DualPI2 for TCP Prague, and RED for others.
 *
 * @param {Scenario} scenario
 * @param {string} law law that needs marks
 */
export function useMarks(scenario, law) {
  for (const link of scenario.link) {
    if ((link.queue ?? "drop_tail") === "drop_tail") link.queue = law === "prague" ? "dualpi2" : { red: { ecn: true } };
  }
}

/**
 * Returns an unused name: a letter and the smallest free number.
 *
 * @param {string[]} taken
 * @param {string} letter
 */
export function freeName(taken, letter) {
  let number = 1;
  while (taken.includes(`${letter}${number}`)) number += 1;
  return `${letter}${number}`;
}

/**
 * Returns the name of the law of a flow.
 *
 * @param {Flow} flow
 */
export function lawOf({ law }) {
  return typeof law === "object" ? Object.keys(law ?? {})[0] : law;
}

/**
 * Sets another law for a flow, without the parameters of the old law.
 *
 * @param {Flow} flow
 * @param {string} law
 */
export function setLaw(flow, law) {
  flow.law = law;
}

/**
 * Returns a copy of the scenario with this law for all flows. The copy is for a comparison.
 *
 * @param {Scenario} scenario
 * @param {string} law
 */
export function withLaw(scenario, law) {
  const other = structuredClone(scenario);
  for (const flow of other.flow) setLaw(flow, law);
  for (const link of other.link) {
    if (typeof link.law === "object") delete link.law;
    if (typeof link.reverse?.law === "object") delete link.reverse.law;
  }
  return other;
}

/**
 * Removes a node, its links, and the flows and routes that name a missing node.
 *
 * @param {Scenario} scenario
 * @param {string} node
 */
export function removeNode(scenario, node) {
  scenario.link = scenario.link.filter((link) => link.from !== node && link.to !== node);
  const left = new Set(nodes(scenario));
  /** @param {Flow} flow */
  const nodesOf = (flow) => [flow.from, flow.to, ...(flow.path ?? []), ...(flow.reverse_path ?? [])];
  scenario.flow = scenario.flow.filter((flow) => nodesOf(flow).every((name) => name === undefined || left.has(name)));
  if (scenario.route) {
    scenario.route = scenario.route.filter((hop) => [hop.at, hop.to, hop.via].every((name) => left.has(name)));
  }
}

/**
 * Returns the nodes of a flow's path, or its two ends if the path is unknown. Returns null for a flow without ends.
 *
 * @param {Flow} flow
 * @param {number} index
 * @param {Resolved | undefined} resolved network of the last run, which may lack the flow
 */
export function drawnPath(flow, index, resolved) {
  if (Array.isArray(flow.path) && flow.path.length > 1) return flow.path;
  const known = resolved?.flows[index];
  if (known && known.name === flow.name) {
    const links = new Map(resolved.links.map((link) => [link.name, link]));
    const hops = known.path.flatMap((name) => links.get(name) ?? []);
    const path = [hops[0].from, ...hops.map(({ to }) => to)];
    if (path[0] === flow.from && path.at(-1) === flow.to) return path;
  }
  return flow.from && flow.to && flow.from !== flow.to ? [flow.from, flow.to] : null;
}

const BARE = /^[A-Za-z0-9_-]+$/;

/** @param {string} name */
function key(name) {
  return BARE.test(name) ? name : JSON.stringify(name);
}

/**
 * Returns the text of a value.
 *
 * @param {unknown} of
 * @returns {string}
 */
function value(of) {
  if (Array.isArray(of)) return `[${of.map(value).join(", ")}]`;
  if (typeof of === "object" && of !== null) return Object.keys(of).length ? `{ ${rows(of).join(", ")} }` : "{}";
  if (typeof of === "string") return JSON.stringify(of).replaceAll("\u007f", "\\u007f");
  return String(of);
}

/**
 * Returns a line per key of a table.
 *
 * @param {object} table
 */
function rows(table) {
  return Object.entries(table).map(([name, inner]) => `${key(name)} = ${value(inner)}`);
}

/**
 * Returns the text of a scenario file.
 *
 * @param {Scenario} scenario
 */
export function toToml({ link, memory, route, flow, law, ...top }) {
  const lines = rows(top);
  for (const [name, parameters] of Object.entries(law ?? {})) lines.push("", `[law.${key(name)}]`, ...rows(parameters));
  for (const [list, entries] of Object.entries({ link, memory, route, flow })) {
    for (const entry of entries ?? []) lines.push("", `[[${list}]]`, ...rows(entry));
  }
  return `${lines.join("\n")}\n`;
}

/**
 * Returns the place in the scenario that an error line names: a list, an entry and a key.
 *
 * An error line begins like `link 1 (R1->R2), capacity: ...`, `law, jetmax: "taau" ...` or `duration: ...`.
 *
 * @param {string} line
 * @returns {{list: string, index: number, key: string | null, law?: string}}
 */
export function place(line) {
  const entry = /^(link|flow|route|memory) (\d+)(?: \((?:[^()]|\([^()]*\))*\))?(?:, ([\w ]+))?/.exec(line);
  if (entry) {
    const words = (entry[3] ?? "").trim();
    return { list: entry[1], index: Number(entry[2]) - 1, key: words || null };
  }
  const law = /^law, (\w+)(?:, (\w+))?/.exec(line);
  if (law) return { list: "law", law: law[1], index: 0, key: law[2] ?? null };
  const top = /^(name|duration|seed|sample|overhead|memory_limit|event_limit|description)\b/.exec(line);
  return { list: "top", index: 0, key: top ? top[1] : null };
}
