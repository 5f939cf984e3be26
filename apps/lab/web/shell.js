/** Shell of the page: buttons, choices, keys, and the fields that show the scenario. */

import { named } from "./controls.js";
import { $ } from "./dom.js";
import { symbols } from "./key.js";
import { PRESETS } from "./presets.js";
import { catalogue, stop } from "./runner.js";
import { SAVES } from "./saves.js";
import { drawnPath, lawOf, setLaw } from "./scenario.js";
import { SPEEDS } from "./speeds.js";
import { Steer } from "./steer.js";
import { short } from "./units.js";
import { language, LANGUAGES, translate, words } from "./words.js";

/**
 * @import { Clock } from "./clock.js"
 * @import { Controls } from "./controls.js"
 * @import { Editing } from "./editing.js"
 * @import { Lessons } from "./lessons.js"
 * @import { Opening } from "./opening.js"
 * @import { Sides } from "./side.js"
 * @import { State } from "./state.js"
 * @import { Result } from "./types.js"
 */

/** Choice of an empty drawing in the list of networks. */
const EMPTY = "empty";

export class Shell {
  /** @type {Steer | null} */
  #game = null;

  /** @param {{lab: State, sides: Sides, clock: Clock, controls: Controls, editing: Editing, lessons: Lessons,
   *   opening: Opening}} page */
  constructor(page) {
    this.page = page;
  }

  /** Fills the choices, and opens the scenario of the page's address. */
  async start() {
    translate();
    this.#listen();
    document.body.classList.toggle("embed", new URLSearchParams(location.search).has("embed"));
    fill("preset", [["", words.preset.own], [EMPTY, words.preset.empty], ...PRESETS]);
    $("key").replaceChildren(...symbols());
    $("preset").options[0].hidden = true; // shown only while it is the current choice
    fill("language", Object.entries(LANGUAGES).map(([code, { name }]) => [code, name]));
    $("language").value = language;
    fill("speed", SPEEDS.map((speed) => [String(speed), speed < 1 ? `1/${Math.round(1 / speed)}` : `${short(speed)}×`]));
    this.page.lab.catalogue = await catalogue();
    const laws = this.page.lab.catalogue.laws.map(named);
    fill("law-all", [["", words.choose.differentLaws], ...laws]);
    fill("compare", [["", words.choose.noSecondLaw], ...laws]);
    const steers = location.hash === "#steer";
    await this.page.opening.openAddress();
    window.addEventListener("pagehide", () => this.page.opening.keep()); // speed and time change without an edit
    this.page.clock.play(!window.matchMedia("(prefers-reduced-motion: reduce)").matches);
    this.page.clock.start();
    if (steers) this.#steer();
  }

  /** Shows the scenario in the drawing and in all fields. */
  redraw() {
    const { lab, sides: { a, b }, editing } = this.page;
    const { scenario, layout, selected, dark } = lab;
    const paths = scenario.flow.map((flow, i) => drawnPath(flow, i, a.result?.resolved));
    const view = { scenario, layout, selected, picked: editing.first, dark, paths };
    a.stage.show(view);
    if (lab.compare) b.stage.show(view);
    $("stage-b").hidden = $("side-b").hidden = !lab.compare;
    this.page.controls.show();
    const laws = new Set(scenario.flow.map(lawOf));
    $("preset").value = lab.preset;
    $("compare").value = lab.compare;
    $("law-all").value = laws.size === 1 ? [...laws][0] : "";
    $("undo").disabled = !lab.undoable;
    $("remove").disabled = !editing.removable;
    const { description } = scenario;
    $("about").textContent = words.preset.about[lab.preset] ?? (typeof description === "string" ? description : "");
    this.page.clock.stale = true;
  }

  #listen() {
    const { lab, sides, clock, editing, opening } = this.page;
    /** @type {(id: string, call: () => void) => void} */
    const onClick = (id, call) => $(id).addEventListener("click", call);
    /** @type {(id: "preset" | "law-all" | "compare" | "speed" | "language", call: (value: string) => void) => void} */
    const onChoice = (id, call) => $(id).addEventListener("change", () => call($(id).value));
    onChoice("preset", (name) => {
      if (name === EMPTY) opening.openEmpty();
      else opening.openPreset(name).catch((error) => opening.notice(error.message));
    });
    onChoice("law-all", (law) => law && lab.change(() => lab.scenario.flow.forEach((flow) => setLaw(flow, law))));
    onChoice("compare", (law) => lab.compareWith(law));
    onChoice("language", (code) => opening.changeLanguage(code));
    onChoice("speed", (speed) => clock.setSpeed(Number(speed)));
    onClick("lessons-open", () => opening.toggleLessons().catch((error) => opening.notice(error.message)));
    onClick("stop", stop);
    onClick("run-here", () => lab.rerun({ stored: null }));
    onClick("steer-open", () => this.#steer());
    onClick("undo", () => opening.undo());
    onClick("share", () => opening.share());
    for (const [id, call] of Object.entries(SAVES)) {
      onClick(id, () => {
        $("files").open = false;
        const results = (lab.compare ? [sides.a, sides.b] : [sides.a]).map(({ result }) => result);
        if (id === "save-toml" || results.every((result) => result?.done)) call(lab.scenario, /** @type {Result[]} */ (results));
        else opening.notice(words.run.unfinished);
      });
    }
    for (const answers of [false, true]) {
      onClick(answers ? "print-answers" : "print-sheet", () => opening.printLessons(answers).catch((error) => opening.notice(error.message)));
    }
    onClick("open-toml", () => $("file").click());
    $("file").addEventListener("change", () => opening.openFiles());
    onClick("add-node", () => editing.addNode());
    onClick("add-link", () => editing.start("link"));
    onClick("add-flow", () => editing.start("flow"));
    onClick("remove", () => editing.remove());
    onClick("skip", () => $("play").focus());
    onClick("play", () => clock.toggle());
    $("scrub").addEventListener("input", () => clock.seek((Number($("scrub").value) / 1000) * clock.duration));
    document.addEventListener("keydown", (event) => this.#onKey(event));
    window.addEventListener("hashchange", () => opening.openAddress());
  }

  /** Opens the game in which the user sets the sending rate. */
  #steer() {
    const { clock, lab } = this.page;
    clock.play(false);
    this.#game ??= new Steer(() => lab.dark);
    this.#game.open();
  }

  /** @param {KeyboardEvent} event */
  #onKey(event) {
    if ($("steer").open) return;
    const { key } = event;
    const focused = /** @type {HTMLInputElement} */ (event.target);
    const typing = /^(INPUT|TEXTAREA|SELECT|BUTTON|SUMMARY)$/.test(focused.tagName);
    if (key === "Escape") {
      this.page.editing.stop();
      $("files").open = false;
    } else if (key === " " && !typing) {
      event.preventDefault();
      this.page.clock.toggle();
    } else if ((key === "Delete" || key === "Backspace") && !typing) this.page.editing.remove();
    else if (key === "z" && (event.ctrlKey || event.metaKey) && focused.tagName !== "TEXTAREA" && focused.type !== "text") {
      event.preventDefault();
      this.page.opening.undo();
    }
  }
}

/**
 * @param {"preset" | "law-all" | "compare" | "speed" | "language"} id
 * @param {string[][]} rows value and text of each choice
 */
function fill(id, rows) {
  $(id).replaceChildren(...rows.map(([value, text]) => new Option(text, value)));
}
