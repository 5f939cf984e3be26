/** Edits of the network in the drawing: additions by selecting nodes, and removals. */

import { freeName, lawOf, nodes, removeNode } from "./scenario.js";

function newLink(from, to) {
  return { from, to, capacity: "10 Mb/s", delay: "10 ms", buffer: "50 packets", duplex: true };
}

export class Editing {
  #adding = null;

  /** `lab` has scenario, layout, selected, change(edit) and select(kind, index); `page` shows hints and draws. */
  constructor(lab, page) {
    this.lab = lab;
    this.page = page;
  }

  /** First node of the link or flow that is being added. */
  get first() {
    return this.#adding?.first;
  }

  /** Handles the selection of a node: for removal, or as an end of a new link or flow. */
  pick(name) {
    if (!this.#adding) {
      this.lab.select("node", name);
      return;
    }
    const { kind, first } = this.#adding;
    if (first === undefined) {
      this.#adding.first = name;
      this.page.hint(`from ${name} to …? Choose the other node.`);
      this.page.redraw();
    } else if (first === name) {
      this.page.hint("A link or a flow needs two different nodes; choose another.");
    } else {
      this.stop();
      if (kind === "link") this.#addLink(first, name);
      else this.#addFlow(first, name);
    }
  }

  start(kind) {
    const again = this.#adding?.kind === kind;
    this.stop();
    if (again) return;
    this.#adding = { kind };
    this.page.press(kind);
    this.page.hint(`Choose the node where the ${kind} begins (Escape stops).`);
  }

  stop() {
    if (!this.#adding) return;
    this.#adding = null;
    this.page.press(null);
    this.page.hint("");
    this.page.redraw();
  }

  addNode() {
    const { lab } = this;
    lab.change(() => {
      const names = nodes(lab.scenario);
      const from = lab.selected.kind === "node" && names.includes(lab.selected.index) ? lab.selected.index : names.at(-1) ?? "N1";
      const name = freeName([...names, "N1"], "N");
      const [x, y] = lab.layout[from] ?? [0.3, 0.5];
      const spots = [[x + 0.3, y], [x, y + 0.45], [x, y - 0.45], [x - 0.3, y], [x + 0.2, y + 0.4], [x + 0.2, y - 0.4]].filter(([a, b]) => a >= 0 && a <= 1 && b >= 0 && b <= 1);
      const room = ([a, b]) => Math.min(...Object.values(lab.layout).map(([c, d]) => Math.hypot(a - c, b - d)), 9);
      lab.layout = { ...lab.layout, [name]: spots.reduce((best, spot) => (room(spot) > room(best) + 0.01 ? spot : best)) };
      lab.scenario.link.push(newLink(from, name));
      lab.selected = { kind: "node", index: name };
    });
  }

  #addLink(from, to) {
    const { lab } = this;
    const there = lab.scenario.link.some((link) => (link.from === from && link.to === to) || (link.duplex && link.from === to && link.to === from));
    if (there) {
      this.page.hint(`${from} and ${to} are linked already.`);
      return;
    }
    lab.change(() => {
      lab.scenario.link.push(newLink(from, to));
      lab.selected = { kind: "link", index: lab.scenario.link.length - 1 };
    });
  }

  #addFlow(from, to) {
    const { lab } = this;
    lab.change(() => {
      const law = lab.scenario.flow.length ? lawOf(lab.scenario.flow[0]) : "jetmax";
      lab.scenario.flow.push({ name: freeName(lab.scenario.flow.map((flow) => flow.name), "x"), law, from, to });
      lab.selected = { kind: "flow", index: lab.scenario.flow.length - 1 };
    });
  }

  get removable() {
    const { scenario, selected: { kind, index } } = this.lab;
    if (kind === "flow") return scenario.flow.length > 1 && Boolean(scenario.flow[index]);
    if (kind === "link") return scenario.link.length > 1 && Boolean(scenario.link[index]);
    return nodes(scenario).length > 2;
  }

  /** Removes the selected item. */
  remove() {
    if (!this.removable) return;
    const { lab } = this;
    const { kind, index } = lab.selected;
    lab.change(() => {
      if (kind === "flow") lab.scenario.flow.splice(index, 1);
      else if (kind === "link") lab.scenario.link.splice(index, 1);
      else removeNode(lab.scenario, index);
      lab.selected = { kind: "link", index: 0 };
    });
  }
}
