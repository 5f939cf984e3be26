// Prints max-min fair rates. Each line of standard input is a network in JSON: room, routes, counts.
import { readFileSync } from "node:fs";
import { maxmin } from "../web/fair.js";

for (const line of readFileSync(0, "utf8").split("\n").filter(Boolean)) {
  const { room, routes, counts } = JSON.parse(line);
  console.log(JSON.stringify(maxmin(room, routes, counts)));
}
