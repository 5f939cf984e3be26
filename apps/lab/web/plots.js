/** Plots on the screen, with uPlot: panels in one column, with one time axis. */

import uPlot from "uplot";

const HEIGHTS = { rates: 220, queues: 150, drops: 110, signals: 120 };

function css(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

/** Line style that keeps a value until the next sample. */
const steps = uPlot.paths.stepped({ align: -1 });

function options(panel, width, duration, last) {
  const grid = { stroke: css("--grid"), width: 1 };
  const axis = { stroke: css("--quiet"), font: "12px system-ui, sans-serif", grid, ticks: grid };
  return {
    width,
    height: HEIGHTS[panel.key] + (last ? 26 : 0),
    padding: [8, 12, 0, 0],
    legend: { show: false },
    cursor: { drag: { x: false, y: false }, sync: { key: "lab" }, points: { size: 6 } },
    scales: {
      x: { time: false, range: () => [0, duration] },
      y: { range: (_, low, high) => scope(low, high, panel) },
    },
    axes: [
      { ...axis, size: last ? 40 : 8, label: last ? "time (s)" : undefined, labelSize: 16, labelFont: axis.font,
        values: (_, ticks) => (last ? ticks.map(String) : ticks.map(() => "")) },
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

/** Returns the range of an axis: from zero, unless values are negative, to a little above the largest value. */
function scope(low, high, panel) {
  if (low === null || high === null) return [0, 1];
  if (panel.high !== undefined) return [panel.low, panel.high];
  const floor = panel.low === null ? Math.min(low, 0) : 0;
  const top = panel.low === null ? high : Math.max(high, panel.most);
  if (top <= floor) return [floor, floor + 1];
  return [floor, top + (top - floor) * 0.06];
}

/** Panels of one of the compared results. */
export class Plots {
  #plots = new Map();
  #duration = 1;
  #time = 0;

  /** `choose` is called with the time that the user selects. */
  constructor(place, choose) {
    this.place = place;
    this.choose = choose;
    new ResizeObserver(() => this.#fit()).observe(place);
  }

  /** Shows panels. Existing plots are updated. */
  show(panels, duration) {
    this.#duration = duration;
    const last = panels.filter((panel) => panel.lines.length).at(-1)?.key;
    for (const panel of panels) {
      const key = JSON.stringify([panel.lines.map((line) => [line.name, line.colour]), css("--grid"), panel.key === last]);
      let plot = this.#plots.get(panel.key);
      if (plot?.key !== key) {
        plot?.plot.destroy();
        plot = this.#build(plot?.figure ?? this.#figure(panel), panel, key, panel.key === last);
        this.#plots.set(panel.key, plot);
      }
      plot.duration.value = duration;
      plot.figure.querySelector("figcaption").textContent = panel.unit ? `${panel.title} (${panel.unit})` : panel.title;
      plot.figure.classList.toggle("empty", panel.lines.length === 0);
      plot.panel = panel;
      plot.plot.setData([panel.t, ...panel.lines.map((line) => line.values)]);
      plot.figure.setAttribute("aria-label", this.#words(panel));
    }
    this.mark(this.#time);
  }

  #figure(panel) {
    const figure = document.createElement("figure");
    figure.className = `plot ${panel.key}`;
    figure.setAttribute("role", "group");
    figure.append(document.createElement("figcaption"), document.createElement("div"));
    this.place.append(figure);
    return figure;
  }

  /** Describes a panel in words, with the last value of each line. */
  #words(panel) {
    const ends = panel.lines.filter((line) => !line.quiet).map((line) => {
      return `${line.name} ends at ${panel.tell(line.values.findLast((x) => x !== null))}`;
    });
    return [panel.title, ...ends].join("; ");
  }

  #build(figure, panel, key, last) {
    const box = figure.lastElementChild;
    box.replaceChildren();
    const duration = { value: this.#duration };
    const settings = options(panel, this.#width(), 1, last);
    settings.scales.x.range = () => [0, duration.value];
    const built = { figure, key, panel, duration };
    settings.scales.y.range = (_, low, high) => scope(low, high, built.panel);
    settings.hooks = { draw: [() => this.#place(built)] }; // before its first drawing, a new plot has no time axis
    const plot = new uPlot(settings, [panel.t, ...panel.lines.map((line) => line.values)], box);
    const now = document.createElement("div");
    now.className = "now";
    const tip = document.createElement("div");
    tip.className = "tip";
    plot.over.append(now, tip);
    Object.assign(built, { plot, now, tip });
    this.#listen(built);
    return built;
  }

  #listen(built) {
    const { plot } = built;
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
      this.#tell(built, event);
    });
    plot.over.addEventListener("pointerleave", () => built.tip.replaceChildren());
  }

  /** Shows the values below the pointer. */
  #tell({ plot, panel, tip }, event) {
    const box = plot.over.getBoundingClientRect();
    const x = event.clientX - box.left;
    const index = plot.posToIdx(x);
    const rows = panel.lines.filter((line) => !line.quiet).map((line) => {
      const row = document.createElement("div");
      const name = document.createElement("b");
      name.textContent = line.name;
      name.style.color = line.colour;
      row.append(name, ` ${panel.tell(line.values[index])}`);
      return row;
    });
    const head = document.createElement("div");
    head.textContent = `${Number((panel.t[index] ?? 0).toFixed(3))} s`;
    tip.replaceChildren(head, ...rows);
    tip.classList.toggle("left", x > box.width / 2);
    tip.style.transform = `translateX(${x}px)`;
  }

  /** Draws the line at the time of the displayed packets. */
  mark(time) {
    this.#time = time;
    for (const built of this.#plots.values()) this.#place(built);
  }

  #place({ plot, now }) {
    if (plot) now.style.transform = `translateX(${plot.valToPos(this.#time, "x")}px)`;
  }

  #width() {
    return Math.max(this.place.clientWidth - 2, 200);
  }

  #fit() {
    for (const { plot } of this.#plots.values()) plot.setSize({ width: this.#width(), height: plot.height });
    this.mark(this.#time);
  }

  /** Removes all plots, so that they are redrawn in other colours. */
  clear() {
    for (const { plot, figure } of this.#plots.values()) {
      plot.destroy();
      figure.remove();
    }
    this.#plots.clear();
  }
}
