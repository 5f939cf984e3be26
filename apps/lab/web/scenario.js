/** Scenarios as the page edits them, with the structure of a scenario file. */

/** Returns the names of the nodes, in the order in which links name them. */
export function nodes(scenario) {
  return [...new Set(scenario.link.flatMap((link) => [link.from, link.to]))];
}

/** Returns an unused name: a letter and the smallest free number. */
export function freeName(taken, letter) {
  let number = 1;
  while (taken.includes(`${letter}${number}`)) number += 1;
  return `${letter}${number}`;
}

/** Returns the name of the law of a flow. */
export function lawOf(flow) {
  return typeof flow.law === "object" && flow.law !== null ? Object.keys(flow.law)[0] : flow.law;
}

/** Sets another law for a flow, without the parameters of the old law. */
export function setLaw(flow, law) {
  flow.law = law;
}

/** Returns the scenario with one law for all flows, for a comparison. */
export function withLaw(scenario, law) {
  const other = structuredClone(scenario);
  for (const flow of other.flow) setLaw(flow, law);
  for (const link of other.link) {
    if (typeof link.law === "object") delete link.law;
    if (typeof link.reverse?.law === "object") delete link.reverse.law;
  }
  return other;
}

/** Removes a node, the links that end there, and flows without a path. */
export function removeNode(scenario, node) {
  scenario.link = scenario.link.filter((link) => link.from !== node && link.to !== node);
  const there = new Set(nodes(scenario));
  const lies = (flow) => [flow.from, flow.to, ...(flow.path ?? []), ...(flow.reverse_path ?? [])];
  scenario.flow = scenario.flow.filter((flow) => lies(flow).every((name) => name === undefined || there.has(name)));
  if (scenario.route) {
    scenario.route = scenario.route.filter((hop) => [hop.at, hop.to, hop.via].every((name) => there.has(name)));
  }
}

const BARE = /^[A-Za-z0-9_-]+$/;

function key(name) {
  return BARE.test(name) ? name : JSON.stringify(name);
}

function value(of) {
  if (Array.isArray(of)) return `[${of.map(value).join(", ")}]`;
  if (typeof of === "object") {
    const rows = Object.entries(of).map(([name, inner]) => `${key(name)} = ${value(inner)}`);
    return rows.length ? `{ ${rows.join(", ")} }` : "{}";
  }
  if (typeof of === "string") return JSON.stringify(of).replaceAll("\u007f", "\\u007f");
  return String(of);
}

/** Returns the text of a scenario file. */
export function toToml(scenario) {
  const lists = ["link", "memory", "route", "flow"];
  const lines = [];
  for (const [name, of] of Object.entries(scenario)) {
    if (!lists.includes(name) && name !== "law") lines.push(`${key(name)} = ${value(of)}`);
  }
  for (const [law, parameters] of Object.entries(scenario.law ?? {})) {
    lines.push("", `[law.${key(law)}]`);
    for (const [name, of] of Object.entries(parameters)) lines.push(`${key(name)} = ${value(of)}`);
  }
  for (const list of lists) {
    for (const entry of scenario[list] ?? []) {
      lines.push("", `[[${list}]]`);
      for (const [name, of] of Object.entries(entry)) lines.push(`${key(name)} = ${value(of)}`);
    }
  }
  return `${lines.join("\n")}\n`;
}

/**
 * Returns the field that a mistake refers to: the list, the index of the entry and the key, if the error line names
 * them.
 *
 * An error line begins like `link 1 (R1->R2), capacity: ...`, `law, jetmax: "taau" ...` or `duration: ...`.
 */
export function place(line) {
  const entry = /^(link|flow|route|memory) (\d+)(?: \((?:[^()]|\([^()]*\))*\))?(?:, ([\w ]+))?/.exec(line);
  if (entry) {
    const words = (entry[3] ?? "").trim();
    return { list: entry[1], index: Number(entry[2]) - 1, key: words || null };
  }
  const law = /^law, (\w+)(?:, (\w+))?/.exec(line);
  if (law) return { list: "law", law: law[1], key: law[2] ?? null };
  const top = /^(name|duration|seed|sample|overhead|memory_limit|description)\b/.exec(line);
  return { list: "top", index: 0, key: top ? top[1] : null };
}
