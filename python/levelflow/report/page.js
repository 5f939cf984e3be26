"use strict";
const HIGH = 1000, WIDE = 10000;
const figures = [...document.querySelectorAll("figure.time")].map((figure) => ({
  figure,
  svg: figure.querySelector(".box > svg"),
  box: figure.querySelector(".box"),
  ticks: figure.querySelector(".x"),
  left: figure.querySelector(".y"),
  right: figure.querySelector(".y.right"),
  grid: figure.querySelector(".grid"),
  top: +figure.dataset.top,
  bytes: +figure.dataset.bytes,
  unit: figure.dataset.unit,
  end: +figure.dataset.end,
  curves: null,
}));
const form = document.querySelector(".controls");
const spoken = document.querySelector(".spoken");
let from = 0, to = WIDE, cursor = null, drag = null;

/** Returns the points of each curve; they are parsed from the SVG path on first use. */
function curves(plot) {
  plot.curves ??= [...plot.svg.querySelectorAll("path.curve")].map((path, i) => {
    const parts = path.getAttribute("d").split("M").filter(Boolean);
    const points = parts.map((part) => part.trim().split(" ").map((pair) => pair.split(",").map(Number)));
    const item = plot.figure.querySelectorAll(".legend li[data-name]")[i];
    return { parts: points, output: item.querySelector("output"), name: item.firstElementChild.nextSibling.textContent };
  });
  return plot.curves;
}

/** Returns the value of a curve at its nearest point; null in a gap. */
function at(parts, x, reach) {
  let best = null, near = reach;
  for (const part of parts) {
    if (x < part[0][0] - reach || x > part[part.length - 1][0] + reach) continue;
    let low = 0, high = part.length - 1;
    while (high - low > 1) {
      const middle = (low + high) >> 1;
      if (part[middle][0] <= x) low = middle; else high = middle;
    }
    for (const point of [part[low], part[high]]) {
      const away = Math.abs(point[0] - x);
      const inside = x >= part[0][0] && x <= part[part.length - 1][0];
      if (inside ? best === null || away < near : away <= near) [best, near] = [point[point.length - 1], away];
    }
  }
  return best;
}

function short(value) {
  return value === 0 ? "0" : Number(value.toPrecision(3)).toString();
}

function show(x) {
  cursor = x;
  form.at.textContent = x === null ? "" : `at ${((x / WIDE) * figures[0].end).toPrecision(4)} s`;
  for (const plot of figures) {
    let line = plot.box.querySelector(".cursor");
    if (x === null || x < from || x > to) line?.remove();
    else {
      if (!line) {
        line = plot.box.appendChild(document.createElement("div"));
        line.className = "cursor";
      }
      line.style.left = `${(100 * (x - from)) / (to - from)}%`;
    }
    for (const curve of curves(plot)) {
      const y = x === null ? null : at(curve.parts, x, WIDE / 120);
      curve.output.textContent = y === null ? "" : `${short((1 - y / HIGH) * plot.top)} ${plot.unit}`;
    }
  }
}

function say() {
  if (cursor === null) return;
  const words = figures.flatMap((plot) => curves(plot).map((curve) => `${curve.name} ${curve.output.textContent || "none"}`));
  spoken.textContent = `${short((cursor / WIDE) * figures[0].end)} s: ${words.join(", ")}`;
}

/** Returns round numbers between `low` and `high`, about `most` of them. */
function nice(low, high, most) {
  const rough = (high - low) / most;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = power * [1, 2, 5, 10].find((factor) => power * factor >= rough * (1 - 1e-9));
  const found = [];
  for (let n = Math.ceil(low / step - 1e-9); n * step <= high * (1 + 1e-9); n += 1) found.push(Number((n * step).toPrecision(9)));
  return found;
}

/** Places numbers along an axis; `side` is the edge from which positions are measured. */
function number(axis, side, ticks) {
  axis.replaceChildren(...ticks.map(([share, text]) => {
    const span = document.createElement("span");
    span.textContent = text;
    span.style[side] = `${100 * share}%`;
    return span;
  }));
}

/** Returns the fraction of a plot's height that the curves need in the visible time range. */
function height(plot) {
  if (from === 0 && to === WIDE) return 1;
  let least = HIGH;
  for (const { parts } of curves(plot)) for (const part of parts) for (const point of part) {
    if (point[0] >= from && point[0] <= to) least = Math.min(least, point[point.length - 1]);
  }
  return least < HIGH ? Math.min(1, 1.05 * (1 - least / HIGH)) : 1;
}

function along(plot) {
  const [low, high] = [from, to].map((x) => (x / WIDE) * plot.end);
  const times = nice(low, high, plot.box.clientWidth < 420 ? 5 : 8);
  number(plot.ticks, "left", times.map((tick) => [(tick - low) / (high - low), tick]));
}

function upwards(plot, share) {
  const top = plot.top * share;
  const values = nice(0, top, 5);
  number(plot.left, "bottom", values.map((tick) => [tick / top, tick]));
  plot.grid.setAttribute("d", values.map((tick) => `M0 ${HIGH * (1 - tick / plot.top)}H${WIDE}`).join(""));
  if (!plot.right) return;
  const most = top * plot.bytes;
  const [unit, size] = [["GB", 1e9], ["MB", 1e6], ["kB", 1e3]].find(([, size]) => most >= size) ?? ["B", 1];
  const sizes = nice(0, most / size, 5);
  number(plot.right, "bottom", sizes.map((tick, i) => [(tick * size) / most, i === sizes.length - 1 ? `${tick} ${unit}` : tick]));
}

function zoom(a, b) {
  const least = 20;
  from = Math.max(0, Math.min(a, b));
  to = Math.min(WIDE, Math.max(a, b, from + least));
  from = Math.max(0, Math.min(from, to - least));
  form.whole.disabled = from === 0 && to === WIDE;
  for (const plot of figures) {
    const share = height(plot);
    plot.svg.setAttribute("viewBox", `${from} ${HIGH * (1 - share)} ${to - from} ${HIGH * share}`);
    along(plot);
    upwards(plot, share);
  }
  show(cursor);
}

function pick(name) {
  const chosen = [...form.flow.options].findIndex((option) => option.value === name) - 1;
  for (const { figure } of figures) {
    const own = [...figure.querySelectorAll("[data-name]")].filter((part) => part.dataset.name === name);
    const isOfFlows = figure.dataset.of === "flows";
    figure.classList.toggle("picked", Boolean(name) && isOfFlows);
    for (const part of figure.querySelectorAll("[data-name].on")) part.classList.remove("on");
    if (isOfFlows) own.forEach((part) => part.classList.add("on"));
  }
  const map = document.querySelector(".map");
  map?.classList.toggle("picked", Boolean(name));
  for (const line of map?.querySelectorAll("g") ?? []) line.classList.toggle("on", line.dataset.flows.split(" ").includes(String(chosen)));
}

function place(plot, event) {
  const { left, width } = plot.svg.getBoundingClientRect();
  const share = Math.min(1, Math.max(0, (event.clientX - left) / width));
  return from + share * (to - from);
}

function mark(plot) {
  plot.box.querySelector(".range")?.remove();
  if (!drag || drag.plot !== plot) return;
  const range = plot.box.appendChild(document.createElement("div"));
  range.className = "range";
  const [low, high] = [Math.min(drag.x, cursor), Math.max(drag.x, cursor)].map((x) => (100 * (x - from)) / (to - from));
  range.style.left = `${low}%`;
  range.style.width = `${high - low}%`;
}

const KEYS = {
  ArrowLeft: () => show(Math.max(from, (cursor ?? to) - (to - from) / 100)),
  ArrowRight: () => show(Math.min(to, (cursor ?? from) + (to - from) / 100)),
  "+": () => { const x = cursor ?? (from + to) / 2, half = (to - from) / 4; zoom(x - half, x + half); },
  "-": () => { const x = (from + to) / 2, half = to - from; zoom(x - half, x + half); },
  Escape: () => { zoom(0, WIDE); show(null); },
};

for (const plot of figures) {
  plot.svg.tabIndex = 0;
  plot.svg.addEventListener("pointermove", (event) => { show(place(plot, event)); mark(plot); });
  plot.svg.addEventListener("pointerleave", () => { if (!drag) show(null); });
  plot.svg.addEventListener("pointerdown", (event) => {
    if (event.button) return;
    drag = { plot, x: place(plot, event) };
    if (event.pointerType === "mouse") plot.svg.setPointerCapture(event.pointerId);
  });
  plot.svg.addEventListener("pointerup", (event) => {
    const began = drag;
    drag = null;
    mark(plot);
    if (began && Math.abs(began.x - place(plot, event)) > (to - from) / 100) zoom(began.x, place(plot, event));
  });
  plot.svg.addEventListener("pointercancel", () => { drag = null; mark(plot); });
  plot.svg.addEventListener("dblclick", () => zoom(0, WIDE));
  plot.svg.addEventListener("keydown", (event) => {
    if (!KEYS[event.key] || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    KEYS[event.key]();
    say();
  });
}
if (form && figures.length) {
  form.hidden = false;
  form.flow.addEventListener("change", () => pick(form.flow.value));
  form.whole.addEventListener("click", () => zoom(0, WIDE));
  form.addEventListener("submit", (event) => event.preventDefault());
  zoom(0, WIDE);
  addEventListener("resize", () => zoom(from, to));
  addEventListener("beforeprint", () => { show(null); document.querySelectorAll("details").forEach((part) => { part.open = true; }); });
}
