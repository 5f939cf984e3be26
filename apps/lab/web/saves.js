/** Files that the page saves: the scenario, its plots and its tables. */

import { toToml } from "./scenario.js";
import { csv, png, save, svg } from "./vector.js";

/** @import { Result, Scenario } from "./types.js" */

/** @param {Scenario} scenario */
const fileName = (scenario) => String(scenario.name || "scenario").replace(/[^\w.-]+/g, "-").slice(0, 80);

/**
 * Functions that save a file, by the id of their button.
 *
 * @type {{[id: string]: (scenario: Scenario, result: Result) => void}}
 */
export const SAVES = {
  "save-toml": (scenario) => save(`${fileName(scenario)}.toml`, toToml(scenario), "text/plain"),
  "save-svg": (scenario, result) => save(`${fileName(scenario)}.svg`, svg(result, scenario.name), "image/svg+xml"),
  "save-png": async (scenario, result) => save(`${fileName(scenario)}.png`, await png(svg(result, scenario.name))),
  "save-flows": (scenario, result) => save(`${fileName(scenario)}-flows.csv`, csv(result, "flows"), "text/csv"),
  "save-links": (scenario, result) => save(`${fileName(scenario)}-links.csv`, csv(result, "links"), "text/csv"),
};
