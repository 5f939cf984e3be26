/** Form fields: a label, a slider or a choice, a text, and an error message. */

import { element } from "./dom.js";
import { format, parse } from "./units.js";

/** @import { Kind } from "./types.js" */

/**
 * Field in the page. `update` shows the current value; `showError` shows or hides an error message.
 *
 * @typedef {{row: HTMLElement, key: string, update: () => void, showError: (text: string | null) => void}} Field
 * @typedef {{label: string, key: string, help?: string}} Label
 * @typedef {{low?: number, high?: number, label?: string}} Range range of a slider; without `low`, there is no slider
 * @typedef {{kind?: Kind, empty?: string, whole?: boolean, write?: (value: number) => string,
 *   read?: (text: string) => number}} Form units and form of a quantity; `empty` is the meaning of an empty text
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

let ids = 0;

/**
 * Creates the element for the error message of a control.
 *
 * @param {HTMLElement} control
 */
function errorOf(control) {
  ids += 1;
  const message = element("p", { class: "wrong", id: `wrong-${ids}`, role: "alert", hidden: true });
  return {
    message,
    /** @param {string | null} text */
    showError(text) {
      message.textContent = text ?? "";
      message.hidden = !text;
      if (text) {
        control.setAttribute("aria-invalid", "true");
        control.setAttribute("aria-describedby", message.id);
      } else {
        control.removeAttribute("aria-invalid");
        control.removeAttribute("aria-describedby");
      }
    },
  };
}

/**
 * Creates a field for a quantity, with a slider and a text.
 *
 * @param {Label & Range & Form & Text} of
 * @returns {Field}
 */
export function quantity(of) {
  ids += 1;
  const id = `field-${ids}`;
  const text = element("input", { id, type: "text", spellcheck: "false", autocomplete: "off", "data-key": of.key, placeholder: of.empty });
  const { message, showError } = errorOf(text);
  const label = element("label", { for: id, text: of.label, title: of.help });
  const row = element("div", { class: "field" }, label, text);
  const kind = of.kind ?? "number";
  const write = of.write ?? ((value) => format(kind, value));
  const read = of.read ?? ((typed) => parse(kind, typed));
  /** Moves the slider to the value of the text. */
  let moveSlider = () => {};
  if (of.low !== undefined && of.high !== undefined) {
    const range = scale(of.low, of.high);
    const slider = element("input", { type: "range", min: 0, max: STEPS, step: 1, "aria-label": `${of.label}, slider` });
    slider.addEventListener("input", () => {
      const exact = range.value(Number(slider.value));
      const value = of.whole ? Math.round(exact) : exact;
      text.value = write(value);
      slider.setAttribute("aria-valuetext", text.value);
      of.set(text.value, true);
    });
    moveSlider = () => {
      const value = read(text.value || (of.empty ?? ""));
      if (Number.isFinite(value)) slider.value = String(range.at(value));
      slider.setAttribute("aria-valuetext", text.value);
    };
    row.append(slider);
  }
  row.append(message);
  text.addEventListener("change", () => of.set(text.value.trim(), false));
  const update = () => {
    if (document.activeElement !== text) text.value = of.get() ?? "";
    moveSlider();
  };
  update();
  return { row, key: of.key, showError, update };
}

/**
 * Creates a field with a choice of words.
 *
 * @param {Label & {options: () => string[][], get: () => string | undefined, set: (value: string) => void}} of
 * @returns {Field}
 */
export function choice(of) {
  ids += 1;
  const id = `field-${ids}`;
  const select = element("select", { id, "data-key": of.key });
  const { message, showError } = errorOf(select);
  const update = () => {
    const options = of.options();
    const words = JSON.stringify(options);
    if (select.dataset.words !== words) {
      select.dataset.words = words;
      select.replaceChildren(...options.map(([value, name]) => element("option", { value, text: name })));
    }
    select.value = of.get() ?? "";
  };
  select.addEventListener("change", () => of.set(select.value));
  const row = element("div", { class: "field" }, element("label", { for: id, text: of.label, title: of.help }), select, message);
  update();
  return { row, key: of.key, showError, update };
}

/**
 * Creates a check box.
 *
 * @param {Label & {get: () => boolean | undefined, set: (on: boolean) => void}} of
 * @returns {Field}
 */
export function toggle(of) {
  ids += 1;
  const id = `field-${ids}`;
  const box = element("input", { id, type: "checkbox", "data-key": of.key });
  const { message, showError } = errorOf(box);
  box.addEventListener("change", () => of.set(box.checked));
  const update = () => {
    box.checked = Boolean(of.get());
  };
  update();
  const row = element("div", { class: "field switch" }, box, element("label", { for: id, text: of.label, title: of.help }), message);
  return { row, key: of.key, showError, update };
}
