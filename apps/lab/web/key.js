/** Explanation of the symbols in the drawing. */

import { element, shape } from "./dom.js";
import { words } from "./words.js";

/** Returns the symbols with their meanings, as items of a list. */
export function symbols() {
  const parts = {
    data: [shape("circle", { cx: 8, cy: 6, r: 3.6, class: "full" })],
    ack: [shape("circle", { cx: 8, cy: 6, r: 2.5, class: "ring" })],
    queue: [shape("rect", { x: 0.5, y: 1.5, width: 15, height: 9, class: "frame" }), shape("rect", { x: 1.5, y: 2.5, width: 8, height: 7, class: "full" })],
    drop: [shape("path", { d: "M4 2l8 8M12 2l-8 8", class: "cross" })],
  };
  return Object.entries(parts).map(([name, drawn]) => element("li", {},
    shape("svg", { viewBox: "0 0 16 12", width: 16, height: 12, "aria-hidden": "true" }, ...drawn),
    words.key[/** @type {keyof typeof parts} */ (name)]));
}
