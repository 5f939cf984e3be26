/** Theoretical predictions for a scenario, from the server of `levelflow lab`. */

import { element } from "./fields.js";
import { format, short } from "./units.js";

/** True if the server of `levelflow lab` sent the page. The server adds this element to the document. */
export const served = document.querySelector("meta[name=levelflow-server]") !== null;

const PATIENCE_MS = 250;

/** Panel of predictions. */
export class Theory {
  #timer = 0;
  #version = 0;

  constructor(place) {
    this.place = place;
  }

  /** Requests the prediction for a scenario once the scenario has not changed for a moment. */
  ask(scenario) {
    clearTimeout(this.#timer);
    this.#version += 1;
    const version = this.#version;
    if (!served) {
      this.place.replaceChildren(element("p", {
        text: "If the command “levelflow lab” opens the page, theory's predictions are shown here: equilibrium, stability, settling time.",
      }));
      return;
    }
    this.place.classList.add("stale");
    this.#timer = setTimeout(async () => {
      const parts = await this.#answer(scenario);
      if (version !== this.#version) return;
      this.place.replaceChildren(...parts);
      this.place.classList.remove("stale");
    }, PATIENCE_MS);
  }

  async #answer(scenario) {
    try {
      const reply = await fetch("theory", {
        method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(scenario),
      });
      const found = await reply.json();
      return found.wrong === undefined ? show(found) : [element("p", { class: "wrong", text: found.wrong })];
    } catch {
      return [element("p", { class: "wrong", text: "The server does not reply; is “levelflow lab” still running?" })];
    }
  }
}

const VERDICTS = { true: "stable", false: "unstable", null: "not known" };

function show(found) {
  const head = element("tr", {}, ...["flow", "equilibrium", "limited by"].map((text) => element("th", { scope: "col", text })));
  const rows = found.flows.map((flow) => element("tr", {},
    element("th", { scope: "row", text: flow.name }),
    element("td", { text: format("rate", flow.rate_bps) }),
    element("td", { text: flow.bottleneck })));
  const verdict = VERDICTS[String(found.stable)];
  const settling = found.time_s === null ? "not known" : `${format("time", found.time_s)} after the last start`;
  const facts = element("dl", {},
    element("dt", { text: "Stability" }), element("dd", { text: verdict, class: found.stable === false ? "bad" : "" }),
    element("dt", { text: "Settles" }), element("dd", { text: settling }));
  const reasons = found.bottlenecks.flatMap(({ link, law, margin, why, breaks }) => [
    `${link}, ${law}: ${why || VERDICTS.null}${margin === null ? "" : `; margin ${short(margin)}`}`,
    ...(breaks ? [`Would make it unstable: ${breaks}`] : []),
  ]).map((text) => element("li", { text }));
  return [facts, element("table", {}, element("thead", {}, head), element("tbody", {}, ...rows)), element("ul", { class: "reasons" }, ...reasons)];
}
