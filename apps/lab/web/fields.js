/** Form fields: a label, a slider or a choice, a text, and an error message. */

import { coded, element } from "./dom.js";
import { format, parse } from "./units.js";
import { words } from "./words.js";

/** @import { Kind } from "./types.js" */

/**
 * Field in the page. `update` shows the current value; `showError` shows or hides an error message.
 *
 * @typedef {{row: HTMLElement, key: string, update: () => void, showError: (text: string | null) => void}} Field
 * @typedef {{label: string, key: string, help?: string}} Label
 * @typedef {{low?: number, high?: number, label?: string}} Range range of a slider; without `low`, there is no slider
 * @typedef {{kind?: Kind, empty?: string, whole?: boolean, write?: (value: number) => string,
 *   read?: (text: string) => number}} Form units and form of a quantity; an empty text means `empty`
 * @typedef {{get: () => string | undefined, set: (text: string, dragging: boolean) => void}} Text
 */

/** Number of steps of a slider. */
const STEPS = 400;

/**
 * Returns the mapping between slider positions and values. It is logarithmic if the range begins above 0.
 *
 * @param {number} low
 * @param {number} high
 * @returns {{value: (at: number) => number, at: (value: number) => number}}
 */
function scale(low, high) {
  if (low > 0) {
    const ratio = Math.log(high / low);
    return {
      value: (at) => Number((low * Math.exp((at / STEPS) * ratio)).toPrecision(3)),
      at: (value) => (Math.log(Math.max(value, low) / low) / ratio) * STEPS,
    };
  }
  return {
    value: (at) => Number((low + (at / STEPS) * (high - low)).toPrecision(3)),
    at: (value) => ((value - low) / (high - low)) * STEPS,
  };
}

let fields = 0;

/**
 * Creates a field: the label, a control, a slider if there is one, and an error message.
 *
 * @param {Label} label
 * @param {HTMLElement} control
 * @param {() => void} update
 * @param {HTMLElement[]} slider
 * @returns {Field}
 */
function field({ label: text, key, help }, control, update, ...slider) {
  fields += 1;
  control.id = `field-${fields}`;
  control.dataset.key = key;
  const label = element("label", { for: control.id, text });
  const message = element("p", { class: "wrong", id: `wrong-${fields}`, role: "alert", hidden: true });
  const row = element("div", { class: "field" }, label, control, ...slider, message);
  if (help) label.after(...helping(text, help));
  update();
  return {
    row, key, update,
    showError(text) {
      message.textContent = text ?? "";
      message.hidden = !text;
      for (const [name, value] of [["aria-invalid", "true"], ["aria-describedby", message.id]]) {
        if (text) control.setAttribute(name, value);
        else control.removeAttribute(name);
      }
    },
  };
}

/**
 * Creates a button that shows a help text, and the text.
 *
 * @param {string} label
 * @param {string} help
 */
function helping(label, help) {
  const text = element("p", { class: "help", hidden: true }, ...coded(help));
  const button = element("button", { type: "button", class: "ask", text: "?", "aria-label": words.fields.help(label), "aria-expanded": "false" });
  button.addEventListener("click", () => {
    text.hidden = !text.hidden;
    button.setAttribute("aria-expanded", String(!text.hidden));
  });
  return [button, text];
}

/**
 * Creates a field for a quantity, with a slider and a text.
 *
 * @param {Label & Range & Form & Text} of
 */
export function quantity(of) {
  const { kind = "number", write = (value) => format(kind, value), read = (text) => parse(kind, text) } = of;
  const text = element("input", { type: "text", spellcheck: "false", autocomplete: "off", placeholder: of.empty });
  text.addEventListener("change", () => of.set(text.value.trim(), false));
  const update = () => {
    if (document.activeElement !== text) text.value = of.get() ?? "";
  };
  if (of.low === undefined || of.high === undefined) return field(of, text, update);
  const range = scale(of.low, of.high);
  const slider = element("input", { type: "range", min: 0, max: STEPS, step: 1, "aria-label": words.fields.slider(of.label) });
  slider.addEventListener("input", () => {
    const exact = range.value(Number(slider.value));
    text.value = write(of.whole ? Math.round(exact) : exact);
    slider.setAttribute("aria-valuetext", text.value);
    of.set(text.value, true);
  });
  return field(of, text, () => {
    update();
    const value = read(text.value || (of.empty ?? ""));
    if (Number.isFinite(value)) slider.value = String(range.at(value));
    slider.setAttribute("aria-valuetext", text.value);
  }, slider);
}

/**
 * Creates a field with a choice of words.
 *
 * @param {Label & {options: () => string[][], get: () => string | undefined, set: (value: string) => void}} of
 */
export function choice(of) {
  const select = element("select");
  select.addEventListener("change", () => of.set(select.value));
  let words = "";
  return field(of, select, () => {
    const options = of.options();
    if (words !== JSON.stringify(options)) {
      words = JSON.stringify(options);
      select.replaceChildren(...options.map(([value, text]) => element("option", { value, text })));
    }
    select.value = of.get() ?? "";
  });
}

/**
 * Creates a check box.
 *
 * @param {Label & {get: () => boolean | undefined, set: (on: boolean) => void}} of
 */
export function toggle(of) {
  const box = element("input", { type: "checkbox" });
  box.addEventListener("change", () => of.set(box.checked));
  const made = field(of, box, () => { box.checked = Boolean(of.get()); });
  made.row.classList.add("switch");
  made.row.prepend(box);
  return made;
}
