/** Opens scenarios: presets, lessons, files, and links to the page. */

import { $ } from "./dom.js";
import { readFiles, readScenario } from "./files.js";
import { COURSE, lessonOf, OWN } from "./lesson.js";
import { preset, PRESETS } from "./presets.js";
import { decode, encode, isScenario } from "./share.js";
import { printSheets } from "./sheets.js";
import { nearest, SPEEDS, suitable } from "./speeds.js";
import { arrange } from "./stage.js";
import { fetchResult, offered } from "./stored.js";
import { parse } from "./units.js";
import { words } from "./words.js";

/**
 * @import { Clock } from "./clock.js"
 * @import { Controls } from "./controls.js"
 * @import { Lesson } from "./lesson.js"
 * @import { Lessons } from "./lessons.js"
 * @import { Shared } from "./share.js"
 * @import { State } from "./state.js"
 * @import { Layout, Result, Scenario } from "./types.js"
 */

/** Key of the kept state. Each address of a server has its own state. */
const KEPT = `levelflow-lab ${location.pathname}`;

export class Opening {
  /** State that the address names, in JSON. */
  #named = "";

  /** @param {{lab: State, clock: Clock, controls: Controls, lessons: Lessons}} page */
  constructor(page) {
    this.page = page;
  }

  /** @param {string} text */
  notice(text) {
    $("notice").textContent = text;
    $("notice").hidden = !text;
  }

  /**
   * Shows a scenario from a file, a link or a lesson. Opens the lesson of the scenario, or closes the open lesson.
   *
   * @param {Scenario} scenario
   * @param {{layout?: Layout | null, stored?: Result | null, preset?: string, lesson?: string, compare?: string,
   *   speed?: number, time?: number}} more
   */
  #load(scenario, { layout = null, stored = null, speed = suitable(scenario), time = NaN, ...origin } = {}) {
    const { lab, clock } = this.page;
    clock.setSpeed(speed);
    clock.time = time >= 0 ? time : 0.2 * (parse("time", scenario.duration) || 0);
    this.notice("");
    this.#showLesson(origin.lesson);
    lab.load(scenario, layout, stored, origin);
  }

  /** Returns the part of the state that an address names, in JSON. */
  #state() {
    const { scenario, layout, compare, lesson } = this.page.lab;
    return JSON.stringify({ scenario, layout, compare, lesson });
  }

  /** @param {string} hash */
  #setHash(hash) {
    if (hash !== location.hash) history.replaceState(null, "", hash || location.pathname + location.search);
  }

  /**
   * Puts a fragment that names the current state into the address.
   *
   * @param {string} hash
   */
  #name(hash) {
    this.#setHash(hash);
    this.#named = this.#state();
    this.keep();
  }

  /** Keeps the state for a reload of this tab. An edit removes an outdated link or network from the address. */
  keep() {
    const { lab: { scenario, layout, compare, preset, lesson, stored }, lessons, clock: { speed, time } } = this.page;
    if (this.#named !== this.#state()) this.#setHash(lesson && `#lesson=${lesson}`);
    const { hash } = location;
    try {
      if (stored) sessionStorage.removeItem(KEPT);
      else sessionStorage.setItem(KEPT, JSON.stringify({ hash, scenario, layout, compare, speed, time, preset, lesson, own: ownOf(lesson, lessons) }));
    } catch {
      // The browser permits no storage, or the scenario is too large for it.
    }
  }

  /** Returns the state before a reload, or null if the address is new. @returns {Shared | null} */
  #kept() {
    const { hash } = location;
    try {
      const state = JSON.parse(sessionStorage.getItem(KEPT) ?? "null");
      return isScenario(state?.scenario) && (!hash || hash === state.hash) ? state : null;
    } catch {
      return null;
    }
  }

  /**
   * Shows a scenario in TOML. Returns false after an error, and passes the error to `onError`.
   *
   * @param {string} text
   * @param {(text: string) => void} onError
   */
  async loadText(text, onError) {
    try {
      this.#open(await readScenario(text));
      return true;
    } catch (error) {
      onError(/** @type {Error} */ (error).message);
      return false;
    }
  }

  /**
   * Shows the scenario of a file, or opens its lesson.
   *
   * @param {Scenario & {lesson?: unknown}} file
   * @param {Result | null} stored
   */
  #open(file, stored = null) {
    if (file.lesson === undefined) this.#load(file, { stored });
    else {
      this.page.lessons.own = lessonOf(OWN, file);
      this.openLesson(this.page.lessons.own);
    }
  }

  /** Opens the first lesson of the course, or closes the open lesson. */
  async toggleLessons() {
    const { lessons } = this.page;
    if (lessons.lesson) {
      this.closeLesson();
      return;
    }
    await lessons.load();
    this.openLesson(lessons.course[0]);
  }

  /**
   * Prints the sheet of the open lesson, or those of the course.
   *
   * @param {boolean} answers
   */
  async printLessons(answers) {
    $("files").open = false;
    const { lessons } = this.page;
    await lessons.load();
    printSheets(lessons.lesson ? [lessons.lesson] : lessons.course, answers);
  }

  /**
   * Opens a lesson; an open lesson starts again.
   *
   * @param {Lesson} lesson
   */
  openLesson({ id, scenario, speed }) {
    this.#showLesson("");
    this.#load(structuredClone(scenario), { lesson: id, compare: "", speed: nearest(speed) });
  }

  /**
   * Shows the text of a lesson, or hides the lesson if the id is empty. An open lesson stays as it is.
   *
   * @param {string} id
   */
  #showLesson(id = "") {
    const { controls, lessons } = this.page;
    if (id === (lessons.lesson?.id ?? "")) return;
    const lesson = lessons.find(id);
    controls.forLesson([]);
    if (lesson) lessons.open(lesson);
    else lessons.close();
    $("lessons-open").setAttribute("aria-expanded", String(Boolean(lesson)));
  }

  /** Closes the lesson. Its network stays open. */
  closeLesson() {
    this.#showLesson("");
    this.page.lab.rerun({ lesson: "" });
  }

  /** Undoes the last edit or the last change of the network. */
  undo() {
    const { lab } = this.page;
    const before = lab.lesson;
    lab.undoLast();
    if (lab.lesson === before) return;
    this.#showLesson(lab.lesson);
    lab.rerun({});
  }

  /** Opens a scenario with its traces, saved tables, or both. The tables are results of the scenario. */
  async openFiles() {
    $("files").open = false;
    const { lab } = this.page;
    try {
      const { scenario, stored } = await readFiles([...$("file").files ?? []], lab.scenario);
      if (scenario) this.#open(scenario, stored);
      else this.#load(lab.scenario, { stored, layout: lab.layout, lesson: lab.lesson });
    } catch (error) {
      this.notice(/** @type {Error} */ (error).message);
    }
    $("file").value = "";
  }

  async share() {
    const { lab: { scenario, layout, compare, lesson }, lessons, clock: { speed, time } } = this.page;
    try {
      this.#name(await encode({ scenario, layout, compare, speed, time, lesson, own: ownOf(lesson, lessons) }));
    } catch (error) {
      this.notice(/** @type {Error} */ (error).message);
      return;
    }
    try {
      await navigator.clipboard.writeText(location.href);
      this.notice(words.links.copied);
    } catch {
      this.notice(words.links.inBar);
    }
  }

  /** Opens the lesson or network of the page's address; the first preset if there is none. */
  async openAddress() {
    const { hash } = location;
    const lesson = COURSE.find((id) => hash === `#lesson=${id}`);
    const network = PRESETS.find(([name]) => hash === `#network=${name}`);
    const kept = this.page.lab.version === 0 ? this.#kept() : null;
    try {
      if (kept) await this.#openLink(kept, hash);
      else if (lesson) {
        await this.page.lessons.load();
        this.openLesson(/** @type {Lesson} */ (this.page.lessons.find(lesson)));
      } else if (hash.startsWith("#s=")) await this.#openLink(await decode(hash), hash);
      else if (offered && !hash) {
        const stored = await fetchResult();
        this.#load(stored.scenario, { stored });
      } else if (network) {
        await this.openPreset(network[0]);
        this.#name(hash);
      } else {
        await this.openFirst();
        if (hash.startsWith("#lesson=")) this.notice(words.links.noLesson(hash.slice(8), COURSE.join(", ")));
      }
    } catch (error) {
      await this.openFirst();
      this.notice(/** @type {Error} */ (error).message);
    }
  }

  /**
   * @param {Shared} link
   * @param {string} hash fragment of the link
   */
  async #openLink({ scenario, layout, compare: law, speed, time, preset, lesson: id = "", own }, hash) {
    const { lessons } = this.page;
    if (id) await lessons.load();
    if (id === OWN) lessons.own = lessonOf(OWN, { ...scenario, lesson: own });
    this.#load(scenario, {
      layout: { ...arrange(scenario), ...layout }, preset, lesson: lessons.find(id)?.id,
      compare: this.page.lab.catalogue.laws.some(({ name }) => name === law) ? law : "",
      speed: SPEEDS.includes(speed) ? speed : undefined, time,
    });
    this.#name(hash);
  }

  /**
   * Reloads the page in another language, with the same state.
   *
   * @param {string} code
   */
  changeLanguage(code) {
    this.keep();
    const query = new URLSearchParams(location.search);
    query.set("lang", code);
    location.search = String(query);
  }

  /** Opens an empty drawing. */
  openEmpty() {
    this.#load({ name: "own network", duration: "30 s", link: [], flow: [] }, { compare: "" });
  }

  /** @param {string} name */
  async openPreset(name) {
    this.#load(await readScenario(await preset(name)), { preset: name });
  }

  /** Opens the first view of a new user: CUBIC compared with Level on one line. */
  async openFirst() {
    this.#load(await readScenario(await preset("pair")), { preset: "pair", compare: "level" });
  }
}

/**
 * Returns the table of the user's own lesson, if it is open.
 *
 * @param {string} id
 * @param {Lessons} lessons
 */
function ownOf(id, lessons) {
  return id === OWN ? lessons.own?.file : undefined;
}
