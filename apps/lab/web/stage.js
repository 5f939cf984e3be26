/** Drawing of a network, which the pointer and the keyboard can edit. */

import { shape } from "./dom.js";
import { placeLabels } from "./labels.js";
import { look } from "./panels.js";
import { drawnNodes, nodes } from "./scenario.js";
import { words } from "./words.js";

/** @import { Act, Flow, Layout, Link, Scenario, Selected, Spot } from "./types.js" */

/**
 * Line of one direction of a link: its ends, the unit vector of the direction, and the unit vector to the left.
 *
 * @typedef {{x1: number, y1: number, x2: number, y2: number, ux: number, uy: number, nx: number, ny: number}} Line
 * @typedef {[number, string[]]} Column - depth, which is the distance from the left, and the nodes at this depth
 * @typedef {{flow: Flow, i: number, sends: boolean, ux: number, uy: number}} Host
 * @typedef {{scenario: Scenario, layout: Layout, selected: Selected, picked: string | undefined, dark: boolean,
 *   paths: (string[] | null)[]}} View
 */

/** Distance of the line of each direction from the middle line of the link. */
const APART = 7;
/** Limit on the hosts at a node. */
const MAX_HOSTS = 6;
/** Limit on the links with labels. With more links the labels would overlap, so only the selected link has a label. */
const MAX_LABELS = 30;
/** Limit on the columns of nodes in one row. */
const MAX_COLUMNS = 12;
/** Room above and below the nodes for queues and hosts, pixels. */
const [ABOVE, BELOW] = [64, 50];
/** Length of the drawing of a full queue, pixels. */
export const QUEUE = 46;
const NODE = { width: 38, height: 30 };
const SMALL_NODE = { width: 30, height: 16 };
/** Width of the narrowest node with a name. */
const MIN_NAMED_WIDTH = 24;
/** Directions of the arrow keys. @type {{[key: string]: Spot}} */
const STEPS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };

/**
 * Returns the nodes of a flow's path. For a flow without a given path, returns the path with the fewest hops, or null.
 *
 * @param {Scenario} scenario
 * @param {Flow} flow
 */
function shortest(scenario, flow) {
  if (Array.isArray(flow.path) && flow.path.length > 1) return flow.path;
  const { from: first = "", to: last = "" } = flow;
  /** @type {Map<string, string | null>} */
  const before = new Map([[first, null]]);
  for (const name of before.keys()) {
    for (const { from, to, duplex } of scenario.link) {
      const next = from === name ? to : duplex && to === name ? from : null;
      if (next !== null && !before.has(next)) before.set(next, name);
    }
  }
  if (first === last || !before.has(last)) return null;
  const path = [];
  for (let name = /** @type {string | null} */ (last); name !== null; name = before.get(name) ?? null) path.unshift(name);
  return path;
}

/**
 * Sets the depth (distance from the left) of each node of a path. Nodes with a depth keep it.
 *
 * @param {string[]} path
 * @param {Map<string, number>} depths
 */
function setDepths(path, depths) {
  const known = path.flatMap((name, at) => {
    const depth = depths.get(name);
    return depth === undefined ? [] : [{ at, depth }];
  });
  path.forEach((name, k) => {
    if (depths.has(name)) return;
    const left = known.findLast(({ at }) => at < k);
    const right = known.find(({ at }) => at > k);
    if (left && right) depths.set(name, left.depth + ((right.depth - left.depth) * (k - left.at)) / (right.at - left.at));
    else if (left) depths.set(name, left.depth + (k - left.at));
    else depths.set(name, right ? right.depth - (right.at - k) : k);
  });
}

/**
 * Returns the positions of nodes in columns. Distances of columns are proportional to their depths.
 *
 * @param {Column[]} columns
 * @returns {[string, Spot][]}
 */
function inColumns(columns) {
  const [first, last] = [columns[0]?.[0], columns[columns.length - 1]?.[0]];
  return columns.flatMap(([at, column]) => column.map((name, i) => {
    return [name, [last > first ? (at - first) / (last - first) : 0.5, (i + 0.5) / column.length]];
  }));
}

/**
 * Returns the positions of nodes in several rows of columns. Rows run alternately to the right and to the left.
 *
 * @param {Column[]} columns
 * @returns {[string, Spot][]}
 */
function inRows(columns) {
  const rows = Math.ceil(columns.length / MAX_COLUMNS);
  return columns.flatMap(([, column], k) => {
    const [row, at] = [Math.floor(k / MAX_COLUMNS), (k % MAX_COLUMNS) / (MAX_COLUMNS - 1)];
    return column.map((name, i) => [name, [row % 2 ? 1 - at : at, (row + (i + 0.5) / column.length) / rows]]);
  });
}

/**
 * Returns default positions of nodes: from the senders on the left to the receivers on the right.
 *
 * @param {Scenario} scenario
 * @returns {Layout}
 */
export function arrange(scenario) {
  const names = nodes(scenario);
  /** @type {Map<string, number>} */
  const depths = new Map();
  for (const flow of scenario.flow) {
    const path = shortest(scenario, flow);
    if (path?.every((name) => names.includes(name))) setDepths(path, depths);
  }
  for (let before = -1; before !== depths.size;) {
    before = depths.size;
    for (const { from, to } of scenario.link) {
      if (depths.size === 0) depths.set(from, 0);
      if (depths.has(from) !== depths.has(to)) setDepths([from, to], depths);
    }
  }
  const whole = scenario.link.length > MAX_LABELS; // with many links, depths are rounded to have fewer columns
  const columns = [...Map.groupBy(names, (name) => {
    const depth = depths.get(name) ?? 0;
    return whole ? Math.round(depth) : depth;
  })].sort(([a], [b]) => a - b);
  const spots = columns.length > MAX_COLUMNS ? inRows(columns) : inColumns(columns);
  return Object.fromEntries(spots); // safe for any name of a node
}

export class Stage {
  /** Lines of all directions of links, in the order of the resolved network. @type {Line[]} */
  lines = [];
  /** True in a network with many links. */
  dense = false;
  /** @type {View | null} */
  #view = null;
  #node = NODE;

  /**
   * @param {HTMLElement} place
   * @param {Act} act
   */
  constructor(place, act) {
    this.place = place;
    this.act = act;
    this.svg = shape("svg", { class: "network", role: "group", "aria-label": words.stage.network });
    this.canvas = document.createElement("canvas");
    this.canvas.setAttribute("aria-hidden", "true");
    place.append(this.svg, this.canvas);
    /** Context for drawing packets. */
    this.pen = /** @type {CanvasRenderingContext2D} */ (this.canvas.getContext("2d"));
    new ResizeObserver(() => this.#draw()).observe(place);
  }

  /** Removes all packets from the drawing. */
  clear() {
    this.pen.setTransform(1, 0, 0, 1, 0, 0);
    this.pen.clearRect(0, 0, this.canvas.width, this.canvas.height);
  }

  /** @param {View} view */
  show(view) {
    this.#view = view;
    this.#draw();
  }

  /** Width and height, pixels. */
  get #size() {
    return [Math.max(this.place.clientWidth, 200), Math.max(this.place.clientHeight, 120)];
  }

  /** Width of the space for hosts at the left and the right. */
  get #side() {
    return Math.min(120, this.#size[0] * 0.2);
  }

  /**
   * Returns the position of a node, pixels.
   *
   * @param {string} name
   */
  #spot(name) {
    const [width, height] = this.#size;
    const side = this.#side;
    const [x, y] = this.#view?.layout[name] ?? [0.5, 0.5];
    return [side + x * (width - 2 * side), ABOVE + y * (height - ABOVE - BELOW)];
  }

  /**
   * Returns the line of one direction of a link. The line is shifted to the left.
   *
   * @param {string} from
   * @param {string} to
   */
  #line(from, to) {
    const [x1, y1] = this.#spot(from);
    const [x2, y2] = this.#spot(to);
    const length = Math.hypot(x2 - x1, y2 - y1) || 1;
    const [ux, uy] = [(x2 - x1) / length, (y2 - y1) / length];
    const [nx, ny] = [uy, -ux]; // points upwards for a link that runs to the right
    const gap = Math.min(20, length / 4);
    return {
      x1: x1 + ux * gap + nx * APART, y1: y1 + uy * gap + ny * APART,
      x2: x2 - ux * gap + nx * APART, y2: y2 - uy * gap + ny * APART, ux, uy, nx, ny,
    };
  }

  #draw() {
    const view = this.#view;
    if (!view || this.place.hidden) return;
    const { scenario } = view;
    this.dense = scenario.link.length > MAX_LABELS;
    this.#node = this.dense ? { ...SMALL_NODE, width: this.#nodeWidth(view) } : NODE;
    this.svg.classList.toggle("dense", this.dense);
    this.svg.classList.toggle("nameless", this.#node.width < MIN_NAMED_WIDTH);
    this.place.style.height = `${this.#height(view)}px`;
    const [width, height] = this.#size;
    const focused = this.svg.contains(document.activeElement) && document.activeElement?.getAttribute("data-key");
    this.svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
    const ratio = window.devicePixelRatio || 1;
    this.canvas.width = width * ratio;
    this.canvas.height = height * ratio;
    const forward = scenario.link.map(({ from, to }) => this.#line(from, to));
    const directions = scenario.link.map(({ from, to, duplex }, i) => (duplex ? [forward[i], this.#line(to, from)] : [forward[i]]));
    this.lines = directions.flat();
    const texts = scenario.link.map(labelOf);
    const spots = this.dense ? forward.map(({ x1, x2, y1, y2 }) => ({ x: (x1 + x2) / 2, y: (y1 + y2) / 2 - 14 }))
      : placeLabels(texts.map((text, i) => ({ text, line: forward[i] })), this.lines, this.#boxes(view), [width, height]);
    const links = scenario.link.map((link, i) => this.#link(view, link, i, directions[i], texts[i], spots[i]));
    this.svg.replaceChildren(...links, ...this.#hosts(view), ...drawnNodes(scenario, view.layout).map((name) => this.#nodeShape(view, name)));
    const again = focused && this.svg.querySelector(`[data-key="${CSS.escape(focused)}"]`);
    if (again instanceof SVGElement) again.focus();
  }

  /**
   * Returns the width of nodes in one row.
   *
   * @param {View} view
   */
  #nodeWidth({ layout }) {
    const columns = new Set(Object.values(layout).map(([x]) => Math.round(x * 50))).size;
    const room = (this.#size[0] - 2 * this.#side) / Math.max(columns - 1, 1);
    return Math.min(Math.max(room - 4, 10), SMALL_NODE.width);
  }

  /**
   * Returns the height for all rows of nodes.
   *
   * @param {View} view
   */
  #height({ scenario, layout }) {
    const spots = drawnNodes(scenario, layout).map((name) => layout[name] ?? [0.5, 0.5]);
    if (this.dense) {
      const columns = Map.groupBy(spots, ([x]) => Math.round(x * 50));
      const most = Math.max(...Array.from(columns.values(), (column) => column.length));
      return Math.min(Math.max(88 + most * (SMALL_NODE.height + 10), 320), 900);
    }
    const rows = new Set(spots.map(([, y]) => Math.round(y * 8)));
    return Math.min(170 + 60 * (rows.size - 1), 320);
  }

  /**
   * Returns the boxes of nodes and queues, which labels avoid.
   *
   * @param {View} view
   */
  #boxes({ scenario, layout }) {
    const { width, height } = this.#node;
    const boxes = drawnNodes(scenario, layout).map((name) => this.#spot(name)).map(([x, y]) => {
      return { left: x - width / 2 - 3, right: x + width / 2 + 3, top: y - height / 2 - 3, bottom: y + height / 2 + 3 };
    });
    const queues = this.lines.map(({ x1, y1, nx, ny }) => [x1, y1, x1 + nx * QUEUE, y1 + ny * QUEUE]).map(([x1, y1, x2, y2]) => {
      return { left: Math.min(x1, x2) - 6, right: Math.max(x1, x2) + 6, top: Math.min(y1, y2) - 6, bottom: Math.max(y1, y2) + 6 };
    });
    return [...boxes, ...queues];
  }

  /**
   * @param {View} view
   * @param {Link} link
   * @param {number} i
   * @param {Line[]} directions
   * @param {string} text
   * @param {{x: number, y: number}} spot centre of the label
   */
  #link({ selected }, link, i, directions, text, { x, y }) {
    const chosen = selected.kind === "link" && selected.index === i;
    const [forward] = directions;
    const wires = directions.map((line) => shape("line", { x1: line.x1, y1: line.y1, x2: line.x2, y2: line.y2, class: "wire" }));
    const label = shape("text", { x, y: y + 4, class: "label", "text-anchor": "middle" }, text);
    const grip = shape("line", {
      x1: forward.x1, y1: forward.y1, x2: forward.x2, y2: forward.y2, class: "grip",
    });
    const group = shape("g", {
      class: chosen ? "link chosen" : "link", tabindex: 0, role: "button", "data-key": `link ${i}`,
      "aria-pressed": String(chosen), "aria-label": words.stage.link(link.from, link.to, text),
    }, ...wires, label, grip);
    this.#onPress(group, () => this.act.select("link", i));
    return group;
  }

  /**
   * Draws senders and receivers next to their nodes.
   *
   * @param {View} view
   */
  #hosts(view) {
    const { scenario, dark, paths } = view;
    /** @type {Map<string, Host[]>} */
    const at = new Map();
    scenario.flow.forEach((flow, i) => {
      const path = paths[i];
      if (!path) return;
      for (const sends of [true, false]) {
        const [node, next] = sends ? path : path.slice(-2).reverse();
        const along = this.#line(next, node).ux;
        const outward = Math.abs(along) < 0.35 ? 0 : Math.sign(along);
        const taken = neighbours(scenario, node).some((other) => this.#line(node, other).ux * outward > 0.5);
        const hosts = at.get(node) ?? [];
        hosts.push({ flow, i, sends, ...(taken || !outward ? { ux: 0, uy: 1 } : { ux: outward, uy: 0 }) });
        at.set(node, hosts);
      }
    });
    /** @type {SVGElement[]} */
    const parts = [];
    const far = Math.max(32, this.#side * 0.4);
    for (const [node, hosts] of at) {
      const [x, y] = this.#spot(node);
      const groups = Map.groupBy(hosts.slice(0, MAX_HOSTS), (host) => `${host.ux} ${host.uy}`);
      for (const group of groups.values()) {
        group.forEach((host, k) => {
          const apart = Math.abs(host.uy) > 0.7 ? 40 : 22;
          const spread = (k - (group.length - 1) / 2) * apart;
          const hx = x + host.ux * far + host.uy * spread;
          const hy = y + host.uy * 42 - host.ux * spread;
          parts.push(...this.#host(view, host, [x, y], [hx, hy], look(host.i, dark).colour));
        });
      }
    }
    return parts;
  }

  /**
   * @param {View} view
   * @param {Host} host
   * @param {Spot} node position of the node
   * @param {Spot} spot position of the host
   * @param {string} colour
   */
  #host({ selected }, { flow, i, sends, ux, uy }, [x, y], [hx, hy], colour) {
    const chosen = selected.kind === "flow" && selected.index === i;
    const count = (flow.count ?? 1) > 1 ? ` ×${flow.count}` : "";
    const outward = Math.abs(uy) > 0.7 ? "middle" : ux < 0 ? "end" : "start";
    const letters = outward === "middle" ? 6 : Math.floor((this.#side - Math.abs(hx - x) - 9) / 6.9);
    const text = shape("text", {
      x: hx + (outward === "end" ? -9 : outward === "start" ? 9 : 0),
      y: hy + (outward === "middle" ? Math.sign(uy) * 12 + 7 : 4), class: "label", "text-anchor": outward,
    }, fit(sends ? `${flow.name}${count}` : String(flow.name), Math.max(letters, 2)));
    const dot = sends
      ? shape("circle", { cx: hx, cy: hy, r: 6, fill: colour })
      : shape("circle", { cx: hx, cy: hy, r: 5, fill: "none", stroke: colour, "stroke-width": 2.5 });
    const wire = shape("line", { x1: x, y1: y, x2: hx, y2: hy, class: "access" });
    const group = shape("g", {
      class: chosen ? "host chosen" : "host", tabindex: sends ? 0 : null, role: sends ? "button" : null,
      "data-key": sends ? `flow ${i}` : null, "aria-pressed": sends ? String(chosen) : null,
      "aria-label": sends ? words.stage.flow(flow.name, flow.from ?? "", flow.to ?? "") : null,
      "aria-hidden": sends ? null : "true",
    }, dot, text);
    this.#onPress(group, () => this.act.select("flow", i));
    return [wire, group];
  }

  /**
   * @param {View} view
   * @param {string} name
   */
  #nodeShape({ selected, picked: first, layout }, name) {
    const [x, y] = this.#spot(name);
    const picked = first === name || (selected.kind === "node" && selected.index === name);
    const { width, height } = this.#node;
    const group = shape("g", {
      class: picked ? "node chosen" : "node", transform: `translate(${x} ${y})`, tabindex: 0, role: "button",
      "data-key": `node ${name}`, "aria-pressed": String(picked), "aria-label": words.stage.node(name),
    }, shape("rect", { x: -width / 2, y: -height / 2, width, height, rx: height / 5 }), shape("text", { class: "name", y: 4 }, fit(name, 6)));
    this.#onPress(group, () => this.act.pick(name));
    this.#onDrag(group, name);
    group.addEventListener("keydown", (event) => {
      const step = STEPS[event.key];
      if (!step) return;
      event.preventDefault();
      const [lx, ly] = layout[name];
      this.act.move(name, clamp(lx + step[0] * 0.03), clamp(ly + step[1] * 0.06));
    });
    return group;
  }

  /**
   * Moves a node with the pointer.
   *
   * @param {SVGElement} group
   * @param {string} name
   */
  #onDrag(group, name) {
    group.addEventListener("pointerdown", (event) => {
      const begin = [event.clientX, event.clientY];
      const from = this.#view?.layout[name] ?? [0.5, 0.5];
      const [width, height] = this.#size;
      const side = this.#side;
      /** @param {PointerEvent} to */
      const move = (to) => {
        const [dx, dy] = [to.clientX - begin[0], to.clientY - begin[1]];
        if (Math.hypot(dx, dy) < 4) return;
        this.act.move(name, clamp(from[0] + dx / (width - 2 * side)), clamp(from[1] + dy / (height - ABOVE - BELOW)));
      };
      const drag = new AbortController();
      window.addEventListener("pointermove", move, drag);
      for (const end of ["pointerup", "pointercancel"]) window.addEventListener(end, () => drag.abort(), drag);
    });
  }

  /**
   * Calls a function on a click, Enter or space.
   *
   * @param {SVGElement} group
   * @param {() => void} call
   */
  #onPress(group, call) {
    group.addEventListener("click", call);
    group.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" && event.key !== " ") return;
      event.preventDefault();
      event.stopPropagation();
      call();
    });
  }
}

/** @param {Link} link */
function labelOf({ capacity, delay, changes, reverse }) {
  const varies = [changes, reverse?.changes].some((of) => (Array.isArray(of) ? of.length : of));
  return `${capacity} · ${delay}${varies ? `, ${words.stage.changes}` : ""}`;
}

/** @param {number} x */
function clamp(x) {
  return Math.min(Math.max(x, 0), 1);
}

/**
 * Returns a name, cut to a number of letters.
 *
 * @param {string} name
 * @param {number} letters
 */
function fit(name, letters) {
  return name.length > letters ? `${name.slice(0, letters - 1)}…` : name;
}

/**
 * @param {Scenario} scenario
 * @param {string} node
 */
function neighbours(scenario, node) {
  const found = scenario.link.flatMap(({ from, to }) => (from === node ? [to] : to === node ? [from] : []));
  return [...new Set(found)];
}
