/** Pictures and tables for files: the panels as SVG and PNG, the columns as CSV. */

import { panels } from "./panels.js";

const WIDTH = 860;
const LEFT = 76;
const RIGHT = 16;
const HEIGHTS = { rates: 200, queues: 130, drops: 100, signals: 110 };
const MOST_POINTS = 2000; // points per line; more are invisible at this width

function escape(text) {
  return String(text).replace(/[&<>"]/g, (letter) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" })[letter]);
}

/** Returns a few round numbers between `low` and `high`. */
export function ticks(low, high, about) {
  const rough = (high - low) / about || 1;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((of) => of * power).find((of) => of >= rough * 0.999);
  const found = [];
  for (let at = Math.ceil(low / step - 1e-9); at * step <= high * (1 + 1e-9); at += 1) found.push(Number((at * step).toPrecision(12)));
  return found;
}

/** Returns the segments of a line between gaps, as paths. */
function path(t, values, x, y) {
  const skip = Math.ceil(values.length / MOST_POINTS);
  let text = "";
  let pen = "M";
  for (let i = 0; i < values.length; i += skip) {
    if (values[i] === null) pen = "M";
    else {
      text += `${pen}${x(t[i]).toFixed(1)} ${y(values[i]).toFixed(1)}`;
      pen = "L";
    }
  }
  return text;
}

function panelSvg(panel, top, duration, last) {
  const height = HEIGHTS[panel.key];
  const numbers = panel.lines.flatMap((line) => line.values.filter((x) => x !== null));
  const low = panel.low === null ? numbers.reduce((a, b) => Math.min(a, b), 0) : panel.low ?? 0;
  const high = panel.high ?? (numbers.reduce((a, b) => Math.max(a, b), low) || low + 1);
  const x = (t) => LEFT + (t / duration) * (WIDTH - LEFT - RIGHT);
  const y = (value) => top + height - ((value - low) / ((high - low) * 1.06)) * height;
  const title = panel.unit ? `${panel.title} (${panel.unit})` : panel.title;
  const rows = ticks(low, high, 4).map((at) => `<path class="grid" d="M${LEFT} ${y(at).toFixed(1)}H${WIDTH - RIGHT}"/>` +
    `<text x="${LEFT - 6}" y="${(y(at) + 4).toFixed(1)}" text-anchor="end">${at}</text>`);
  const columns = ticks(0, duration, 8).map((at) => `<path class="grid" d="M${x(at).toFixed(1)} ${top}V${top + height}"/>` +
    (last ? `<text x="${x(at).toFixed(1)}" y="${top + height + 16}" text-anchor="middle">${at}</text>` : ""));
  const lines = panel.lines.map((line) => `<path d="${path(panel.t, line.values, x, y)}" fill="none" stroke="${line.colour}" ` +
    `stroke-width="${line.width}"${line.dash.length ? ` stroke-dasharray="${line.dash.join(" ")}"` : ""}><title>${escape(line.name)}</title></path>`);
  return `<g><text class="title" x="${LEFT}" y="${top - 8}">${escape(title)}</text>${columns.join("")}${rows.join("")}${lines.join("")}</g>`;
}

function legend(all, top) {
  const named = new Map();
  for (const panel of all) for (const line of panel.lines) if (!line.quiet) named.set(line.name, line);
  let [x, y] = [LEFT, top];
  const parts = [];
  for (const line of named.values()) {
    const wide = 44 + line.name.length * 7.2;
    if (x + wide > WIDTH - RIGHT) [x, y] = [LEFT, y + 18];
    parts.push(`<path d="M${x} ${y - 4}h24" stroke="${line.colour}" stroke-width="2"${line.dash.length ? ` stroke-dasharray="${line.dash.join(" ")}"` : ""}/>` +
      `<text x="${x + 30}" y="${y}">${escape(line.name)}</text>`);
    x += wide;
  }
  return [parts.join(""), y];
}

/** Returns the panels of a result as a standalone SVG on white. */
export function svg(result, title) {
  const all = panels(result, false).filter((panel) => panel.lines.length);
  const [names, below] = legend(all, 52);
  let top = below + 36;
  const parts = all.map((panel, i) => {
    const part = panelSvg(panel, top, result.resolved.duration_s, i === all.length - 1);
    top += HEIGHTS[panel.key] + 40;
    return part;
  });
  const height = top + 10;
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" width="${WIDTH}" height="${height}" role="img" aria-label="${escape(title)}">` +
    `<style>text{font:12px system-ui,sans-serif;fill:#333}.title{font-weight:600}.grid{stroke:#ddd;fill:none}</style>` +
    `<rect width="100%" height="100%" fill="#fff"/><text class="title" x="${LEFT}" y="24" style="font-size:16px">${escape(title)}</text>` +
    `${names}${parts.join("")}<text x="${(LEFT + WIDTH - RIGHT) / 2}" y="${height - 8}" text-anchor="middle">time (s)</text></svg>\n`;
}

/** Converts an SVG to a PNG of twice its size. */
export async function png(text) {
  const image = new Image();
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(text)}`;
  await image.decode();
  const canvas = document.createElement("canvas");
  canvas.width = image.naturalWidth * 2;
  canvas.height = image.naturalHeight * 2;
  canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
  return new Promise((resolve) => canvas.toBlob(resolve, "image/png"));
}

function cell(value) {
  const text = typeof value === "number" && Number.isNaN(value) ? "" : String(value);
  return /[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/** Returns a table of a result; flows and links have their names, as in the files of `levelflow run`. */
export function csv(result, name) {
  const { rows, ...columns } = result.tables[name];
  const names = Object.keys(columns);
  const entries = name === "links" ? result.resolved.links : result.resolved.flows;
  const of = name === "links" ? "link" : "flow";
  const limits = (index) => result.resolved.links[index]?.name ?? "";
  const lines = [names.join(",")];
  for (let row = 0; row < rows; row += 1) {
    lines.push(names.map((column) => {
      const value = columns[column][row];
      return cell(column === of ? entries[value].name : column === "bottleneck" ? limits(value) : value);
    }).join(","));
  }
  return `${lines.join("\n")}\n`;
}

/** Downloads a file in the browser. */
export function save(name, content, type) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(content instanceof Blob ? content : new Blob([content], { type }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}
