/** One of the two compared networks: its drawing, packets, plots, and newest result. */

import { $ } from "./dom.js";
import { Packets } from "./packets.js";
import { Plots } from "./plots.js";
import { Stage } from "./stage.js";

/** @import { Act, Result, Scenario, SideName } from "./types.js" */

/** Pause from the last change to the next request for packet positions, ms. */
const SETTLE_MS = 120;

export class Side {
  /** @type {Result | null} */
  result = null;
  /** Version of the result. */
  version = 0;
  /** Errors of the newest run. @type {string[]} */
  wrong = [];
  /** True while packet positions at the current time are missing. */
  waiting = false;
  /** @type {number | undefined} */
  #timer;

  /**
   * @param {SideName} name
   * @param {Act} act
   * @param {(time: number) => void} seek
   */
  constructor(name, act, seek) {
    this.name = name;
    this.stage = new Stage($(`stage-${name}`), act);
    this.packets = new Packets(name, this.stage);
    this.plots = new Plots($(`plots-${name}`), seek);
  }

  /**
   * Sets the errors of the newest run. After an error, packets and plots are dimmed: they show the last valid values.
   *
   * @param {string[]} lines
   */
  setErrors(lines) {
    this.wrong = lines;
    for (const part of ["stage", "plots"]) $(`${part}-${this.name}`).classList.toggle("stale", lines.length > 0);
  }

  /**
   * Shows the packets of the newest result after a moment without changes of the scenario.
   *
   * @param {Scenario} scenario
   * @param {() => void} done
   */
  replacePackets(scenario, done) {
    clearTimeout(this.#timer);
    const { version, result } = this;
    this.#timer = setTimeout(() => {
      this.packets.reset(version, scenario, result);
      done();
    }, SETTLE_MS);
  }

  /** Removes all packets: a stored result has no packet positions. */
  removePackets() {
    clearTimeout(this.#timer);
    this.waiting = false;
    this.packets.reset(this.version, null, null);
    this.stage.clear();
  }
}

/** @typedef {{a: Side, b: Side}} Sides */
