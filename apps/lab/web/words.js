/** Texts of the page, in its language: that of the address (`?lang=de`), or else that of the browser. */

import { DE } from "./words/de.js";
import { EN } from "./words/en.js";

/** Names and texts of the languages. */
export const LANGUAGES = { en: { name: "English", words: EN }, de: { name: "Deutsch", words: DE } };

/** @typedef {keyof typeof LANGUAGES} Language */

/**
 * Returns the first available language.
 *
 * @param {(string | null | undefined)[]} wanted
 * @returns {Language}
 */
function available(wanted) {
  const codes = wanted.map((code) => code?.slice(0, 2) ?? "");
  return /** @type {Language} */ (codes.find((code) => Object.hasOwn(LANGUAGES, code)) ?? "en");
}

export const language = available([new URLSearchParams(globalThis.location?.search).get("lang"), globalThis.navigator?.language]);
export const { words } = LANGUAGES[language];

/** Puts the texts into the page: contents, titles and labels of the elements that name them. */
export function translate() {
  document.documentElement.lang = language;
  /** @type {{[key: string]: string}} */
  const texts = words.page;
  for (const one of /** @type {NodeListOf<HTMLElement>} */ (document.querySelectorAll("[data-word], [data-title], [data-label]"))) {
    const { word, title, label } = one.dataset;
    if (word) one.textContent = texts[word];
    if (title) one.title = texts[title];
    if (label) one.ariaLabel = texts[label];
  }
}
