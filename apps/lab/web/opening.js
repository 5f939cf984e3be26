/** Opens scenarios: presets, lessons, files, and links to the page. */

import { $ } from "./dom.js";
import { readFiles, readScenario } from "./files.js";
import { LESSONS } from "./lessons.js";
import { preset } from "./presets.js";
import { decode, encode } from "./share.js";
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

export class Opening {
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
   */
  #load(scenario, layout = null, stored = null) {
    this.page.clock.reset(scenario);
    this.notice("");
    this.page.lab.load(scenario, layout, stored);
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
    this.page.controls.forLesson([]);
    $("compare").value = this.page.lab.compare = "";
    this.page.lessons.open(lesson);
    this.#load(structuredClone(lesson.scenario));
    this.page.clock.setSpeed(nearest(lesson.speed));
    $("lessons-open").setAttribute("aria-expanded", "true");
    history.replaceState(null, "", `#lesson=${lesson.id}`);
    $("preset").value = "";
  }

  closeLesson() {
    this.page.lessons.close();
    this.page.controls.forLesson([]);
    $("lessons-open").setAttribute("aria-expanded", "false");
    history.replaceState(null, "", location.pathname);
  }

  /** Opens a scenario with its traces, saved tables, or both. The tables are results of the scenario. */
  async openFiles() {
    $("files").open = false;
    const { lab } = this.page;
    try {
      const { scenario, stored } = await readFiles([...$("file").files ?? []], lab.scenario);
      if (scenario) {
        this.closeLesson();
        $("preset").value = "";
      }
      this.#load(scenario ?? lab.scenario, scenario ? null : lab.layout, stored);
    } catch (error) {
      this.notice(/** @type {Error} */ (error).message);
    }
    $("file").value = "";
  }

  async share() {
    const { lab: { scenario, layout, compare }, clock: { speed, time } } = this.page;
    try {
      history.replaceState(null, "", await encode({ scenario, layout, compare, speed, time }));
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
    try {
      if (lesson) this.openLesson(lesson);
      else if (hash.startsWith("#s=")) this.#openLink(await decode(hash));
      else if (offered && !hash) {
        const stored = await fetchResult();
        this.#load(stored.scenario, null, stored);
        $("preset").value = "";
      } else {
        await this.openPreset("t1");
        if (hash.startsWith("#lesson=")) this.notice(`There is no lesson “${hash.slice(8)}”; there are ${LESSONS.map(({ id }) => id).join(", ")}.`);
      }
    } catch (error) {
      await this.openPreset("t1");
      this.notice(/** @type {Error} */ (error).message);
    }
  }

  /** @param {Shared} link */
  #openLink({ scenario, layout, compare, speed, time }) {
    const { lab, clock } = this.page;
    $("compare").value = lab.compare = lab.catalogue.laws.some(({ name }) => name === compare) ? compare : "";
    this.#load(scenario, { ...arrange(scenario), ...layout });
    if (SPEEDS.includes(speed)) clock.setSpeed(speed);
    if (time > 0) clock.time = time;
    $("preset").value = "";
  }

  /** @param {string} name */
  async openPreset(name) {
    $("preset").value = name;
    await this.loadText(await preset(name), (text) => this.notice(text));
  }
}
