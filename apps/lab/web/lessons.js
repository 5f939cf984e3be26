/** Panel of a lesson: a prediction, an experiment and a question. */

import { course } from "./course.js";
import { element } from "./dom.js";
import { measured, OWN, reached } from "./lesson.js";
import { words } from "./words.js";

/**
 * @import { Field } from "./fields.js"
 * @import { Drag, Lesson } from "./lesson.js"
 * @import { Result } from "./types.js"
 */

/** Panel of the open lesson. */
export class Lessons {
  /** Open lesson. @type {Lesson | null} */
  lesson = null;
  /** Lessons of the course; empty before the first one is opened. @type {Lesson[]} */
  course = [];
  /** Lesson from a file of the user. @type {Lesson | null} */
  own = null;
  /** Newest result. @type {Result | null} */
  #result = null;
  /** Option that the user predicted. @type {number | null} */
  #predicted = null;
  /** True after the experiment: its explanation is visible. */
  #explained = false;
  #measured = element("p", { class: "measured", role: "status", "aria-live": "polite" });
  #verdict = element("p", { class: "verdict", role: "status" });
  #experiment = element("div");
  #question = element("div");

  /**
   * @param {HTMLElement} place
   * @param {{open: (lesson: Lesson) => void, fields: (drag: Drag[]) => Field[], close: () => void}} act
   */
  constructor(place, act) {
    this.place = place;
    this.act = act;
  }

  /** Loads the course. */
  async load() {
    this.course = await course();
  }

  /**
   * Returns the lesson with an id.
   *
   * @param {string} id
   */
  find(id) {
    return id === OWN ? this.own : this.course.find((lesson) => lesson.id === id) ?? null;
  }

  /** Plot of the open lesson; undefined without a lesson. */
  get plot() {
    return this.lesson?.plot;
  }

  /** @param {Lesson} lesson */
  open(lesson) {
    this.lesson = lesson;
    this.#predicted = null;
    this.#explained = false;
    this.#verdict.textContent = "";
    this.#verdict.classList.remove("right");
    document.body.classList.add("with-lesson");
    document.body.classList.toggle("concealed", lesson.concealed);
    this.#measured.textContent = "";
    this.place.hidden = false;
    const nav = element("nav", { class: "course", "aria-label": words.page.lessons }, ...this.course.map((one, i) => {
      const { title } = one.texts;
      const button = element("button", { type: "button", text: String(i + 1), title, "aria-label": words.lesson.name(i + 1, title),
        "aria-pressed": String(one === lesson) });
      button.addEventListener("click", () => this.act.open(one));
      return button;
    }));
    const close = element("button", { type: "button", text: words.lesson.close });
    close.addEventListener("click", () => this.act.close());
    const number = this.course.indexOf(lesson) + 1;
    const { title, text } = lesson.texts;
    const heading = number ? words.lesson.title(number, this.course.length, title) : words.lesson.own(title);
    const head = element("header", {}, element("h2", { text: heading }), nav, close);
    /** @param {string} step */
    const locked = (step) => element("p", { class: "locked", text: words.lesson.opensAfter(step) });
    this.#experiment.replaceChildren(element("h3", { text: words.lesson.tryHead }), locked(words.lesson.prediction));
    this.#question.replaceChildren(element("h3", { text: words.lesson.explainHead }), locked(words.lesson.experiment));
    const steps = element("div", { class: "steps" }, this.#prediction(lesson), this.#experiment, this.#question);
    this.place.replaceChildren(head, element("p", { text }), steps);
  }

  /**
   * Creates the question of the prediction, with its options.
   *
   * @param {Lesson} lesson
   */
  #prediction(lesson) {
    const { predict, options } = lesson.texts;
    const rows = options.map((text, i) => {
      const radio = element("input", { type: "radio", name: "prediction", value: String(i) });
      radio.addEventListener("change", () => {
        const first = this.#predicted === null;
        this.#predicted = i;
        if (first) this.#unlock(lesson);
        this.#judge();
      });
      return element("label", { class: "option" }, radio, element("span", { text }));
    });
    return element("fieldset", {}, element("legend", { text: words.lesson.predict(predict) }), ...rows, this.#verdict);
  }

  /** Judges the prediction: with a hint before the experiment, with right or wrong after it. */
  #judge() {
    const { lesson } = this;
    if (!lesson || this.#predicted === null) return;
    const isRight = this.#predicted === lesson.right;
    if (!this.#explained) this.#verdict.textContent = words.lesson.nowTry(isRight ? "" : lesson.texts.hints[this.#predicted]);
    else this.#verdict.textContent = isRight ? words.lesson.right : words.lesson.wrong;
    this.#verdict.classList.toggle("right", this.#explained && isRight);
  }

  /**
   * Shows the experiment.
   *
   * @param {Lesson} lesson
   */
  #unlock(lesson) {
    document.body.classList.remove("concealed");
    const rows = this.act.fields(lesson.fields).map((field) => field.row);
    const explain = element("button", { type: "button", text: words.lesson.explain });
    explain.addEventListener("click", () => this.#explain(lesson));
    this.#experiment.replaceChildren(element("h3", { text: words.lesson.tryNow }), ...rows, this.#measured);
    this.#question.replaceChildren(element("h3", { text: words.lesson.explainHead }),
      element("p", { class: "locked", text: words.lesson.opensHere }), explain);
    this.#showMeasured();
  }

  /**
   * Shows the explanation and the question.
   *
   * @param {Lesson} lesson
   */
  #explain(lesson) {
    this.#explained = true;
    this.#judge();
    const { why, question, answer } = lesson.texts;
    const solution = element("details", {}, element("summary", { text: words.lesson.answer }), element("p", { text: answer }));
    this.#question.replaceChildren(element("h3", { text: words.lesson.explainHead }), element("p", { text: why }),
      element("p", { class: "asked", text: question }), ...checked(lesson), solution);
    const number = this.course.indexOf(lesson);
    const next = number < 0 ? undefined : this.course[number + 1];
    if (next) {
      const button = element("button", { type: "button", class: "main", text: words.lesson.next(next.texts.title) });
      button.addEventListener("click", () => this.act.open(next));
      this.#question.append(button);
    }
  }

  /**
   * Shows the measured values of a run.
   *
   * @param {Result} result
   */
  show(result) {
    this.#result = result;
    this.#showMeasured();
  }

  #showMeasured() {
    const { lesson } = this;
    if (!lesson || this.#predicted === null || !this.#result?.summary) return;
    this.#measured.textContent = measured(lesson, this.#result);
    if (!this.#explained && reached(lesson, this.#result.scenario)) this.#explain(lesson);
  }

  close() {
    this.lesson = null;
    document.body.classList.remove("with-lesson", "concealed");
    this.place.hidden = true;
    this.place.replaceChildren();
  }
}

/**
 * Creates a field for the number that answers the question, with a check.
 *
 * @param {Lesson} lesson
 */
function checked({ check, texts: { check: label = "", hint = "" } }) {
  if (!check) return [];
  const { value, tolerance } = check;
  const input = element("input", { type: "text", inputmode: "decimal", autocomplete: "off" });
  const button = element("button", { type: "submit", text: words.lesson.check });
  const verdict = element("p", { class: "verdict", role: "status" });
  const form = element("form", { class: "check" }, element("label", {}, `${label} `, input), button, verdict);
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const found = Number(input.value.trim().replace(",", "."));
    const isRight = input.value.trim() !== "" && Math.abs(found - value) <= tolerance;
    verdict.textContent = isRight ? words.lesson.correct : hint;
    verdict.classList.toggle("right", isRight);
  });
  return [form];
}
