/** Opens scenarios: presets, lessons, files, and links to the page. */

import { $ } from "./dom.js";
import { readFiles, readScenario } from "./files.js";
import { LESSONS } from "./lessons.js";
import { preset, PRESETS } from "./presets.js";
import { decode, encode, isScenario } from "./share.js";
import { nearest, SPEEDS } from "./speeds.js";
import { arrange } from "./stage.js";
import { fetchResult, offered } from "./stored.js";

/**
 * @import { Clock } from "./clock.js"
 * @import { Controls } from "./controls.js"
 * @import { Lesson, Lessons } from "./lessons.js"
 * @import { Shared } from "./share.js"
 * @import { State } from "./state.js"
 * @import { Layout, Result, Scenario } from "./types.js"
 */

/** Key of the kept state. Each address of a server has its own state. */
const KEPT = `levelflow-lab ${location.pathname}`;

export class Opening {
  /** Scenario of the link in the address, in JSON. */
  #linked = "";

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
   * Shows a scenario from a file, a link or a lesson.
   *
   * @param {Scenario} scenario
   * @param {Layout | null} layout
   * @param {Result | null} stored
   * @param {{preset?: string, lesson?: string, compare?: string}} origin
   */
  #load(scenario, layout = null, stored = null, origin = {}) {
    this.page.clock.reset(scenario);
    this.notice("");
    this.page.lab.load(scenario, layout, stored, origin);
  }

  /** Keeps the state for a reload of this tab. An edit removes an outdated link from the address. */
  keep() {
    const { lab: { scenario, layout, compare, preset, lesson, stored }, clock: { speed, time } } = this.page;
    if (location.hash.startsWith("#s=") && this.#linked !== JSON.stringify(scenario)) {
      history.replaceState(null, "", location.pathname + location.search);
    }
    try {
      if (stored) sessionStorage.removeItem(KEPT);
      else sessionStorage.setItem(KEPT, JSON.stringify({ scenario, layout, compare, speed, time, preset, lesson }));
    } catch {
      // The browser permits no storage, or the scenario is too large for it.
    }
  }

  /** Returns the state before a reload, or null. @returns {Shared | null} */
  #kept() {
    try {
      const state = JSON.parse(sessionStorage.getItem(KEPT) ?? "null");
      return isScenario(state?.scenario) ? state : null;
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
      this.#load(await readScenario(text));
      return true;
    } catch (error) {
      onError(/** @type {Error} */ (error).message);
      return false;
    }
  }

  /** @param {Lesson} lesson */
  openLesson(lesson) {
    this.showLesson(lesson);
    this.#load(structuredClone(lesson.scenario), null, null, { lesson: lesson.id, compare: "" });
    this.page.clock.setSpeed(nearest(lesson.speed));
  }

  /**
   * Shows the text of a lesson.
   *
   * @param {Lesson} lesson
   */
  showLesson(lesson) {
    this.page.controls.forLesson([]);
    this.page.lessons.open(lesson);
    $("lessons-open").setAttribute("aria-expanded", "true");
    history.replaceState(null, "", `#lesson=${lesson.id}`);
  }

  /** Hides the lesson. Its network stays open. */
  closeLesson() {
    this.hideLesson();
    this.page.lab.rerun({ lesson: "" });
  }

  hideLesson() {
    this.page.lessons.close();
    this.page.controls.forLesson([]);
    $("lessons-open").setAttribute("aria-expanded", "false");
    history.replaceState(null, "", location.pathname + location.search);
  }

  /** Undoes the last edit or the last change of the network. */
  undo() {
    const { lab } = this.page;
    const before = lab.lesson;
    lab.undoLast();
    if (lab.lesson === before) return;
    const lesson = LESSONS.find(({ id }) => id === lab.lesson);
    if (lesson) this.showLesson(lesson);
    else this.hideLesson();
    lab.rerun({});
  }

  /** Opens a scenario with its traces, saved tables, or both. The tables are results of the scenario. */
  async openFiles() {
    $("files").open = false;
    const { lab } = this.page;
    try {
      const { scenario, stored } = await readFiles([...$("file").files ?? []], lab.scenario);
      if (scenario) this.hideLesson();
      this.#load(scenario ?? lab.scenario, scenario ? null : lab.layout, stored);
    } catch (error) {
      this.notice(/** @type {Error} */ (error).message);
    }
    $("file").value = "";
  }

  async share() {
    const { lab: { scenario, layout, compare, lesson }, clock: { speed, time } } = this.page;
    try {
      history.replaceState(null, "", await encode({ scenario, layout, compare, speed, time, lesson }));
      this.#linked = JSON.stringify(scenario);
    } catch (error) {
      this.notice(/** @type {Error} */ (error).message);
      return;
    }
    try {
      await navigator.clipboard.writeText(location.href);
      this.notice("The link is copied. It opens this network with these values.");
    } catch {
      this.notice("The link is in the address bar; copy it from there.");
    }
  }

  /** Opens the lesson or network of the page's address; the first preset if there is none. */
  async openAddress() {
    const { hash } = location;
    const lesson = LESSONS.find(({ id }) => hash === `#lesson=${id}`);
    const network = PRESETS.find(([name]) => hash === `#network=${name}`);
    const kept = this.page.lab.version === 0 ? this.#kept() : null;
    try {
      if (kept && !hash.startsWith("#s=") && (!hash || kept.lesson === lesson?.id)) this.#openLink(kept);
      else if (lesson) this.openLesson(lesson);
      else if (hash.startsWith("#s=")) this.#openLink(await decode(hash));
      else if (offered && !hash) {
        const stored = await fetchResult();
        this.#load(stored.scenario, null, stored);
      } else if (network) await this.openPreset(network[0]);
      else {
        await this.openFirst();
        if (hash.startsWith("#lesson=")) this.notice(`There is no lesson “${hash.slice(8)}”; there are ${LESSONS.map(({ id }) => id).join(", ")}.`);
      }
    } catch (error) {
      await this.openFirst();
      this.notice(/** @type {Error} */ (error).message);
    }
  }

  /** @param {Shared} link */
  #openLink({ scenario, layout, compare: law, speed, time, preset: name = "", lesson: id }) {
    const { lab, clock } = this.page;
    const compare = lab.catalogue.laws.some(({ name }) => name === law) ? law : "";
    const lesson = LESSONS.find((one) => one.id === id);
    this.#linked = JSON.stringify(scenario);
    if (lesson) this.showLesson(lesson);
    this.#load(scenario, { ...arrange(scenario), ...layout }, null, { preset: name, lesson: lesson?.id, compare });
    if (SPEEDS.includes(speed)) clock.setSpeed(speed);
    if (time > 0) clock.time = time;
  }

  /** @param {string} name */
  async openPreset(name) {
    this.#load(await readScenario(await preset(name)), null, null, { preset: name });
  }

  /** Opens the first view of a new user: CUBIC compared with Level on one line. */
  async openFirst() {
    this.#load(await readScenario(await preset("pair")), null, null, { preset: "pair", compare: "level" });
  }
}
