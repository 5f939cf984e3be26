/** Form fields: a label, a slider for a range, a text, and room for an error message. */

import { format, parse } from "./units.js";

const STEPS = 400;

function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key === "text") made.textContent = value;
    else if (value === true) made.setAttribute(key, "");
    else if (value !== false && value !== undefined && value !== null) made.setAttribute(key, value);
  }
  made.append(...children);
  return made;
}

export { element };

/** Maps slider positions to values. The scale is logarithmic unless the range begins at 0. */
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

let names = 0;

/** Creates the element for a field's error message. */
function messages(control) {
  names += 1;
  const message = element("p", { class: "wrong", id: `wrong-${names}`, role: "alert", hidden: true });
  return {
    message,
    say(text) {
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
 * @param {{label: string, key: string, kind: string, low?: number, high?: number, help?: string, whole?: boolean,
 *   get: () => string, set: (text: string) => void, write?: (value: number) => string}} of its properties; without
 *   `low`, there is no slider
 */
export function quantity(of) {
  names += 1;
  const id = `field-${names}`;
  const text = element("input", { id, type: "text", spellcheck: "false", autocomplete: "off", "data-key": of.key, placeholder: of.empty });
  const { message, say } = messages(text);
  const label = element("label", { for: id, text: of.label, title: of.help });
  const row = element("div", { class: "field" }, label, text);
  let slider = null;
  const write = of.write ?? ((value) => format(of.kind, value));
  if (of.low !== undefined) {
    const range = scale(of.low, of.high);
    slider = element("input", { type: "range", min: 0, max: STEPS, step: 1, "aria-label": `${of.label}, slider` });
    slider.addEventListener("input", () => {
      const exact = range.value(Number(slider.value));
      const value = of.whole ? Math.round(exact) : exact;
      text.value = write(value);
      slider.setAttribute("aria-valuetext", text.value);
      of.set(text.value, true);
    });
    slider.moveTo = (value) => {
      if (Number.isFinite(value)) slider.value = String(range.at(value));
      slider.setAttribute("aria-valuetext", text.value);
    };
    row.append(slider);
  }
  row.append(message);
  text.addEventListener("change", () => of.set(text.value.trim(), false));
  const read = of.read ?? ((typed) => parse(of.kind, typed));
  const update = () => {
    if (document.activeElement !== text) text.value = of.get() ?? "";
    slider?.moveTo(read(text.value || of.empty));
  };
  update();
  return { row, key: of.key, say, update, control: text };
}

/** Creates a field that offers a choice of words. */
export function choice(of) {
  names += 1;
  const id = `field-${names}`;
  const select = element("select", { id, "data-key": of.key });
  const { message, say } = messages(select);
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
  return { row, key: of.key, say, update, control: select };
}

/** Creates a field that is on or off. */
export function toggle(of) {
  names += 1;
  const id = `field-${names}`;
  const box = element("input", { id, type: "checkbox", "data-key": of.key });
  const { message, say } = messages(box);
  box.addEventListener("change", () => of.set(box.checked));
  const update = () => {
    box.checked = Boolean(of.get());
  };
  update();
  const row = element("div", { class: "field switch" }, box, element("label", { for: id, text: of.label, title: of.help }), message);
  return { row, key: of.key, say, update, control: box };
}
