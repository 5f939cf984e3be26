/** Contents of saved files: the panels as SVG and PNG, the tables as CSV. */

import { NAMES_WIDTH, namesAtEnds } from "./names.js";
import { panels, peaksOf } from "./panels.js";
import { lawsOf } from "./series.js";
import { words } from "./words.js";

/**
 * @import { Line, Panel } from "./panels.js"
 * @import { Series } from "./series.js"
 * @import { Result } from "./types.js"
 */

const WIDTH = 860;
const LEFT = 76;
const RIGHT = NAMES_WIDTH;
const HEIGHTS = { rates: 200, queues: 130, drops: 100, signals: 110 };
/** Limit on the points of a line. More points are invisible at this width. */
const MAX_POINTS = 2000;
/** @type {{[letter: string]: string}} */
const ESCAPED = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" };

/** @param {string} text */
function escape(text) {
  return text.replace(/[&<>"]/g, (letter) => ESCAPED[letter]);
}

/**
 * Returns round numbers between two numbers.
 *
 * @param {number} low
 * @param {number} high
 * @param {number} about approximate number of ticks
 */
function ticks(low, high, about) {
  const rough = (high - low) / about || 1;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5].map((factor) => factor * power).find((step) => step >= rough * 0.999) ?? 10 * power;
  const found = [];
  for (let at = Math.ceil(low / step - 1e-9); at * step <= high * (1 + 1e-9); at += 1) found.push(Number((at * step).toPrecision(12)));
  return found;
}

/**
 * Returns a line as an SVG path, with gaps.
 *
 * @param {number[]} t
 * @param {Series} values
 * @param {(time: number) => number} x
 * @param {(value: number) => number} y
 */
function path(t, values, x, y) {
  const skip = Math.ceil(values.length / MAX_POINTS);
  let text = "";
  let pen = "M";
  for (let i = 0; i < values.length; i += skip) {
    const value = values[i];
    if (value === null) pen = "M";
    else {
      text += `${pen}${x(t[i]).toFixed(1)} ${y(value).toFixed(1)}`;
      pen = "L";
    }
  }
  return text;
}

/** @param {Line} line */
function dashesOf({ dash }) {
  return dash.length ? ` stroke-dasharray="${dash.join(" ")}"` : "";
}

/**
 * @param {Panel} panel
 * @param {number} top
 * @param {number} duration s
 * @param {boolean} last true for the panel with the labels of the time axis
 */
function panelSvg(panel, top, duration, last) {
  const height = HEIGHTS[panel.key];
  const numbers = panel.lines.flatMap((line) => line.values.filter((x) => x !== null));
  const low = panel.low === null ? numbers.reduce((a, b) => Math.min(a, b), 0) : panel.low ?? 0;
  const high = panel.high ?? (numbers.reduce((a, b) => Math.max(a, b), panel.low === null ? low : panel.most) || low + 1);
  /** @param {number} t */
  const x = (t) => LEFT + (t / duration) * (WIDTH - LEFT - RIGHT);
  /** @param {number} value */
  const y = (value) => top + height - ((value - low) / ((high - low) * 1.06)) * height;
  const title = panel.unit ? `${panel.title} (${panel.unit})` : panel.title;
  const rows = ticks(low, high, 4).map((at) => `<path class="grid" d="M${LEFT} ${y(at).toFixed(1)}H${WIDTH - RIGHT}"/>` +
    `<text x="${LEFT - 6}" y="${(y(at) + 4).toFixed(1)}" text-anchor="end">${at}</text>`);
  const columns = ticks(0, duration, 8).map((at) => `<path class="grid" d="M${x(at).toFixed(1)} ${top}V${top + height}"/>` +
    (last ? `<text x="${x(at).toFixed(1)}" y="${top + height + 16}" text-anchor="middle">${at}</text>` : ""));
  const lines = panel.lines.map((line) => `<path d="${path(panel.t, line.values, x, y)}" fill="none" stroke="${line.colour}" ` +
    `stroke-width="${line.width}"${dashesOf(line)}><title>${escape(line.name)}</title></path>`);
  const names = namesAtEnds(panel.lines, y, top + 4, top + height, 13).map((name) => `<text x="${WIDTH - RIGHT + 6}" y="${(name.y + 4).toFixed(1)}" ` +
    `style="fill:${name.colour}">${escape(name.text)}</text>`);
  return `<g><text class="title" x="${LEFT}" y="${top - 8}">${escape(title)}</text>${columns.join("")}${rows.join("")}${lines.join("")}${names.join("")}</g>`;
}

/**
 * Returns the names of all lines, and the height below them.
 *
 * @param {Panel[]} all
 * @param {number} top
 */
function legend(all, top) {
  /** @type {Map<string, Line>} */
  const named = new Map();
  for (const panel of all) for (const line of panel.lines) if (!line.quiet) named.set(line.name, line);
  let [x, y] = [LEFT, top];
  const parts = [];
  for (const line of named.values()) {
    const wide = 44 + line.name.length * 7.2;
    if (x + wide > WIDTH - RIGHT) [x, y] = [LEFT, y + 18];
    parts.push(`<path d="M${x} ${y - 4}h24" stroke="${line.colour}" stroke-width="2"${dashesOf(line)}/>` +
      `<text x="${x + 30}" y="${y}">${escape(line.name)}</text>`);
    x += wide;
  }
  return { names: parts.join(""), below: y };
}

/**
 * Draws the panels of a result. Returns the drawing and its height.
 *
 * @param {Result} result
 * @param {string} title
 * @param {Panel[]} all
 */
function column({ resolved }, title, all) {
  const { names, below } = legend(all, 52);
  let top = below + 36;
  const parts = all.map((panel, i) => {
    const part = panelSvg(panel, top, resolved.duration_s, i === all.length - 1);
    top += HEIGHTS[panel.key] + 40;
    return part;
  });
  const height = top + 10;
  const drawing = `<text class="title" x="${LEFT}" y="24" style="font-size:16px">${escape(title)}</text>${names}${parts.join("")}` +
    `<text x="${(LEFT + WIDTH - RIGHT) / 2}" y="${height - 8}" text-anchor="middle">${escape(words.plots.time)}</text>`;
  return { drawing, height };
}

/**
 * Returns the panels of results as an SVG file with a white background. Two compared results have equal axes.
 *
 * @param {Result[]} results
 * @param {string} title
 */
export function svg(results, title) {
  /** @type {{[panel: string]: number}} */
  const peaks = {};
  for (const result of results) {
    for (const [key, peak] of Object.entries(peaksOf(panels(result, false)))) peaks[key] = Math.max(peaks[key] ?? 0, peak);
  }
  const columns = results.map((result) => {
    const law = results.length > 1 ? `: ${lawsOf(result.resolved).join(", ")}` : "";
    return column(result, `${title}${law}`, panels(result, false, peaks).filter((panel) => panel.lines.length));
  });
  const [width, height] = [WIDTH * columns.length, Math.max(...columns.map((one) => one.height))];
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img" aria-label="${escape(title)}">` +
    `<style>text{font:12px system-ui,sans-serif;fill:#333}.title{font-weight:600}.grid{stroke:#ddd;fill:none}</style>` +
    `<rect width="100%" height="100%" fill="#fff"/>` +
    `${columns.map(({ drawing }, i) => `<g transform="translate(${i * WIDTH} 0)">${drawing}</g>`).join("")}</svg>\n`;
}

/**
 * Converts an SVG to a PNG of twice its size.
 *
 * @param {string} text
 * @returns {Promise<Blob>}
 */
export async function png(text) {
  const image = new Image();
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(text)}`;
  await image.decode();
  const canvas = document.createElement("canvas");
  canvas.width = image.naturalWidth * 2;
  canvas.height = image.naturalHeight * 2;
  canvas.getContext("2d")?.drawImage(image, 0, 0, canvas.width, canvas.height);
  return new Promise((resolve) => canvas.toBlob((blob) => resolve(/** @type {Blob} */ (blob)), "image/png"));
}

/** @param {string | number | bigint} value */
function cell(value) {
  const text = typeof value === "number" && Number.isNaN(value) ? "" : String(value);
  return /[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/**
 * Returns a table of a result as CSV, with the columns of the files of `levelflow run`.
 *
 * @param {Result} result
 * @param {"flows" | "links"} name
 */
export function csv({ resolved, tables }, name) {
  const { rows = 0, ...columns } = tables[name] ?? {};
  /** @type {{[column: string]: {name: string}[]}} */
  const entries = { flow: resolved.flows, link: resolved.links, bottleneck: resolved.links };
  const all = Object.entries(columns).map(([column, values]) => ({ values, named: entries[column] }));
  const lines = [Object.keys(columns).join(",")];
  for (let row = 0; row < rows; row += 1) {
    const cells = all.map(({ values, named }) => cell(named ? named[Number(values[row])]?.name ?? "" : values[row]));
    lines.push(cells.join(","));
  }
  return `${lines.join("\n")}\n`;
}

/**
 * Downloads a file in the browser.
 *
 * @param {string} name
 * @param {string | Blob} content
 * @param {string} [type]
 */
export function save(name, content, type) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(content instanceof Blob ? content : new Blob([content], { type }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}
