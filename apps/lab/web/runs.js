/** Runs of the scenario: reruns it, and shows results and errors. */

import { $, element } from "./dom.js";
import { measures, showMeasures } from "./measures.js";
import { panels, peaksOf } from "./panels.js";
import { run } from "./runner.js";
import { isComplete, lawOf, place, useMarks, withLaw } from "./scenario.js";
import { lawsOf } from "./series.js";
import { statusOf } from "./status.js";
import { format, parse } from "./units.js";
import { words } from "./words.js";

/**
 * @import { Clock } from "./clock.js"
 * @import { Controls } from "./controls.js"
 * @import { Lessons } from "./lessons.js"
 * @import { Panel } from "./panels.js"
 * @import { Side, Sides } from "./side.js"
 * @import { State } from "./state.js"
 * @import { Theory } from "./theory.js"
 * @import { Result, Scenario } from "./types.js"
 */

/** Number of changes of the scenario after which the pieces of an unfinished older run are no longer shown. */
const MAX_VERSIONS_BEHIND = 50;
/** Time after which a run shows its progress, ms. */
const SLOW_MS = 400;
/** Error of a law that needs marks in a network without them. */
const NEEDS_MARKS = /no queue on its path marks packets/;

export class Runs {
  /** @param {{lab: State, sides: Sides, clock: Clock, controls: Controls, lessons: Lessons, theory: Theory}} page */
  constructor(page) {
    this.page = page;
  }

  /** Runs the scenario, and a second law if one is chosen. A stored result is shown instead of the first run. */
  rerun() {
    const { lab, sides } = this.page;
    const { stored, compare } = lab;
    $("stored").hidden = !stored;
    $("raised").textContent = "";
    $("running").hidden = true;
    this.page.theory.wait();
    if (!isComplete(lab.scenario)) {
      this.#showEmpty();
      return;
    }
    if (stored) this.#showStored(stored);
    else this.#run(sides.a, structuredClone(lab.scenario));
    if (compare) this.#run(sides.b, withLaw(lab.scenario, compare));
    else {
      Object.assign(sides.b, { result: null, version: lab.version });
      this.#setErrors(sides.b, []);
    }
  }

  /** Shows that the scenario lacks links or flows. */
  #showEmpty() {
    const { lab, sides, theory } = this.page;
    for (const side of Object.values(sides)) {
      Object.assign(side, { result: null, version: lab.version });
      side.plots.clear();
      side.removePackets();
      this.#setErrors(side, []);
      showMeasures($(`measures-${side.name}`), []);
      $(`title-${side.name}`).textContent = "";
    }
    theory.clear();
    $("status").textContent = words.run.empty;
    document.body.dataset.redrawMs = "0";
  }

  /**
   * @param {Side} side
   * @param {Scenario} scenario
   */
  #run(side, scenario) {
    const { version } = this.page.lab;
    const started = performance.now();
    run(side.name, scenario, (result) => {
      if (this.page.lab.version - version <= MAX_VERSIONS_BEHIND || result.done) this.#onResult(side, result, version, started);
    });
  }

  /**
   * Shows a result that is complete or in progress.
   *
   * @param {Side} side
   * @param {Result} result
   * @param {number} version version of the scenario
   * @param {number} started start of the run, in ms of the page
   */
  #onResult(side, result, version, started) {
    const { lab, sides, lessons, theory } = this.page;
    if (version < side.version) return;
    const newest = version === lab.version;
    if (result.wrong) {
      if (newest && !this.#raiseRoundTrip(result.wrong)) this.#setErrors(side, result.wrong);
      return;
    }
    const passed = () => String(Math.round(performance.now() - started));
    if (newest) this.#setErrors(side, []);
    if (side === sides.a && side.version !== version) document.body.dataset.firstMs = passed();
    side.version = version;
    side.result = { ...result };
    this.#draw(side, side.result);
    if (newest) this.#showProgress(side.result, performance.now() - started);
    if (!result.done || !newest) return;
    if (side === sides.a) {
      lessons.show(side.result);
      theory.ask(lab.scenario);
      document.body.dataset.redrawMs = passed();
    }
    this.#showStatus();
    side.replacePackets(result.scenario, () => { this.page.clock.stale = true; });
  }

  /**
   * Raises a round-trip time that is shorter than the delays of its links, and reruns the scenario. Returns true if it
   * did. Otherwise the sliders for delays would end in errors.
   *
   * @param {string[]} lines
   */
  #raiseRoundTrip(lines) {
    const { lab } = this.page;
    const raised = lines.flatMap((line) => {
      const found = /^flow (\d+)[^,]*, rtt: .*must be at least ([\d.]+ \w+)/.exec(line);
      const flow = found && lab.scenario.flow[Number(found[1]) - 1];
      if (!flow || typeof flow.rtt !== "string" || !(parse("time", flow.rtt) < parse("time", found[2]))) return [];
      flow.rtt = found[2];
      return [`${flow.name} ${found[2]}`];
    });
    if (!raised.length) return false;
    lab.rerun({});
    $("raised").textContent = words.run.raised(raised.join(", "));
    return true;
  }

  /** @param {Result} result */
  #showStored(result) {
    const { lab, sides: { a } } = this.page;
    a.version = lab.version;
    a.result = { ...result };
    a.removePackets();
    $("stored-from").textContent = words.run.stored(result.stored?.path ?? "", result.stored?.origin ?? "");
    this.#setErrors(a, []);
    this.#draw(a, a.result);
    this.#showStatus();
    this.page.theory.ask(lab.scenario);
    document.body.dataset.redrawMs = "0";
  }

  /**
   * Draws the plots of a result. Two compared results have equal axes.
   *
   * @param {Side} side
   * @param {Result} result
   */
  #draw(side, result) {
    const { lab, clock, lessons, sides: { a, b } } = this.page;
    const other = side === a ? b : a;
    const { duration_s: duration } = result.resolved;
    /** @param {Panel[]} all */
    const visible = (all) => (lessons.plot ? all.filter(({ key }) => key === lessons.plot) : all);
    let own = panels(result, lab.dark);
    if (lab.compare && other.result) {
      const compared = panels(other.result, lab.dark, peaksOf(own));
      own = panels(result, lab.dark, peaksOf(compared));
      other.plots.show(visible(compared), other.result.resolved.duration_s);
    }
    side.plots.show(visible(own), duration);
    $(`title-${side.name}`).textContent = lab.compare ? lawsOf(result.resolved).join(", ") : "";
    $(`title-${side.name}`).hidden = !lab.compare;
    if (result.done) showMeasures($(`measures-${side.name}`), lessons.plot ? [] : measures(result));
    clock.time = Math.min(clock.time, duration);
    side.plots.mark(clock.time);
    clock.showTime();
  }

  /** Draws all plots in the colours of the page. */
  recolour() {
    for (const side of Object.values(this.page.sides)) {
      side.plots.clear();
      if (side.result) this.#draw(side, side.result);
    }
  }

  /**
   * Shows the progress of a run that takes long, with a button that stops it.
   *
   * @param {Result} result
   * @param {number} passed ms
   */
  #showProgress({ done, now, resolved }, passed) {
    const { a, b } = this.page.sides;
    if (!done && passed > SLOW_MS) {
      $("progress").textContent = words.run.progress(format("time", now), format("time", resolved.duration_s));
      $("running").hidden = false;
    } else if (a.result?.done && (b.result?.done ?? true)) $("running").hidden = true;
  }

  #showStatus() {
    const { result, wrong } = this.page.sides.a;
    if (wrong.length) $("status").textContent = words.run.lastValid;
    else if (result?.done) $("status").textContent = statusOf(result);
  }

  /**
   * Sets the errors of a side. Shows each error of both sides next to its field, or above the drawing if it has no field.
   *
   * @param {Side} side
   * @param {string[]} lines
   */
  #setErrors(side, lines) {
    if (!lines.length && !side.wrong.length) return;
    side.setErrors(lines);
    this.#showStatus();
    const { a, b } = this.page.sides;
    const found = [...new Set([...a.wrong, ...b.wrong])].map((line) => ({ line, where: place(line) }));
    const hidden = this.page.controls.showErrors(found);
    $("mistakes").hidden = hidden.length === 0;
    $("mistakes").replaceChildren(...hidden.map(({ line, where: { list, index }, field }) => {
      const item = element("li", { text: a.wrong.includes(line) ? line : words.run.second(line) });
      /** @type {(text: string, act: () => void) => void} */
      const offer = (text, act) => {
        const button = element("button", { type: "button", text });
        button.addEventListener("click", act);
        item.append(" ", button);
      };
      if (NEEDS_MARKS.test(line)) this.#offerMarks(offer);
      else if (field) offer(words.run.show, () => field.row.scrollIntoView({ block: "center" }));
      else if (list === "link" || list === "flow") offer(words.run.show, () => this.page.lab.select(list, index));
      return item;
    }));
  }

  /**
   * Offers queues that mark packets, for a law that needs marks.
   *
   * @param {(text: string, act: () => void) => void} offer
   */
  #offerMarks(offer) {
    const { lab } = this.page;
    const laws = [lab.compare, ...lab.scenario.flow.map(lawOf)];
    offer(words.run.useMarks, () => lab.change(() => useMarks(lab.scenario, laws.includes("prague") ? "prague" : "")));
  }
}
