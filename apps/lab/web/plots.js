/** Plots on the screen, with uPlot: panels in one column, with one time axis. */

import uPlot from "uplot";
import { element } from "./dom.js";
import { NAMES_WIDTH, namesAtEnds } from "./names.js";
import { words } from "./words.js";

/** @import { Panel } from "./panels.js" */

/**
 * Plot in the page. A change of `key` requires a new plot.
 *
 * @typedef {{figure: HTMLElement, key: string, panel: Panel, plot?: uPlot, now: HTMLElement, tip: HTMLElement}} Built
 */

/** Heights of the panels, pixels. */
const HEIGHTS = { rates: 220, queues: 150, drops: 110, signals: 120 };

/** @param {string} name */
function css(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

/** Line style that keeps a value until the next sample. */
const steps = uPlot.paths.stepped?.({ align: -1 });

/**
 * Returns the options of a plot.
 *
 * @param {Panel} panel
 * @param {number} width
 * @param {boolean} last true for the panel with the labels of the time axis
 * @returns {Omit<uPlot.Options, "scales">}
 */
function options(panel, width, last) {
  const grid = { stroke: css("--grid"), width: 1 };
  const axis = { stroke: css("--quiet"), font: "12px system-ui, sans-serif", grid, ticks: grid };
  return {
    width,
    height: HEIGHTS[panel.key] + (last ? 30 : 14),
    padding: [8, NAMES_WIDTH, 0, 0],
    legend: { show: false },
    cursor: { drag: { x: false, y: false }, sync: { key: "lab" }, points: { size: 6 } },
    axes: [
      { ...axis, size: last ? 40 : 24, label: last ? words.plots.time : undefined, labelSize: 16, labelFont: axis.font,
        values: (_, ticks) => ticks.map(String) },
      { ...axis, size: 62, values: (_, ticks) => ticks.map((x) => `${Number(x.toPrecision(6))}`) },
    ],
    series: [
      {},
      ...panel.lines.map((line) => ({
        label: line.name, stroke: line.colour, width: line.width, dash: line.dash, points: { show: false },
        paths: line.step ? steps : undefined,
      })),
    ],
  };
}

/**
 * Returns the range of a vertical axis: from 0 or a negative value to a little above the largest value.
 *
 * @param {number | null} low smallest value
 * @param {number | null} high largest value
 * @param {Panel} panel
 * @returns {[number, number]}
 */
function rangeOf(low, high, panel) {
  if (low === null || high === null) return [0, 1];
  if (panel.high !== undefined) return [panel.low ?? 0, panel.high];
  const floor = panel.low === null ? Math.min(low, 0) : 0;
  const top = panel.low === null ? high : Math.max(high, panel.most);
  if (top <= floor) return [floor, floor + 1];
  return [floor, top + (top - floor) * 0.06];
}

/**
 * Draws the names of the lines to the right of a plot.
 *
 * @param {uPlot} plot
 * @param {Panel} panel
 */
function drawNames(plot, panel) {
  const { ctx, bbox } = plot;
  const pixel = devicePixelRatio;
  ctx.save();
  ctx.font = `${12 * pixel}px system-ui, sans-serif`;
  ctx.textAlign = "left";
  ctx.textBaseline = "middle";
  const y = (/** @type {number} */ value) => plot.valToPos(value, "y", true);
  for (const name of namesAtEnds(panel.lines, y, bbox.top + 6 * pixel, bbox.top + bbox.height - 6 * pixel, 13 * pixel)) {
    ctx.fillStyle = name.colour;
    ctx.fillText(name.text, bbox.left + bbox.width + 6 * pixel, name.y);
  }
  ctx.restore();
}

/** @param {Panel} panel */
function dataOf({ t, lines }) {
  return /** @type {uPlot.AlignedData} */ ([t, ...lines.map((line) => line.values)]);
}

/**
 * Describes a panel in words, with the last value of each line.
 *
 * @param {Panel} panel
 */
function inWords({ title, lines, textOf }) {
  const visible = lines.filter((line) => !line.quiet);
  const ends = visible.map(({ name, values }) => words.plots.endsAt(name, textOf(values.findLast((x) => x !== null))));
  return [title, ...ends].join("; ");
}

/** Panels of one of the compared results. */
export class Plots {
  /** @type {Map<string, Built>} */
  #plots = new Map();
  #duration = 1;
  #time = 0;

  /**
   * @param {HTMLElement} place
   * @param {(time: number) => void} choose receives the time that the user selects
   */
  constructor(place, choose) {
    this.place = place;
    this.choose = choose;
    new ResizeObserver(() => this.#fit()).observe(place);
  }

  /**
   * Shows panels. Updates existing plots where possible.
   *
   * @param {Panel[]} panels
   * @param {number} duration s
   */
  show(panels, duration) {
    this.#duration = duration;
    if (this.#plots.size && [...this.#plots.keys()].join() !== panels.map(({ key }) => key).join()) this.clear();
    const last = panels.filter((panel) => panel.lines.length).at(-1)?.key;
    for (const panel of panels) {
      const key = JSON.stringify([panel.lines.map((line) => [line.name, line.colour]), css("--grid"), panel.key === last]);
      let built = this.#plots.get(panel.key);
      if (built?.key !== key) {
        built?.plot?.destroy();
        built = this.#build(built?.figure ?? this.#figure(panel), panel, key, panel.key === last);
        this.#plots.set(panel.key, built);
      }
      const { figure, plot } = built;
      const title = panel.unit ? `${panel.title} (${panel.unit})` : panel.title;
      figure.firstElementChild?.replaceChildren(title);
      figure.classList.toggle("empty", panel.lines.length === 0);
      figure.setAttribute("aria-label", inWords(panel));
      built.panel = panel;
      plot?.setData(dataOf(panel));
    }
    this.mark(this.#time);
  }

  /** @param {Panel} panel */
  #figure(panel) {
    const figure = element("figure", { class: `plot ${panel.key}`, role: "group" }, element("figcaption"), element("div"));
    this.place.append(figure);
    return figure;
  }

  /**
   * @param {HTMLElement} figure
   * @param {Panel} panel
   * @param {string} key
   * @param {boolean} last true for the panel with the labels of the time axis
   */
  #build(figure, panel, key, last) {
    const box = /** @type {HTMLElement} */ (figure.lastElementChild);
    box.replaceChildren();
    /** @type {Built} */
    const built = { figure, key, panel, now: element("div", { class: "now" }), tip: element("div", { class: "tip" }) };
    const plot = new uPlot({
      ...options(panel, this.#width(), last),
      scales: {
        x: { time: false, range: () => [0, this.#duration] },
        y: { range: (_, low, high) => rangeOf(low, high, built.panel) },
      },
      hooks: { draw: [() => this.#place(built), (self) => drawNames(self, built.panel)] }, // the time axis exists from the first drawing on
    }, dataOf(panel), box);
    plot.over.append(built.now, built.tip);
    built.plot = plot;
    this.#listen(built, plot);
    return built;
  }

  /**
   * Handles the pointer over a plot: it selects a time and shows values.
   *
   * @param {Built} built
   * @param {uPlot} plot
   */
  #listen(built, plot) {
    /** @param {PointerEvent} event */
    const point = (event) => {
      const box = plot.over.getBoundingClientRect();
      this.choose(Math.min(Math.max(plot.posToVal(event.clientX - box.left, "x"), 0), this.#duration));
    };
    plot.over.addEventListener("pointerdown", (event) => {
      plot.over.setPointerCapture(event.pointerId);
      point(event);
    });
    plot.over.addEventListener("pointermove", (event) => {
      if (event.buttons & 1) point(event);
      this.#showValues(built, plot, event);
    });
    plot.over.addEventListener("pointerleave", () => built.tip.replaceChildren());
  }

  /**
   * Shows the values at the pointer.
   *
   * @param {Built} built
   * @param {uPlot} plot
   * @param {PointerEvent} event
   */
  #showValues({ panel, tip }, plot, event) {
    const box = plot.over.getBoundingClientRect();
    const x = event.clientX - box.left;
    const index = plot.posToIdx(x);
    const rows = panel.lines.filter((line) => !line.quiet).map((line) => {
      const name = element("b", { text: line.name });
      name.style.color = line.colour;
      return element("div", {}, name, ` ${panel.textOf(line.values[index])}`);
    });
    tip.replaceChildren(element("div", { text: `${Number((panel.t[index] ?? 0).toFixed(3))} s` }), ...rows);
    tip.classList.toggle("left", x > box.width / 2);
    tip.style.transform = `translateX(${x}px)`;
  }

  /**
   * Marks the time of the displayed packets.
   *
   * @param {number} time
   */
  mark(time) {
    this.#time = time;
    for (const built of this.#plots.values()) this.#place(built);
  }

  /** @param {Built} built */
  #place({ plot, now }) {
    if (plot) now.style.transform = `translateX(${plot.valToPos(this.#time, "x")}px)`;
  }

  #width() {
    return Math.max(this.place.clientWidth - 2, 200);
  }

  #fit() {
    for (const { plot } of this.#plots.values()) plot?.setSize({ width: this.#width(), height: plot.height });
    this.mark(this.#time);
  }

  /** Removes all plots. */
  clear() {
    for (const { plot, figure } of this.#plots.values()) {
      plot?.destroy();
      figure.remove();
    }
    this.#plots.clear();
  }
}
