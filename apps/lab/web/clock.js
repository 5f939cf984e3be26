/** Clock of the drawn packets: simulated time, speed, animation, and the rates at this time. */

import { $ } from "./dom.js";
import { flows, sampleAt } from "./series.js";
import { format } from "./units.js";
import { words } from "./words.js";

/**
 * @import { Sides } from "./side.js"
 * @import { State } from "./state.js"
 * @import { Result } from "./types.js"
 */

/** Limit on the rows in the table of flow rates. */
const MAX_RATE_ROWS = 300;
/** Shortest interval between updates of this table while packets move, ms. */
const MIN_RATE_INTERVAL_MS = 90;
/** Longest time that one frame advances the clock, ms. */
const MAX_FRAME_MS = 100;

export class Clock {
  /** Simulated time, s. */
  time = 0;
  /** Simulated time over real time. */
  speed = 1 / 30;
  playing = false;
  /** True if packets must be redrawn. */
  stale = true;
  #lastFrame = 0;
  #lastRates = 0;
  /** Rates of the newest result of each side. @type {{[side: string]: {result: Result, series: ReturnType<typeof flows>}}} */
  #rates = {};

  /**
   * @param {State} lab
   * @param {Sides} sides
   */
  constructor(lab, sides) {
    this.lab = lab;
    this.sides = sides;
  }

  /** Duration of the first run, s. */
  get duration() {
    return this.sides.a.result?.resolved.duration_s ?? 1;
  }

  /** @param {number} speed */
  setSpeed(speed) {
    this.speed = speed;
    this.stale = true;
    $("speed").value = String(speed);
  }

  /** @param {number} time */
  seek(time) {
    this.time = time;
    this.stale = true;
    this.#mark();
  }

  /** @param {boolean} on */
  play(on) {
    this.playing = on;
    this.#lastFrame = 0;
    $("play").textContent = on ? words.page.pause : words.page.play;
    $("play").setAttribute("aria-pressed", String(on));
  }

  /** Starts or stops. At the end of the run, starts at 0. */
  toggle() {
    if (!this.playing && this.sides.a.result && this.time >= this.duration) this.time = 0;
    this.play(!this.playing);
  }

  #mark() {
    for (const side of Object.values(this.sides)) side.plots.mark(this.time);
    this.showTime();
  }

  showTime() {
    $("scrub").value = String(Math.round((this.time / this.duration) * 1000));
    const digits = Math.max(0, Math.min(4, Math.ceil(-Math.log10(this.speed)) + 1));
    const text = `${this.time.toFixed(digits)} s`;
    $("scrub").setAttribute("aria-valuetext", text);
    $("clock").textContent = text;
    const now = performance.now();
    if (now - this.#lastRates < MIN_RATE_INTERVAL_MS && this.playing) return;
    this.#lastRates = now;
    this.#showRates(text);
  }

  /** @param {string} time */
  #showRates(time) {
    const caption = document.querySelector("#flows [data-time]");
    if (caption) caption.textContent = words.fields.ratesAt(time);
    for (const [name, { result }] of Object.entries(this.sides)) {
      if (!result?.tables.flows) continue;
      if (this.#rates[name]?.result !== result) this.#rates[name] = { result, series: flows(result, MAX_RATE_ROWS) };
      const { t, entries } = this.#rates[name].series;
      const sample = Math.max(sampleAt(t, this.time), 0);
      for (const key of /** @type {const} */ (["rate", "fair"])) {
        for (const cell of document.querySelectorAll(`#flows [data-${key}-${name}]`)) {
          const value = entries[Number(cell.getAttribute(`data-${key}-${name}`))]?.[key][sample];
          cell.textContent = value === null || value === undefined ? "–" : format("rate", value);
        }
      }
    }
  }

  /** Draws each frame from now on. */
  start() {
    requestAnimationFrame((now) => {
      this.start();
      if (!this.sides.a.result || !(this.playing || this.stale)) return;
      if (this.playing) this.#advance(now);
      this.#drawPackets();
    });
  }

  /**
   * Advances the time, unless packet positions are missing.
   *
   * @param {number} now
   */
  #advance(now) {
    const passed = this.#lastFrame ? Math.min(now - this.#lastFrame, MAX_FRAME_MS) / 1000 : 0;
    this.#lastFrame = now;
    if (!this.sides.a.waiting) this.time += passed * this.speed;
    if (this.time >= this.duration) {
      this.time = this.duration;
      this.play(false);
    }
    this.#mark();
  }

  #drawPackets() {
    this.stale = false;
    for (const side of Object.values(this.sides)) {
      if (!side.result || side.result.stored) continue;
      side.waiting = !side.packets.draw(this.time, this.speed, this.lab.dark);
      if (side.waiting) this.stale = true;
    }
  }
}
