/** State of the page: the scenario, its layout, the selection, and the history for undo. */

import { nodes } from "./scenario.js";
import { arrange } from "./stage.js";

/** @import { Catalogue, Layout, Result, Scenario, Selected } from "./types.js" */

const MAX_UNDO_STEPS = 100;
/** Longest pause between two edits of one drag, ms. */
const MAX_DRAG_PAUSE_MS = 1000;

export class State {
  /** @type {Scenario} */
  scenario = { name: "", duration: "1 s", link: [], flow: [] };
  /** @type {Layout} */
  layout = {};
  /** @type {Selected} */
  selected = { kind: "link", index: 0 };
  /** Name of the preset; empty for another network. */
  preset = "";
  /** Id of the open lesson, or empty. */
  lesson = "";
  /** Law of the second run; empty without a comparison. */
  compare = "";
  /** Stored result, which is shown instead of a run. @type {Result | null} */
  stored = null;
  /** @type {Catalogue} */
  catalogue = { laws: [], queues: [] };
  /** Number of changes so far. A result belongs to the version of its run. */
  version = 0;
  darkScheme = window.matchMedia("(prefers-color-scheme: dark)");
  /** Properties before each change. @type {Partial<State>[]} */
  #history = [];
  /** @type {{key: string | null, at: number}} */
  #lastEdit = { key: null, at: 0 };

  /** @param {{rerun: () => void, redraw: () => void}} page callbacks after a change of the scenario or the drawing */
  constructor(page) {
    this.page = page;
  }

  get dark() {
    return this.darkScheme.matches;
  }

  get undoable() {
    return this.#history.length > 0;
  }

  /**
   * Edits the scenario and reruns it. All edits of one drag are one step of undo.
   *
   * @param {() => void} edit
   * @param {string | null} key field that is dragged
   */
  change(edit, dragging = false, key = null) {
    const now = performance.now();
    const last = this.#lastEdit;
    if (!(dragging && key !== null && key === last.key && now - last.at < MAX_DRAG_PAUSE_MS)) {
      this.#remember();
    }
    this.#lastEdit = { key, at: now };
    edit();
    this.rerun({ stored: null });
  }

  /** Adds a step of undo, and ends a drag. */
  #remember() {
    const { scenario, layout, preset, lesson, compare, stored } = this;
    this.#history.push({ scenario: structuredClone(scenario), layout, preset, lesson, compare, stored });
    if (this.#history.length > MAX_UNDO_STEPS) this.#history.shift();
    this.#lastEdit = { key: null, at: 0 };
  }

  undoLast() {
    const state = this.#history.pop();
    if (state === undefined) return;
    this.#lastEdit = { key: null, at: 0 };
    this.rerun(state);
  }

  /**
   * Compares the scenario with a second law, as one step of undo.
   *
   * @param {string} law empty without a comparison
   */
  compareWith(law) {
    this.#remember();
    this.rerun({ compare: law });
  }

  /**
   * Replaces the scenario, as one step of undo.
   *
   * @param {Scenario} scenario
   * @param {Layout | null} layout
   * @param {Result | null} stored
   * @param {{preset?: string, lesson?: string, compare?: string}} origin
   */
  load(scenario, layout = null, stored = null, { preset = "", lesson = "", compare = this.compare } = {}) {
    if (this.version > 0) this.#remember();
    this.rerun({ scenario, stored, preset, lesson, compare, layout: layout ?? arrange(scenario), selected: { kind: "link", index: 0 } });
  }

  /**
   * Sets properties, gives new nodes a position, and reruns the scenario.
   *
   * @param {Partial<State>} changes
   */
  rerun(changes) {
    Object.assign(this, changes);
    this.version += 1;
    const unplaced = nodes(this.scenario).some((name) => !Object.hasOwn(this.layout, name));
    if (unplaced) this.layout = { ...arrange(this.scenario), ...this.layout };
    this.page.rerun();
  }

  /**
   * @param {Selected["kind"]} kind
   * @param {Selected["index"]} index
   */
  select(kind, index) {
    this.selected = /** @type {Selected} */ ({ kind, index });
    this.page.redraw();
  }

  /**
   * Moves a node in the drawing.
   *
   * @param {string} node
   * @param {number} x
   * @param {number} y
   */
  move(node, x, y) {
    this.layout = { ...this.layout, [node]: [x, y] };
    this.page.redraw();
  }
}
