/** Predictions of theory for a scenario, from the server of `levelflow lab`. */

import { coded, element } from "./dom.js";
import { format, short } from "./units.js";
import { words } from "./words.js";

/** @import { Scenario } from "./types.js" */

/**
 * Reply of the server.
 *
 * @typedef {{link: string, law: string, margin: number | null, why: string, breaks: string}} Bottleneck
 * @typedef {{flows: {name: string, rate_bps: number, bottleneck: string}[], bottlenecks: Bottleneck[],
 *   stable: boolean | null, time_s: number | null}} Prediction
 */

/** True if `levelflow lab` serves the page. */
const served = document.querySelector("meta[name=levelflow-server]") !== null;

/** Pause from the last change to the request, ms. */
const SETTLE_MS = 250;
/** Limit on the rows of the table of flows. */
const MAX_ROWS = 20;
/** Limit on the names of links in a reason. */
const MAX_NAMES = 4;

/** Panel of predictions. */
export class Theory {
  /** @type {number | undefined} */
  #timer;
  #version = 0;

  /** @param {HTMLElement} place */
  constructor(place) {
    this.place = place;
  }

  /**
   * Requests the prediction for a scenario after a pause without changes.
   *
   * @param {Scenario} scenario
   */
  ask(scenario) {
    clearTimeout(this.#timer);
    this.#version += 1;
    const version = this.#version;
    if (!served) {
      this.place.classList.remove("stale");
      this.place.replaceChildren(element("p", {
        text: words.theory.unserved,
      }));
      return;
    }
    this.wait();
    this.#timer = setTimeout(async () => {
      const parts = await this.#answer(scenario);
      if (version !== this.#version) return;
      this.place.replaceChildren(...parts);
      this.place.classList.remove("stale");
    }, SETTLE_MS);
  }

  /** Dims the prediction of an older scenario. */
  wait() {
    this.place.classList.add("stale");
  }

  /** Removes the prediction. */
  clear() {
    clearTimeout(this.#timer);
    this.#version += 1;
    this.place.replaceChildren();
  }

  /** @param {Scenario} scenario */
  async #answer(scenario) {
    try {
      const reply = await fetch("theory", {
        method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(scenario),
      });
      const found = await reply.json();
      return found.wrong === undefined ? show(found) : [element("p", { class: "wrong", text: found.wrong })];
    } catch {
      return [element("p", { class: "wrong", text: words.theory.noReply })];
    }
  }
}

/** @type {{[stable: string]: string}} */
const VERDICTS = { true: words.theory.stable, false: words.theory.unstable, null: words.theory.unknown };

/** @param {Prediction} found */
function show(found) {
  const head = element("tr", {}, ...words.theory.head.map((text) => element("th", { scope: "col", text })));
  const rows = found.flows.slice(0, MAX_ROWS).map((flow) => element("tr", {},
    element("th", { scope: "row", text: flow.name }),
    element("td", { text: format("rate", flow.rate_bps) }),
    element("td", { text: flow.bottleneck })));
  if (found.flows.length > MAX_ROWS) {
    rows.push(element("tr", {}, element("td", { colspan: 3, text: words.theory.more(found.flows.length - MAX_ROWS) })));
  }
  const verdict = VERDICTS[String(found.stable)];
  const settling = found.time_s === null ? words.theory.unknown : words.theory.settling(format("time", found.time_s));
  const facts = element("dl", {},
    element("dt", { text: words.theory.stability }), element("dd", { text: verdict, class: found.stable === false ? "bad" : "" }),
    element("dt", { text: words.theory.settles }), element("dd", { text: settling }));
  const reasons = grouped(found.bottlenecks).flatMap(({ links, law, margin, why, breaks }) => [
    `${links}, ${law}: ${why || VERDICTS.null}${margin === null ? "" : `; ${words.theory.margin(short(margin))}`}`,
    ...(breaks ? [words.theory.breaks(breaks)] : []),
  ]).map((text) => element("li", {}, ...coded(text)));
  return [facts, element("table", {}, element("thead", {}, head), element("tbody", {}, ...rows)), element("ul", { class: "reasons" }, ...reasons)];
}

/**
 * Groups bottlenecks with the same reason.
 *
 * @param {Bottleneck[]} bottlenecks
 */
function grouped(bottlenecks) {
  const groups = Map.groupBy(bottlenecks, ({ law, margin, why, breaks }) => JSON.stringify([law, margin?.toPrecision(3), why, breaks]));
  return Array.from(groups.values(), (group) => {
    const names = group.map(({ link }) => link);
    const shown = names.length > MAX_NAMES ? MAX_NAMES - 1 : names.length;
    const text = names.slice(0, shown).join(", ");
    return { ...group[0], links: shown < names.length ? words.theory.moreLinks(text, names.length - shown) : text };
  });
}
