/** Lessons as data: a scenario file with a table `lesson`. */

import { lost, percent } from "./measures.js";
import { flows, jain, outcome } from "./series.js";
import { format, parse, short } from "./units.js";
import { language, LANGUAGES, words } from "./words.js";

/** @import { Entry, Result, Scenario } from "./types.js" */

/**
 * Texts of a lesson in one language. `hints` has a line for each option; that of the right option is not shown.
 *
 * @typedef {{title: string, text: string, predict: string, options: string[], hints: string[], why: string,
 *   question: string, answer: string, check?: string, hint?: string}} Texts
 */

/**
 * Field that a lesson shows. The key has the form of `levelflow run --set`, such as `link.1.capacity`; `flow.*.rtt`
 * sets all flows.
 *
 * @typedef {{key: string, low?: string, high?: string}} Drag
 */

/**
 * @typedef {object} Lesson
 * @property {string} id
 * @property {unknown} file table `lesson` of the file
 * @property {Scenario} scenario
 * @property {"rates" | "queues"} plot the plot that the questions are about
 * @property {boolean} concealed true if the plot shows the answer, and so appears after the prediction
 * @property {number} speed
 * @property {{[key: string]: string | number}} change change of the question; option `right` then holds
 * @property {Drag[]} fields
 * @property {(keyof typeof MEASURES)[]} measures
 * @property {number} right index of the right option
 * @property {{value: number, tolerance: number}} [check] number that answers the question
 * @property {Texts} texts
 */

/** Names of the files of the course. */
export const COURSE = ["queue", "fairness", "delay", "buffers", "explicit", "maxmin"];
/** Id of a lesson that the user opened as a file. */
export const OWN = "own";

const KEY = /^(?:link\.\d+\.\w+|flow\.(?:\d+|\*)\.\w+|law\.\w+\.\w+)$/;
/** Kinds of quantities, with units that do not overlap. */
const KINDS = /** @type {const} */ (["number", "rate", "time", "packets", "size"]);

/** @type {{[name: string]: (result: Result) => string}} */
const MEASURES = {
  wait: (result) => words.measured.wait(format("time", Math.max(0, ...outcome(result).links.map(({ longest }) => longest)))),
  loss: (result) => words.measured.loss(percent(lost(result))),
  utilisation: ({ summary }) => words.measured.utilisation(percent(summary?.links[0].utilisation)),
  rates: (result) => words.measured.rates(outcome(result).flows.map(({ name, rate }) => `${name} ${format("rate", rate)}`).join(", ")),
  jain: (result) => words.measured.jain(short(jain(outcome(result).flows))),
  swing: (result) => words.measured.swing(result.resolved.flows[0].name, percent(swing(result, 0))),
};

/**
 * Returns `(largest - smallest) / mean` of the rates of a flow in the last quarter of a run.
 *
 * @param {Result} result
 * @param {number} index
 */
function swing(result, index) {
  const { t, entries } = flows(result);
  const rates = entries[index].rate.flatMap((rate, sample) => (t[sample] > 0.75 * result.now && rate !== null ? [rate] : []));
  const mean = rates.reduce((a, b) => a + b, 0) / rates.length;
  return (Math.max(...rates) - Math.min(...rates)) / mean;
}

/**
 * Parses a quantity of any kind.
 *
 * @param {unknown} text
 */
export function quantityOf(text) {
  return KINDS.map((kind) => parse(kind, text)).find(Number.isFinite) ?? NaN;
}

/**
 * Returns the tables of a scenario that a key names, and the last part of the key.
 *
 * @param {Scenario} scenario
 * @param {string} key
 * @returns {{entries: Entry[], last: string}}
 */
function tablesAt(scenario, key) {
  const [list, which, last] = key.split(".");
  if (list === "law") return { entries: [((scenario.law ??= {})[which] ??= {})], last };
  const entries = list === "link" ? scenario.link : scenario.flow;
  return { entries: which === "*" ? entries : entries.slice(Number(which) - 1, Number(which)), last };
}

/**
 * Makes the change of the question.
 *
 * @param {Lesson} lesson
 * @param {Scenario} scenario
 */
export function change(lesson, scenario) {
  for (const [key, value] of Object.entries(lesson.change)) {
    const { entries, last } = tablesAt(scenario, key);
    for (const entry of entries) entry[last] = value;
  }
}

/**
 * Returns true once the user has changed each value at least as far as the question does.
 *
 * @param {Lesson} lesson
 * @param {Scenario} scenario
 */
export function reached(lesson, scenario) {
  return Object.entries(lesson.change).every(([key, value]) => {
    /** @param {Scenario} of */
    const valueIn = (of) => {
      const { entries: [entry], last } = tablesAt(structuredClone(of), key);
      return quantityOf(entry?.[last]);
    };
    const [first, now, wanted] = [valueIn(lesson.scenario), valueIn(scenario), quantityOf(value)];
    return wanted < first ? now <= wanted : now >= wanted;
  });
}

/**
 * Returns the measured values of a run, as a sentence.
 *
 * @param {Lesson} lesson
 * @param {Result} result
 */
export function measured({ measures }, result) {
  const text = measures.map((name) => MEASURES[name](result)).join("; ");
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}.`;
}

/**
 * Returns the lesson of a file.
 *
 * @param {string} id
 * @param {Scenario & {lesson?: any}} file parsed file
 * @returns {Lesson}
 * @throws {Error} with one line, if the table `lesson` is invalid
 */
export function lessonOf(id, { lesson: table, ...scenario }) {
  /** @type {(valid: unknown, key: string, allowed: string) => void} */
  const need = (valid, key, allowed) => {
    if (!valid) throw new Error(words.lesson.invalid(key, allowed));
  };
  /** @param {unknown} value */
  const isText = (value) => typeof value === "string" && value !== "";
  /** @param {unknown} value */
  const isTable = (value) => typeof value === "object" && value !== null && !Array.isArray(value);
  const { plot, concealed = false, speed = 0.03, change = {}, fields = [], measures = [], right, check } = table;
  const spoken = [language, ...Object.keys(LANGUAGES)].find((code) => isTable(table[code]));
  need(spoken, Object.keys(LANGUAGES).join(", "), "[lesson.en]");
  const texts = table[spoken ?? ""];
  need(["rates", "queues"].includes(plot), "plot", "\"rates\", \"queues\"");
  need(Number(speed) > 0, "speed", "> 0");
  need(isTable(change) && Object.keys(change).every((key) => KEY.test(key)), "change", "{ \"link.1.capacity\" = \"7 Mb/s\" }");
  need(Array.isArray(fields) && fields.every((field) => KEY.test(field?.key)), "fields", "[{ key = \"link.1.capacity\" }]");
  need(Array.isArray(measures) && measures.every((name) => Object.hasOwn(MEASURES, name)), "measures", Object.keys(MEASURES).join(", "));
  for (const key of ["title", "text", "predict", "why", "question", "answer"]) need(isText(texts[key]), `${spoken}.${key}`, "\"…\"");
  const { options, hints } = texts;
  need(Array.isArray(options) && options.length > 1 && options.every(isText), `${spoken}.options`, "[\"…\", \"…\"]");
  need(Array.isArray(hints) && hints.length === options.length, `${spoken}.hints`, `${options.length} × \"…\"`);
  need(Number.isInteger(right) && right >= 1 && right <= options.length, "right", `1 – ${options.length}`);
  need(check === undefined || (Number.isFinite(check?.value) && Number.isFinite(check?.tolerance) && isText(texts.check)), "check", "{ value = 1, tolerance = 0 }");
  return { id, file: table, scenario, plot, concealed, speed, change, fields, measures, right: right - 1, check, texts };
}
