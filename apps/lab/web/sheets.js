/** Printed sheets of lessons, with or without answers. */

import { $, element } from "./dom.js";
import { OWN } from "./lesson.js";
import { words } from "./words.js";

/** @import { Lesson } from "./lesson.js" */

/** Returns a line for handwriting. */
const line = () => element("p", { class: "blank" });

/**
 * @param {Lesson} lesson
 * @param {boolean} answers
 */
function sheetOf({ id, right, texts, change }, answers) {
  const options = texts.options.map((text, i) => element("li", { text: `${answers && i === right ? "☒" : "☐"} ${text}` }));
  const solved = (/** @type {string} */ text) => (answers ? [element("p", { class: "solved", text })] : [line(), line(), line()]);
  const tried = Object.keys(change).length
    ? [element("h3", { text: words.lesson.tryHead }), element("p", { text: words.sheet.measured }), line()]
    : [];
  return element("article", {},
    element("h2", { text: texts.title }),
    ...(id === OWN ? [] : [element("p", { class: "where", text: new URL(`#lesson=${id}`, location.href).href })]),
    element("p", { text: texts.text }),
    element("h3", { text: words.lesson.predict(texts.predict) }), element("ul", {}, ...options),
    ...tried,
    element("h3", { text: words.lesson.explainHead }), element("p", { text: words.sheet.why }), ...solved(texts.why),
    element("p", { text: texts.question }), ...solved(texts.answer));
}

/**
 * Prints a sheet per lesson.
 *
 * @param {Lesson[]} lessons
 * @param {boolean} answers
 */
export function printSheets(lessons, answers) {
  const head = element("p", { class: "head", text: answers ? words.sheet.answers : words.sheet.head });
  $("sheet").replaceChildren(...lessons.map((lesson) => {
    const sheet = sheetOf(lesson, answers);
    sheet.prepend(head.cloneNode(true));
    return sheet;
  }));
  document.body.classList.add("printing");
  window.addEventListener("afterprint", () => document.body.classList.remove("printing"), { once: true });
  window.print();
}
