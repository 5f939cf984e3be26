/** Fields next to the drawing, for the selected link, the flows, the laws' parameters and the run. */

import { choice, element, quantity, toggle } from "./fields.js";
import { look } from "./panels.js";
import { lawOf, setLaw } from "./scenario.js";
import { format, parse, short } from "./units.js";

/** Link quantities that have a slider, with kind and range. */
const LINK = {
  capacity: { label: "capacity", kind: "rate", low: 1e5, high: 1e8 },
  delay: { label: "delay, one way", kind: "time", low: 1e-4, high: 1 },
  buffer: { label: "buffer", kind: "packets", low: 1, high: 2000, empty: "unlimited" },
  loss: { label: "loss on the wire", kind: "number", low: 0, high: 0.2 },
};

const FLOW = {
  count: { label: "number of flows", kind: "number", low: 1, high: 100, empty: "1" },
  rtt: { label: "round trip", kind: "time", low: 1e-3, high: 4, empty: "of the links" },
  start: { label: "starts at", kind: "time", empty: "0 s" },
  stop: { label: "stops at", kind: "time", empty: "never" },
  packet: { label: "packet", kind: "size", low: 100, high: 9000, empty: "1 kB" },
};

/** Number of law parameters shown at first. A law's table begins with its important parameters. */
const MAIN_GAINS = 5;

/** Returns the name and short title of a law, for a list of choices. */
export function named({ name, title }) {
  return [name, title.split(":")[0]];
}

/** Returns a value as text, as in a scenario file but without quotes. */
function worded(value) {
  if (value === undefined || value === null) return "";
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}

/** Parses a typed table or list; returns other text as it is. */
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
 * Returns true if JavaScript represents a typed number exactly. Digits of other numbers go to the engine unchanged.
 */
function isExact(number) {
  return Number.isFinite(number) && (Number.isSafeInteger(number) || !Number.isInteger(number));
}

export class Controls {
  /** `lab` has scenario, catalogue, dark, selected, change(edit, dragging) and select(kind, index). */
  constructor(lab) {
    this.lab = lab;
    this.fields = [];
    this.lessonFields = [];
    this.built = "";
    this.moreOpen = false;
  }

  #put(entry, key, text, kind) {
    if (text === "") delete entry[key];
    else entry[key] = kind === "number" && isExact(Number(text)) ? Number(text) : typed(text);
  }

  /** Creates a field for one key of a list entry. The entry is looked up at each use. */
  #entryField(list, index, key, spec, more = {}) {
    const entry = () => this.lab.scenario[list][index] ?? {};
    return quantity({
      ...spec, ...more, key: `${list}.${index}.${key}`,
      get: () => worded(entry()[key]),
      set: (text, dragging) => this.lab.change(() => this.#put(entry(), key, text, spec.kind), dragging, `${list}.${index}.${key}`),
    });
  }

  linkField(index, key, range = {}) {
    const spec = { ...LINK[key], ...range };
    const link = () => this.lab.scenario.link[index] ?? {};
    if (key === "buffer") {
      const inBytes = () => Number.isFinite(parse("size", worded(link().buffer)));
      return this.#entryField("link", index, key, spec, {
        whole: true,
        help: "For example “100 packets”, “64 kB”, “1 BDP” or “unlimited”",
        write: (value) => (inBytes() ? format("size", value * 1000) : format("packets", value)),
        read: (text) => (Number.isFinite(parse("size", text)) ? parse("size", text) / 1000 : parse("packets", text)),
      });
    }
    if (key === "loss") {
      return quantity({
        ...spec, key: `link.${index}.loss`,
        get: () => (typeof (link().loss ?? 0) === "number" ? `${short((link().loss ?? 0) * 100, 6)} %` : worded(link().loss)),
        set: (text, dragging) => this.lab.change(() => {
          const share = /^([\d.eE+-]+)\s*%$/.exec(text);
          const number = share ? Number((Number(share[1]) / 100).toPrecision(12)) : Number(text);
          link().loss = Number.isFinite(number) ? number : typed(text); // an empty field is 0
        }, dragging, `link.${index}.loss`),
        write: (value) => `${short(value * 100)} %`,
        read: (text) => parseFloat(text) / 100,
      });
    }
    return this.#entryField("link", index, key, spec);
  }

  flowField(index, key, range = {}) {
    const spec = { ...FLOW[key], ...range };
    return this.#entryField("flow", index, key, spec, key === "count"
      ? { whole: true, write: (value) => String(value), read: (text) => Number(text || 1) }
      : { help: key === "rtt" ? "Base round-trip time; the hosts add the part beyond the links" : undefined });
  }

  /** Creates one field that sets a key in all flows. */
  allFlowsField(key, range = {}) {
    const spec = { ...FLOW[key], ...range };
    return quantity({
      ...spec, key: `all.${key}`,
      get: () => worded(this.lab.scenario.flow[0]?.[key]),
      set: (text, dragging) => this.lab.change(() => {
        for (const flow of this.lab.scenario.flow) this.#put(flow, key, text, spec.kind);
      }, dragging, `all.${key}`),
    });
  }

  lawField(index) {
    const flow = () => this.lab.scenario.flow[index] ?? {};
    return choice({
      label: "law", key: `flow.${index}.law`, options: () => this.lab.catalogue.laws.map(named),
      get: () => lawOf(flow()), set: (law) => this.lab.change(() => setLaw(flow(), law)),
    });
  }

  /** Creates the choice of one law for all flows; empty if flows have different laws. */
  allLawsField() {
    const laws = () => [...new Set(this.lab.scenario.flow.map(lawOf))];
    return choice({
      label: "law of all", key: "all.law", options: () => [["", "different laws"], ...this.lab.catalogue.laws.map(named)],
      get: () => (laws().length === 1 ? laws()[0] : ""),
      set: (law) => law && this.lab.change(() => this.lab.scenario.flow.forEach((flow) => setLaw(flow, law))),
    });
  }

  /** Creates a field for a law parameter that holds for the whole run. */
  gainField(law, parameter, range = {}) {
    const table = () => this.lab.scenario.law?.[law.name] ?? {};
    const put = (value) => {
      const { scenario } = this.lab;
      scenario.law ??= {};
      scenario.law[law.name] ??= {};
      if (value === "" || String(value) === parameter.default) delete scenario.law[law.name][parameter.name];
      else scenario.law[law.name][parameter.name] = value;
      if (!Object.keys(scenario.law[law.name]).length) delete scenario.law[law.name];
      if (!Object.keys(scenario.law).length) delete scenario.law;
    };
    const now = () => worded(table()[parameter.name] ?? parameter.default);
    const of = { label: parameter.name, help: parameter.doc, key: `law.${law.name}.${parameter.name}`, get: now };
    const change = (value, dragging) => this.lab.change(() => put(value), dragging, of.key);
    if (parameter.kind === "switch") return toggle({ ...of, get: () => now() === "true", set: change });
    if (parameter.kind === "choice") {
      return choice({ ...of, options: () => parameter.choices.map((word) => [word, word]), set: change });
    }
    const number = parameter.kind === "number";
    return quantity({
      ...of, kind: parameter.kind, ...reach(parameter), ...range,
      set: (text, dragging) => change(number && text !== "" && Number.isFinite(Number(text)) ? Number(text) : text, dragging),
    });
  }

  #link() {
    const { scenario, selected } = this.lab;
    const index = selected.kind === "link" && scenario.link[selected.index] ? selected.index : 0;
    const which = choice({
      label: "link", key: "which-link", options: () => scenario.link.map((link, i) => [String(i), `${link.from} → ${link.to}`]),
      get: () => String(index), set: (value) => this.lab.select("link", Number(value)),
    });
    if (!scenario.link[index]) return [which];
    const link = () => this.lab.scenario.link[index] ?? {};
    const queue = choice({
      label: "queue", key: `link.${index}.queue`, options: () => this.lab.catalogue.queues.map(named),
      get: () => (typeof link().queue === "object" ? Object.keys(link().queue)[0] : link().queue ?? "drop_tail"),
      set: (name) => this.lab.change(() => { link().queue = name; }),
    });
    const duplex = toggle({
      label: "also in the other direction", key: `link.${index}.duplex`,
      get: () => link().duplex, set: (on) => this.lab.change(() => { link().duplex = on; }),
    });
    return [which, ...Object.keys(LINK).map((key) => this.linkField(index, key)), queue, duplex];
  }

  #flow() {
    const { scenario, selected } = this.lab;
    const index = selected.kind === "flow" && scenario.flow[selected.index] ? selected.index : 0;
    if (!scenario.flow[index]) return [];
    const flow = () => this.lab.scenario.flow[index] ?? {};
    const name = quantity({
      label: "name", key: `flow.${index}.name`, kind: "number", get: () => worded(flow().name),
      set: (text) => this.lab.change(() => { flow().name = text; }),
    });
    return [name, this.lawField(index), ...Object.keys(FLOW).map((key) => this.flowField(index, key))];
  }

  #run() {
    const top = (key, label, spec) => quantity({
      label, key: `top.0.${key}`, ...spec, get: () => worded(this.lab.scenario[key]),
      set: (text, dragging) => this.lab.change(() => this.#put(this.lab.scenario, key, text, spec.kind), dragging, `top.${key}`),
    });
    return [
      top("name", "name", { kind: "text" }),
      top("duration", "duration", { kind: "time", low: 1, high: 300 }),
      top("sample", "sample", { kind: "time", low: 0.01, high: 1 }),
      top("seed", "seed", { kind: "number" }),
    ];
  }

  #gains() {
    const laws = [...new Set(this.lab.scenario.flow.map(lawOf))];
    return laws.flatMap((name) => {
      const law = this.lab.catalogue.laws.find((one) => one.name === name);
      if (!law) return [];
      const fields = law.params.map((parameter) => this.gainField(law, parameter));
      const heading = element("h3", { text: law.title });
      const rest = fields.slice(MAIN_GAINS);
      const more = element("details", { class: "more", open: this.moreOpen }, element("summary", { text: `${rest.length} more` }), ...rest.map((field) => field.row));
      more.addEventListener("toggle", () => { this.moreOpen = more.open; });
      return [{ row: heading }, ...fields.slice(0, MAIN_GAINS), ...(rest.length ? [{ row: more, inside: rest }] : [])];
    });
  }

  /** Creates the table of flows with their current rates. */
  #table() {
    const { scenario, dark, selected } = this.lab;
    const head = ["flow", "law", "rate", "fair"].map((text) => element("th", { scope: "col", text }));
    const rows = scenario.flow.map((flow, i) => {
      const { colour, dash } = look(i, dark);
      const swatch = document.createElementNS("http://www.w3.org/2000/svg", "svg");
      swatch.setAttribute("class", "swatch");
      swatch.setAttribute("viewBox", "0 0 22 8");
      swatch.setAttribute("aria-hidden", "true");
      const line = document.createElementNS("http://www.w3.org/2000/svg", "line");
      for (const [key, value] of [["x1", 0], ["x2", 22], ["y1", 4], ["y2", 4], ["stroke", colour], ["stroke-dasharray", dash.join(" ")]]) {
        line.setAttribute(key, value);
      }
      swatch.append(line);
      const button = element("button", { type: "button" }, swatch, worded(flow.name));
      button.addEventListener("click", () => this.lab.select("flow", i));
      const chosen = selected.kind === "flow" && selected.index === i;
      return element("tr", { class: chosen ? "chosen" : null }, element("th", { scope: "row" }, button),
        element("td", { text: lawOf(flow) }), element("td", { "data-rate": i }), element("td", { "data-fair": i }));
    });
    return element("table", { class: "rows" }, element("caption", { "data-time": true }), element("thead", {}, element("tr", {}, ...head)), element("tbody", {}, ...rows));
  }

  /** Rebuilds the fields if other ones are needed, and shows all values. */
  show() {
    const { scenario, selected, dark, catalogue } = this.lab;
    const shape = JSON.stringify([
      scenario.link.map((link) => [link.from, link.to]), scenario.flow.map((flow) => [flow.name, lawOf(flow)]), selected, dark, catalogue.laws.length,
    ]);
    if (shape !== this.built) {
      this.built = shape;
      const focus = document.activeElement?.dataset?.key;
      const parts = { entry: this.#link(), flows: this.#flow(), gains: this.#gains(), run: this.#run() };
      this.fields = Object.values(parts).flat().flatMap((part) => part.inside ?? (part.update ? [part] : []));
      for (const [id, fields] of Object.entries(parts)) {
        const rows = fields.map((part) => part.row);
        document.getElementById(id).replaceChildren(...(id === "flows" ? [this.#table()] : []), ...rows);
      }
      if (focus) document.querySelector(`.controls [data-key="${CSS.escape(focus)}"]`)?.focus();
    }
    for (const field of [...this.fields, ...this.lessonFields]) field.update();
  }

  /** Creates the fields of a lesson. */
  forLesson(drag) {
    this.lessonFields = drag.map(({ list, index, key, law, ...range }) => {
      if (list === "link") return this.linkField(index, key, range);
      if (list === "flow") return this.flowField(index, key, range);
      if (list === "both") return this.allFlowsField(key, range);
      if (list === "all") return this.allLawsField();
      const of = this.lab.catalogue.laws.find((one) => one.name === law);
      return this.gainField(of, of.params.find((parameter) => parameter.name === key), range);
    });
    return this.lessonFields;
  }

  /** Shows each mistake next to its field; returns the mistakes without a field. */
  blame(mistakes) {
    const all = [...this.fields, ...this.lessonFields];
    for (const field of all) field.say(null);
    return mistakes.filter(({ keys, line }) => {
      const found = all.filter((field) => keys.includes(field.key));
      for (const field of found) {
        field.say(line.replace(/^[^:]*: /, ""));
        for (let box = field.row.closest("details"); box; box = box.parentElement.closest("details")) box.open = true;
      }
      return found.length === 0;
    });
  }
}

/** Returns the range of a parameter's slider: some range around the default, within the allowed values. */
function reach({ kind, default: text, low, high }) {
  const [middle, least, most] = [text, low, high].map((of) => parse(kind, of));
  if (!Number.isFinite(middle)) return {};
  if (middle === 0) return { low: Math.max(least, 0), high: Math.min(most, 1) };
  return { low: Math.max(least, middle / 30), high: Math.min(most, middle * 30) };
}
