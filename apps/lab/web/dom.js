/** Elements of the page: look-up by id, and creation. */

/**
 * Elements with properties of their own, by id.
 *
 * @typedef {object} Elements
 * @property {HTMLButtonElement} undo
 * @property {HTMLButtonElement} remove
 * @property {HTMLButtonElement} stop
 * @property {HTMLSelectElement} preset
 * @property {HTMLSelectElement} law-all
 * @property {HTMLSelectElement} compare
 * @property {HTMLSelectElement} speed
 * @property {HTMLSelectElement} language
 * @property {HTMLInputElement} scrub
 * @property {HTMLInputElement} file
 * @property {HTMLDialogElement} steer
 * @property {HTMLInputElement} steer-rate
 * @property {HTMLDetailsElement} files
 * @property {HTMLDetailsElement} text-box
 * @property {HTMLTextAreaElement} toml
 */

/** @typedef {{[name: string]: string | number | boolean | null | undefined}} Attributes */

/**
 * Returns the element with an id.
 *
 * @template {string} Id
 * @param {Id} id
 * @returns {Id extends keyof Elements ? Elements[Id] : HTMLElement}
 */
export function $(id) {
  return /** @type {any} */ (document.getElementById(id));
}

/**
 * Sets the attributes and children of a new element. The attribute `text` sets its text; `true` sets an attribute
 * without a value.
 *
 * @template {Element} Made
 * @param {Made} made
 * @param {Attributes} attributes
 * @param {(Node | string)[]} children
 */
function filled(made, attributes, children) {
  for (const [key, value] of Object.entries(attributes)) {
    if (key === "text") made.textContent = String(value ?? "");
    else if (value === true) made.setAttribute(key, "");
    else if (value !== false && value !== undefined && value !== null) made.setAttribute(key, String(value));
  }
  made.append(...children);
  return made;
}

/**
 * Creates an HTML element.
 *
 * @template {keyof HTMLElementTagNameMap} Name
 * @param {Name} name
 * @param {Attributes} attributes
 * @param {(Node | string)[]} children
 */
export function element(name, attributes = {}, ...children) {
  return filled(document.createElement(name), attributes, children);
}

/**
 * Creates an SVG element.
 *
 * @template {keyof SVGElementTagNameMap} Name
 * @param {Name} name
 * @param {Attributes} attributes
 * @param {(Node | string)[]} children
 */
export function shape(name, attributes, ...children) {
  return filled(document.createElementNS("http://www.w3.org/2000/svg", name), attributes, children);
}

/**
 * Returns a text with its parts in backticks as code.
 *
 * @param {string} text
 */
export function coded(text) {
  return text.split("`").map((part, i) => (i % 2 ? element("code", { text: part }) : part));
}
