/** Text box with the scenario file. */

import { $ } from "./dom.js";
import { check, lineOf } from "./runner.js";
import { toToml } from "./scenario.js";
import { words } from "./words.js";

/** @import { State } from "./state.js" */

export class TextBox {
  /**
   * @param {State} lab
   * @param {(text: string, onError: (text: string) => void) => Promise<boolean>} load
   */
  constructor(lab, load) {
    this.lab = lab;
    this.load = load;
    $("apply").addEventListener("click", () => this.#apply());
    $("text-box").addEventListener("toggle", () => this.update());
  }

  /** Shows the current scenario. */
  update() {
    if (!$("text-box").open) return;
    $("toml").value = toToml(this.lab.scenario);
    this.#showError("");
  }

  /** @param {string} text */
  #showError(text) {
    $("toml-wrong").textContent = text;
    $("toml-wrong").hidden = !text;
    if (text) $("toml").setAttribute("aria-invalid", "true");
    else $("toml").removeAttribute("aria-invalid");
  }

  /** Loads the scenario in the box. Shows each error with its line. */
  async #apply() {
    const text = $("toml").value;
    this.#showError("");
    if (!(await this.load(text, (error) => this.#showError(error)))) return;
    $("toml").value = text;
    try {
      await check(this.lab.scenario);
    } catch (mistake) {
      const lines = /** @type {Error} */ (mistake).message.split("\n").map(async (error) => {
        const line = await lineOf(error, text);
        return line ? words.files.line(line, error) : error;
      });
      this.#showError((await Promise.all(lines)).join("\n"));
    }
  }
}
