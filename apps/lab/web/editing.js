/** Edits of the network in the drawing: new nodes, links and flows, and removals. */

import { $ } from "./dom.js";
import { drawnNodes, freeName, lawOf, removeNode } from "./scenario.js";
import { words } from "./words.js";

/**
 * @import { State } from "./state.js"
 * @import { Link, Spot } from "./types.js"
 */

/** Width of a drawing over its height. */
const WIDE = 3;

/**
 * @param {string} from
 * @param {string} to
 * @returns {Link}
 */
function newLink(from, to) {
  return { from, to, capacity: "10 Mb/s", delay: "10 ms", buffer: "50 packets", duplex: true };
}

export class Editing {
  /** Link or flow for which the user chooses nodes. @type {{kind: "link" | "flow", first?: string} | null} */
  #adding = null;

  /**
   * @param {State} lab
   * @param {() => void} redraw
   */
  constructor(lab, redraw) {
    this.lab = lab;
    this.redraw = redraw;
  }

  /** First node of the new link or flow. */
  get first() {
    return this.#adding?.first;
  }

  /** @param {string} text */
  #hint(text) {
    $("hint").textContent = text;
  }

  /**
   * Selects a node, or makes it an end of the new link or flow.
   *
   * @param {string} name
   */
  pick(name) {
    if (!this.#adding) {
      this.lab.select("node", name);
      return;
    }
    const { kind, first } = this.#adding;
    if (first === undefined) {
      this.#adding.first = name;
      this.#hint(words.editing.other(name));
      this.redraw();
    } else if (first === name) {
      this.#hint(words.editing.same);
    } else {
      this.stop();
      if (kind === "link") this.#addLink(first, name);
      else this.#addFlow(first, name);
    }
  }

  /**
   * Starts to add a link or a flow. A second call stops.
   *
   * @param {"link" | "flow"} kind
   */
  start(kind) {
    const again = this.#adding?.kind === kind;
    this.stop();
    if (again) return;
    this.#adding = { kind };
    $(`add-${kind}`).setAttribute("aria-pressed", "true");
    this.#hint(words.editing.first(words.editing.kinds[kind]));
  }

  stop() {
    if (!this.#adding) return;
    $(`add-${this.#adding.kind}`).removeAttribute("aria-pressed");
    this.#adding = null;
    this.#hint("");
    this.redraw();
  }

  /** Adds a node near the selected node. */
  addNode() {
    const { lab } = this;
    lab.change(() => {
      const names = drawnNodes(lab.scenario, lab.layout);
      const { kind, index } = lab.selected;
      const from = kind === "node" && names.includes(index) ? index : names.at(-1) ?? "";
      const name = freeName(names, "N");
      const [x, y] = lab.layout[from] ?? [-0.3, 0.5];
      /** @type {Spot[]} */
      const around = [[x + 0.3, y], [x, y + 0.45], [x, y - 0.45], [x - 0.3, y], [x + 0.2, y + 0.4], [x + 0.2, y - 0.4]];
      const spots = around.filter(([a, b]) => a >= 0 && a <= 1 && b >= 0 && b <= 1);
      /** @param {Spot} spot */
      const distance = ([a, b]) => Math.min(...Object.values(lab.layout).map(([c, d]) => Math.hypot(WIDE * (a - c), b - d)), 9);
      const best = spots.reduce((best, spot) => (distance(spot) > distance(best) + 0.01 ? spot : best));
      lab.layout = { ...lab.layout, [name]: best };
      lab.selected = { kind: "node", index: name };
    });
  }

  /**
   * @param {string} from
   * @param {string} to
   */
  #addLink(from, to) {
    const { lab } = this;
    const linked = lab.scenario.link.some((link) => (link.from === from && link.to === to) || (link.duplex && link.from === to && link.to === from));
    if (linked) {
      this.#hint(words.editing.linked(from, to));
      return;
    }
    lab.change(() => {
      lab.scenario.link.push(newLink(from, to));
      lab.selected = { kind: "link", index: lab.scenario.link.length - 1 };
    });
  }

  /**
   * @param {string} from
   * @param {string} to
   */
  #addFlow(from, to) {
    const { lab } = this;
    lab.change(() => {
      const law = lab.scenario.flow.length ? lawOf(lab.scenario.flow[0]) : "cubic";
      lab.scenario.flow.push({ name: freeName(lab.scenario.flow.map((flow) => flow.name), "x"), law, from, to });
      lab.selected = { kind: "flow", index: lab.scenario.flow.length - 1 };
    });
  }

  /** True if the selected item can be removed. */
  get removable() {
    const { scenario, layout, selected: { kind, index } } = this.lab;
    if (kind === "node") return drawnNodes(scenario, layout).includes(index);
    return Boolean(scenario[kind][index]);
  }

  /** Removes the selected item. */
  remove() {
    if (!this.removable) return;
    const { lab } = this;
    const { kind, index } = lab.selected;
    lab.change(() => {
      if (kind === "flow") lab.scenario.flow.splice(index, 1);
      else if (kind === "link") lab.scenario.link.splice(index, 1);
      else {
        removeNode(lab.scenario, String(index));
        const { [index]: _, ...layout } = lab.layout;
        lab.layout = layout;
      }
      lab.selected = { kind: "link", index: 0 };
    });
  }
}
