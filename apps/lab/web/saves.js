/* Files that the page saves: the scenario, its picture and its tables. */

import { toToml } from "./scenario.js";
import { csv, png, save, svg } from "./vector.js";

const named = (scenario) => String(scenario.name || "scenario").replace(/[^\w.-]+/g, "-").slice(0, 80);

/** Functions of a scenario and its result, by the id of their button. */
export const SAVES = {
  "save-toml": (scenario) => save(`${named(scenario)}.toml`, toToml(scenario), "text/plain"),
  "save-svg": (scenario, result) => save(`${named(scenario)}.svg`, svg(result, scenario.name), "image/svg+xml"),
  "save-png": async (scenario, result) => save(`${named(scenario)}.png`, await png(svg(result, scenario.name))),
  "save-flows": (scenario, result) => save(`${named(scenario)}-flows.csv`, csv(result, "flows"), "text/csv"),
  "save-links": (scenario, result) => save(`${named(scenario)}-links.csv`, csv(result, "links"), "text/csv"),
};
