/** Fields next to the drawing: the selected link, the flows, the parameters of laws, and the run. */

import { $, element, shape } from "./dom.js";
import { choice, quantity, toggle } from "./fields.js";
import { look } from "./panels.js";
import { quantityOf } from "./lesson.js";
import { lawOf, setLaw } from "./scenario.js";
import { format, parse, short } from "./units.js";
import { words } from "./words.js";

/**
 * @import { Field, Form, Label, Range } from "./fields.js"
 * @import { Drag } from "./lesson.js"
 * @import { place } from "./scenario.js"
 * @import { State } from "./state.js"
 * @import { Algorithm, Entry, Flow, Parameter } from "./types.js"
 */

/** @typedef {Range & Form & {label: string, help?: string}} Spec */

/** Quantities of a link. @type {{[key: string]: Spec}} */
const LINK = {
  capacity: { label: words.fields.capacity, kind: "rate", low: 1e5, high: 1e8 },
  delay: { label: words.fields.delay, kind: "time", low: 1e-4, high: 1 },
  buffer: { label: words.fields.buffer, kind: "packets", low: 1, high: 2000, empty: words.fields.unlimited },
  loss: { label: words.fields.loss, kind: "number", low: 0, high: 0.2 },
};

/** Quantities of a flow. @type {{[key: string]: Spec}} */
const FLOW = {
  count: {
    label: words.fields.count, kind: "number", low: 1, high: 100, empty: "1", whole: true,
    write: String, read: (text) => Number(text || 1),
  },
  rtt: {
    label: words.fields.rtt, kind: "time", low: 1e-3, high: 4, empty: words.fields.ofLinks,
    help: words.fields.rttHelp,
  },
  start: { label: words.fields.start, kind: "time", empty: "0 s" },
  stop: { label: words.fields.end, kind: "time", empty: words.fields.never },
  packet: { label: words.fields.packet, kind: "size", low: 100, high: 9000, empty: "1 kB" },
};

/** Number of parameters of a law that are visible at first. A law's table lists the most important parameters first. */
const MAIN_PARAMETERS = 5;

/**
 * Returns the name and short title of a law or queue discipline, for a list of choices.
 *
 * @param {Algorithm} algorithm
 */
export function named({ name, title }) {
  return [name, title.split(":")[0]];
}

/**
 * Returns a value as in a scenario file, but without quotes.
 *
 * @param {unknown} value
 */
function worded(value) {
  if (value === undefined || value === null) return "";
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}

/**
 * Parses a table or a list; returns any other text unchanged.
 *
 * @param {string} text
 */
function typed(text) {
  if (/^[[{]/.test(text)) {
    try {
      return JSON.parse(text);
    } catch {
      return text;
    }
  }
  return text;
}

/**
 * Returns true if JavaScript represents a number exactly. The page passes the digits of other numbers to the engine.
 *
 * @param {number} number
 */
function isExact(number) {
  return Number.isFinite(number) && (Number.isSafeInteger(number) || !Number.isInteger(number));
}

export class Controls {
  /** @type {Field[]} */
  #fields = [];
  /** @type {Field[]} */
  #lessonFields = [];
  /** Links, flows, laws, selection and colours for which the current fields were built, in JSON. */
  #shape = "";
  #moreOpen = false;

  /** @param {State} lab */
  constructor(lab) {
    this.lab = lab;
  }

  /**
   * Creates a field for one key of links or flows. The field looks up these objects at each use, because edits replace
   * them.
   *
   * @param {string} id
   * @param {string} key
   * @param {Spec} spec
   * @param {() => Entry[]} entries
   */
  #entryField(id, key, spec, entries) {
    /** @param {string} text */
    const put = (text) => {
      const value = spec.kind === "number" && isExact(Number(text)) ? Number(text) : typed(text);
      for (const entry of entries()) {
        if (text === "") delete entry[key];
        else entry[key] = value;
      }
    };
    return quantity({
      ...spec, key: id, get: () => worded(entries()[0]?.[key]),
      set: (text, dragging) => this.lab.change(() => put(text), dragging, id),
    });
  }

  /** @param {number} index */
  #linkAt(index) {
    return this.lab.scenario.link[index] ?? {};
  }

  /**
   * @param {number} index
   * @param {string} key
   * @param {Range} range
   */
  #linkField(index, key, range = {}) {
    const spec = { ...LINK[key], ...range };
    const link = () => this.#linkAt(index);
    /** @param {Spec} of */
    const field = (of) => this.#entryField(`link.${index}.${key}`, key, of, () => this.lab.scenario.link.slice(index, index + 1));
    if (key === "buffer") {
      const inBytes = () => Number.isFinite(parse("size", worded(link().buffer)));
      return field({
        ...spec, whole: true,
        help: words.fields.bufferHelp,
        write: (value) => (inBytes() ? format("size", value * 1000) : format("packets", value)),
        read: (text) => (Number.isFinite(parse("size", text)) ? parse("size", text) / 1000 : parse("packets", text)),
      });
    }
    if (key === "loss") {
      return quantity({
        ...spec, key: `link.${index}.loss`,
        get: () => {
          const { loss = 0 } = link();
          return typeof loss === "number" ? `${short(loss * 100, 6)} %` : worded(loss);
        },
        set: (text, dragging) => this.lab.change(() => {
          const share = /^([\d.eE+-]+)\s*%$/.exec(text);
          const number = share ? Number((Number(share[1]) / 100).toPrecision(12)) : Number(text);
          link().loss = Number.isFinite(number) ? number : typed(text); // an empty field is 0
        }, dragging, `link.${index}.loss`),
        write: (value) => `${short(value * 100)} %`,
        read: (text) => parseFloat(text) / 100,
      });
    }
    return field(spec);
  }

  /**
   * @param {string} id
   * @param {string} key
   * @param {() => Flow[]} flows
   * @param {Range} range
   */
  #flowField(id, key, flows, range = {}) {
    return this.#entryField(`${id}.${key}`, key, { ...FLOW[key], ...range }, flows);
  }

  /**
   * Creates the choice of a law for flows. The choice is empty if the flows have different laws.
   *
   * @param {Label} label
   * @param {() => Flow[]} flows
   * @param {string[][]} different choice for different laws
   */
  #lawField(label, flows, different = []) {
    const laws = () => new Set(flows().map(lawOf));
    return choice({
      ...label, options: () => [...different, ...this.lab.catalogue.laws.map(named)],
      get: () => (laws().size === 1 ? [...laws()][0] : ""),
      set: (law) => { if (law) this.lab.change(() => flows().forEach((flow) => setLaw(flow, law))); },
    });
  }

  /**
   * Creates a field for a parameter of a law in all flows.
   *
   * @param {Algorithm} law
   * @param {Parameter} parameter
   * @param {Range} range
   */
  #parameterField(law, parameter, range = {}) {
    /** @param {string | number | boolean} value */
    const put = (value) => {
      const { scenario } = this.lab;
      scenario.law ??= {};
      const table = scenario.law[law.name] ??= {};
      if (value === "" || String(value) === parameter.default) delete table[parameter.name];
      else table[parameter.name] = value;
      if (!Object.keys(table).length) delete scenario.law[law.name];
      if (!Object.keys(scenario.law).length) delete scenario.law;
    };
    const now = () => worded(this.lab.scenario.law?.[law.name]?.[parameter.name] ?? parameter.default);
    const of = { label: parameter.name, help: parameter.doc, key: `law.${law.name}.${parameter.name}`, get: now };
    /** @type {(value: string | number | boolean, dragging?: boolean) => void} */
    const change = (value, dragging) => this.lab.change(() => put(value), dragging, of.key);
    if (parameter.kind === "switch") return toggle({ ...of, get: () => now() === "true", set: change });
    if (parameter.kind === "choice") {
      return choice({ ...of, options: () => parameter.choices.map((word) => [word, word]), set: change });
    }
    const number = parameter.kind === "number";
    return quantity({
      ...of, kind: parameter.kind, ...rangeOf(parameter), ...range,
      set: (text, dragging) => change(number && text !== "" && Number.isFinite(Number(text)) ? Number(text) : text, dragging),
    });
  }

  #link() {
    const { scenario, selected } = this.lab;
    const index = selected.kind === "link" && scenario.link[selected.index] ? selected.index : 0;
    const which = choice({
      label: words.fields.link, key: "which-link", options: () => scenario.link.map((link, i) => [String(i), `${link.from} → ${link.to}`]),
      get: () => String(index), set: (value) => this.lab.select("link", Number(value)),
    });
    if (!scenario.link[index]) return [which];
    const link = () => this.#linkAt(index);
    const queue = choice({
      label: words.fields.queue, key: `link.${index}.queue`, options: () => this.lab.catalogue.queues.map(named),
      get: () => {
        const { queue = "drop_tail" } = link();
        return typeof queue === "object" ? Object.keys(queue)[0] : queue;
      },
      set: (name) => this.lab.change(() => { link().queue = name; }),
    });
    const duplex = toggle({
      label: words.fields.duplex, key: `link.${index}.duplex`,
      get: () => link().duplex, set: (on) => this.lab.change(() => { link().duplex = on; }),
    });
    return [which, ...Object.keys(LINK).map((key) => this.#linkField(index, key)), queue, duplex];
  }

  #flow() {
    const { scenario, selected } = this.lab;
    const index = selected.kind === "flow" && scenario.flow[selected.index] ? selected.index : 0;
    if (!scenario.flow[index]) return [];
    const flow = () => this.lab.scenario.flow[index] ?? {};
    const name = quantity({
      label: words.fields.name, key: `flow.${index}.name`, kind: "number", get: () => worded(flow().name),
      set: (text) => this.lab.change(() => { flow().name = text; }),
    });
    const flows = () => this.lab.scenario.flow.slice(index, index + 1);
    const law = this.#lawField({ label: words.fields.law, key: `flow.${index}.law` }, flows);
    return [name, law, ...Object.keys(FLOW).map((key) => this.#flowField(`flow.${index}`, key, flows))];
  }

  #run() {
    /** @type {(key: "name" | "duration" | "sample" | "seed", spec: Range & Form) => Field} */
    const top = (key, spec) => this.#entryField(`top.0.${key}`, key, { label: words.fields[key], ...spec }, () => [this.lab.scenario]);
    return [
      top("name", {}),
      top("duration", { kind: "time", low: 1, high: 300 }),
      top("sample", { kind: "time", low: 0.01, high: 1 }),
      top("seed", { kind: "number" }),
    ];
  }

  /** Creates the fields of all laws' parameters. Returns fields and rows. A collapsed box contains some of the rows. */
  #parameters() {
    const laws = [...new Set(this.lab.scenario.flow.map(lawOf))];
    const used = laws.flatMap((name) => this.lab.catalogue.laws.filter((law) => law.name === name));
    const fields = used.map((law) => law.params.map((parameter) => this.#parameterField(law, parameter)));
    const rows = used.flatMap((law, i) => {
      const [main, others] = [fields[i].slice(0, MAIN_PARAMETERS), fields[i].slice(MAIN_PARAMETERS)].map((part) => part.map(({ row }) => row));
      const heading = element("h3", { text: law.title });
      if (!others.length) return [heading, ...main];
      const more = element("details", { class: "more", open: this.#moreOpen }, element("summary", { text: words.fields.more(others.length) }), ...others);
      more.addEventListener("toggle", () => { this.#moreOpen = more.open; });
      return [heading, ...main, more];
    });
    return { fields: fields.flat(), rows };
  }

  /** Creates the table of flows with their current rates. */
  #table() {
    const { scenario, dark, selected, compare } = this.lab;
    const laws = [...new Set(scenario.flow.map(lawOf))].join(", ");
    const { flow: flowName, law, rate, fair } = words.fields;
    const columns = compare ? [laws, compare, fair] : [law, rate, fair];
    const head = [flowName, ...columns].map((text) => element("th", { scope: "col", text }));
    const rows = scenario.flow.map((flow, i) => {
      const { colour, dash } = look(i, dark);
      const swatch = shape("svg", { class: "swatch", viewBox: "0 0 22 8", "aria-hidden": "true" },
        shape("line", { x1: 0, x2: 22, y1: 4, y2: 4, stroke: colour, "stroke-dasharray": dash.join(" ") }));
      const button = element("button", { type: "button" }, swatch, worded(flow.name));
      button.addEventListener("click", () => this.lab.select("flow", i));
      const chosen = selected.kind === "flow" && selected.index === i;
      return element("tr", { class: chosen ? "chosen" : null }, element("th", { scope: "row" }, button),
        compare ? "" : element("td", { text: lawOf(flow) }), element("td", { "data-rate-a": i }),
        compare ? element("td", { "data-rate-b": i }) : "", element("td", { "data-fair-a": i }));
    });
    return element("table", { class: "rows" }, element("caption", { "data-time": true }), element("thead", {}, element("tr", {}, ...head)), element("tbody", {}, ...rows));
  }

  /** Shows all values. Rebuilds the fields after a change of links, flows, laws, selection or colours. */
  show() {
    const { scenario, selected, dark, compare, catalogue } = this.lab;
    const shape = JSON.stringify([
      scenario.link.map((link) => [link.from, link.to]), scenario.flow.map((flow) => [flow.name, lawOf(flow)]), selected, dark, compare, catalogue.laws.length,
    ]);
    if (shape !== this.#shape) {
      this.#shape = shape;
      const focus = document.activeElement instanceof HTMLElement ? document.activeElement.dataset.key : undefined;
      const [link, flow, parameters, run] = [this.#link(), this.#flow(), this.#parameters(), this.#run()];
      this.#fields = [...link, ...flow, ...parameters.fields, ...run];
      /** @param {Field[]} fields */
      const rowsOf = (fields) => fields.map(({ row }) => row);
      const rows = { entry: rowsOf(link), flows: [this.#table(), ...rowsOf(flow)], gains: parameters.rows, run: rowsOf(run) };
      for (const [id, elements] of Object.entries(rows)) $(id).replaceChildren(...elements);
      const again = focus && document.querySelector(`.controls [data-key="${CSS.escape(focus)}"]`);
      if (again instanceof HTMLElement) again.focus();
    }
    for (const field of this.#all()) field.update();
  }

  #all() {
    return [...this.#fields, ...this.#lessonFields];
  }

  /**
   * Creates the fields of a lesson.
   *
   * @param {Drag[]} drag
   */
  forLesson(drag) {
    this.#lessonFields = drag.flatMap(({ key: path, low, high }) => {
      const [list, which, key] = path.split(".");
      const range = low === undefined || high === undefined ? {} : { low: quantityOf(low), high: quantityOf(high) };
      const all = () => this.lab.scenario.flow;
      const index = Number(which) - 1;
      if (list === "link") return [this.#linkField(index, key, range)];
      if (list === "flow") {
        const [id, flows] = which === "*" ? ["all", all] : [`flow.${index}`, () => all().slice(index, index + 1)];
        if (key !== "law") return [this.#flowField(id, key, flows, range)];
        const label = which === "*" ? words.fields.lawOfAll : words.fields.law;
        return [this.#lawField({ label, key: `${id}.law` }, flows, [["", words.choose.differentLaws]])];
      }
      const laws = this.lab.catalogue.laws.filter((law) => law.name === which);
      return laws.flatMap((law) => law.params.filter((parameter) => parameter.name === key)
        .map((parameter) => this.#parameterField(law, parameter, range)));
    });
    return this.#lessonFields;
  }

  /**
   * Shows each mistake next to its field. Returns the mistakes without a field, and those whose field is not on the
   * screen.
   *
   * @param {{line: string, where: ReturnType<typeof place>}[]} mistakes error lines and their places in the scenario
   */
  showErrors(mistakes) {
    const all = this.#all();
    for (const field of all) field.showError(null);
    return mistakes.flatMap(({ line, where }) => {
      const { list, index, key, law } = where;
      const keys = list === "law" ? [`law.${law}.${key}`] : [`${list}.${index}.${key}`, key === "rtt" ? "all.rtt" : ""];
      const found = all.filter((field) => keys.includes(field.key));
      for (const field of found) {
        field.showError(line.replace(/^[^:]*: /, ""));
        for (let box = field.row.closest("details"); box; box = box.parentElement?.closest("details") ?? null) box.open = true;
      }
      const visible = found.some(({ row }) => {
        const { top, bottom } = row.getBoundingClientRect();
        return bottom > 0 && top < innerHeight;
      });
      return visible ? [] : [{ line, where, field: found.length ? found[0] : null }];
    });
  }
}

/**
 * Returns the range of a parameter's slider: a factor of 30 around the default, within the allowed values.
 *
 * @param {Parameter} parameter
 */
function rangeOf({ kind, default: text, low, high }) {
  const [middle, least, most] = [text, low, high].map((of) => parse(kind, of));
  if (!Number.isFinite(middle)) return {};
  if (middle === 0) return { low: Math.max(least, 0), high: Math.min(most, 1) };
  return { low: Math.max(least, middle / 30), high: Math.min(most, middle * 30) };
}
