/** Files that the page saves: the scenario, its plots and its tables. */

import { toToml } from "./scenario.js";
import { lawsOf } from "./series.js";
import { csv, png, save, svg } from "./vector.js";

/** @import { Result, Scenario } from "./types.js" */

/** @param {Scenario} scenario */
const fileName = (scenario) => String(scenario.name || "scenario").replace(/[^\w.-]+/g, "-").slice(0, 80);

/**
 * Saves a table of each result. Names of files contain the laws of compared results.
 *
 * @param {Scenario} scenario
 * @param {Result[]} results
 * @param {"flows" | "links"} table
 */
function saveTables(scenario, results, table) {
  for (const result of results) {
    const law = results.length > 1 ? `-${lawsOf(result.resolved).join("-")}` : "";
    save(`${fileName(scenario)}${law}-${table}.csv`, csv(result, table), "text/csv");
  }
}

/**
 * Functions that save a file, by the id of their button. The results are the run, and the run of the second law.
 *
 * @type {{[id: string]: (scenario: Scenario, results: Result[]) => void}}
 */
export const SAVES = {
  "save-toml": (scenario) => save(`${fileName(scenario)}.toml`, toToml(scenario), "text/plain"),
  "save-svg": (scenario, results) => save(`${fileName(scenario)}.svg`, svg(results, scenario.name), "image/svg+xml"),
  "save-png": async (scenario, results) => save(`${fileName(scenario)}.png`, await png(svg(results, scenario.name))),
  "save-flows": (scenario, results) => saveTables(scenario, results, "flows"),
  "save-links": (scenario, results) => saveTables(scenario, results, "links"),
};
