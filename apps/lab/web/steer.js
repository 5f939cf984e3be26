/** Game: the student sets the sending rate of a flow live, and competes with the laws. */

import { $, element } from "./dom.js";
import { lost, percent } from "./measures.js";
import { gamePanels } from "./panels.js";
import { Plots } from "./plots.js";
import { complete, drive, joined } from "./runner.js";
import { courseOf, GAME, gameOf, RIVALS, scoreOf } from "./score.js";
import { format, parse } from "./units.js";
import { words } from "./words.js";

/** @import { Result } from "./types.js" */

/** Longest time that one frame advances the simulation, s. */
const MAX_FRAME_S = 0.1;
const DURATION_S = parse("time", GAME.duration);
/** Largest and smallest rate of the slider, bit/s. */
const [LOW, HIGH] = [1e5, 20e6];

/** @typedef {{name: string, own: boolean, result: Result}} Row */

export class Steer {
  /** @type {Plots | null} */
  #plots = null;
  /** Result until now; null before the start. @type {any} */
  #result = null;
  /** Results of the laws. @type {Row[]} */
  #rivals = [];
  /** Best run of the student. @type {Row | null} */
  #best = null;
  /** Simulated time, s. */
  #time = 0;
  /** Number of the current game. Replies to an older game are ignored. */
  #game = 0;
  #lastFrame = 0;

  /** @param {() => boolean} isDark */
  constructor(isDark) {
    this.isDark = isDark;
    $("steer-rate").min = String(LOW);
    $("steer-rate").max = String(HIGH);
    $("steer-rate").step = "100000";
    $("steer-start").addEventListener("click", () => this.#start());
    $("steer-rate").addEventListener("input", () => this.#showRate());
    $("steer-close").addEventListener("click", () => $("steer").close());
    $("steer").addEventListener("close", () => { this.#game += 1; });
  }

  open() {
    $("steer").showModal();
    this.#plots ??= new Plots($("steer-plots"), () => {});
    $("steer-start").textContent = words.page.start;
    this.#setRate(1e6);
  }

  get #rate() {
    return Number($("steer-rate").value);
  }

  /** @param {number} bps */
  #setRate(bps) {
    $("steer-rate").value = String(bps);
    this.#showRate();
  }

  #showRate() {
    const text = format("rate", this.#rate);
    $("steer-now").textContent = text;
    $("steer-rate").setAttribute("aria-valuetext", text);
  }

  /** Starts a game. */
  async #start() {
    this.#game += 1;
    const game = this.#game;
    $("steer-start").textContent = words.steer.again;
    $("steer-table").replaceChildren();
    this.#setRate(1e6);
    this.#time = 0;
    this.#lastFrame = 0;
    const { resolved } = await drive({ scenario: GAME });
    this.#result = { resolved, tables: {}, scenario: GAME, now: 0, done: false };
    $("steer-rate").focus();
    this.#frame(game);
  }

  /**
   * Advances the simulation by the time since the last frame, at the rate of the slider.
   *
   * @param {number} game
   */
  #frame(game) {
    requestAnimationFrame(async (now) => {
      if (game !== this.#game) return;
      const passed = this.#lastFrame ? Math.min((now - this.#lastFrame) / 1000, MAX_FRAME_S) : 0;
      this.#lastFrame = now;
      this.#time = Math.min(this.#time + passed, DURATION_S);
      const reply = await drive({ rate: this.#rate, until: this.#time });
      if (game !== this.#game) return;
      for (const [name, piece] of Object.entries(reply.tables ?? {})) this.#result.tables[name] = joined(this.#result.tables[name], piece);
      this.#result.now = this.#time;
      this.#show(this.#result);
      if (this.#time < DURATION_S) this.#frame(game);
      else await this.#end({ ...this.#result, summary: reply.summary });
    });
  }

  /** @param {Result} result */
  #show(result) {
    $("steer-clock").textContent = words.run.progress(`${this.#time.toFixed(1)} s`, `${DURATION_S} s`);
    if (!result.tables.flows?.rows) return;
    const { t, rate, capacity, wait } = courseOf(result);
    this.#plots?.show(gamePanels({ t, rate, capacity, wait }, this.isDark()), DURATION_S);
    this.#plots?.mark(this.#time);
    $("steer-score").textContent = words.steer.score(scoreOf(result).score.toFixed(0));
  }

  /**
   * Shows the score next to those of the laws.
   *
   * @param {Result} result
   */
  async #end(result) {
    const own = { name: words.steer.you, own: true, result };
    if (!this.#best || scoreOf(result).score > scoreOf(this.#best.result).score) this.#best = own;
    if (!this.#rivals.length) {
      this.#rivals = await Promise.all(RIVALS.map(async (law) => ({ name: law, own: false, result: await complete(gameOf(law)) })));
    }
    const rows = [own, ...(this.#best === own ? [] : [{ ...this.#best, name: words.steer.best }]), ...this.#rivals]
      .map((row) => ({ ...row, ...scoreOf(row.result) })).sort((a, b) => b.score - a.score);
    const head = element("tr", {}, ...words.steer.head.map((text) => element("th", { scope: "col", text })));
    const body = rows.map((row) => element("tr", { class: row.own ? "chosen" : null }, element("th", { scope: "row", text: row.name }),
      ...[row.score.toFixed(0), percent(row.share), format("time", row.delay), percent(lost(row.result))].map((text) => element("td", { text }))));
    $("steer-table").replaceChildren(element("table", { class: "rows" }, element("thead", {}, head), element("tbody", {}, ...body)));
    $("steer-clock").textContent = words.steer.over;
    $("steer-table").scrollIntoView({ block: "nearest" });
    $("steer-start").focus();
  }
}
