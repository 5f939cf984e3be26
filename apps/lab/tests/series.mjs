// Prints the plotted series of stored results. Each line of standard input is a result in the JSON of `levelflow lab
// --open`.
import { readFileSync } from "node:fs";
import { flows, links } from "../web/series.js";

function table(columns) {
  const arrays = Object.entries(columns).map(([name, values]) => [name, Float64Array.from(values, (x) => x ?? NaN)]);
  return { rows: columns.t.length, ...Object.fromEntries(arrays) };
}

for (const line of readFileSync(0, "utf8").split("\n").filter(Boolean)) {
  const { resolved, tables } = JSON.parse(line);
  const result = { resolved, tables: Object.fromEntries(Object.entries(tables).map(([name, columns]) => [name, table(columns)])) };
  const fair = flows(result).entries.map((entry) => [entry.name, entry.fair]);
  const wait = links(result).links.map((link) => [link.name, link.wait]);
  console.log(JSON.stringify({ fair: Object.fromEntries(fair), wait: Object.fromEntries(wait) }));
}
