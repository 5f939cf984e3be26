/** Drawing of a network, editable by pointer and by keyboard. */

import { nodes } from "./scenario.js";
import { look } from "./panels.js";

const SVG = "http://www.w3.org/2000/svg";
const APART = 7; // distance between the two directions of a link
const MOST_HOSTS = 6; // limit on hosts drawn at a node
const MOST_WORDED = 30; // limit on links with labels, which would overlap; with more, only the selected link has one
const MOST_COLUMNS = 12; // columns of nodes in one row
const NODE = { width: 38, height: 30 };
const NAMED_NODE = 24; // wide enough for a name
const SMALL_NODE = { width: 30, height: 16 };

function shape(name, attributes, ...children) {
  const made = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value !== undefined && value !== null) made.setAttribute(key, value);
  }
  made.append(...children);
  return made;
}

/** Returns the nodes of a flow's shortest path, by hops; null if there is none. */
function shortest(scenario, flow) {
  if (Array.isArray(flow.path) && flow.path.length > 1) return flow.path;
  const before = new Map([[flow.from, null]]);
  for (const name of before.keys()) {
    for (const { from, to, duplex } of scenario.link) {
      const next = from === name ? to : duplex && to === name ? from : null;
      if (next !== null && !before.has(next)) before.set(next, name);
    }
  }
  if (flow.from === flow.to || !before.has(flow.to)) return null;
  const path = [];
  for (let name = flow.to; name !== null; name = before.get(name)) path.unshift(name);
  return path;
}

/** Sets the depth (distance from the left) of each node of a path, between depths that are already set. */
function place(path, depth) {
  const known = path.flatMap((name, k) => (depth.has(name) ? [k] : []));
  path.forEach((name, k) => {
    if (depth.has(name)) return;
    const left = known.findLast((j) => j < k);
    const right = known.find((j) => j > k);
    const [from, to] = [left, right].map((j) => depth.get(path[j]));
    if (left !== undefined && right !== undefined) depth.set(name, from + ((to - from) * (k - left)) / (right - left));
    else if (left !== undefined) depth.set(name, from + (k - left));
    else depth.set(name, right === undefined ? k : to - (right - k));
  });
}

/** Returns the positions of nodes in columns that are spaced by depth. */
function inColumns(columns) {
  const [first, last] = [columns[0]?.[0], columns.at(-1)?.[0]];
  return columns.flatMap(([at, column]) => column.map((name, i) => {
    return [name, [last > first ? (at - first) / (last - first) : 0.5, (i + 0.5) / column.length]];
  }));
}

/** Returns positions for more columns than fit into one row. Rows run alternately to the right and to the left. */
function inRows(columns) {
  const rows = Math.ceil(columns.length / MOST_COLUMNS);
  return columns.flatMap(([, column], k) => {
    const [row, at] = [Math.floor(k / MOST_COLUMNS), (k % MOST_COLUMNS) / (MOST_COLUMNS - 1)];
    return column.map((name, i) => [name, [row % 2 ? 1 - at : at, (row + (i + 0.5) / column.length) / rows]]);
  });
}

/** Returns default positions of nodes: from the senders on the left to the receivers on the right. */
export function arrange(scenario) {
  const names = nodes(scenario);
  const depth = new Map();
  for (const flow of scenario.flow) {
    const path = shortest(scenario, flow);
    if (path?.every((name) => names.includes(name))) place(path, depth);
  }
  for (let before = -1; before !== depth.size;) {
    before = depth.size;
    for (const { from, to } of scenario.link) {
      if (depth.size === 0) depth.set(from, 0);
      if (depth.has(from) !== depth.has(to)) place([from, to], depth);
    }
  }
  for (const name of names) if (!depth.has(name)) depth.set(name, 0);
  const among = scenario.link.length > MOST_WORDED ? Math.round : (x) => x; // with many links, nodes are only in whole columns
  const columns = [...Map.groupBy(names, (name) => among(depth.get(name)))].sort(([a], [b]) => a - b);
  const spots = columns.length > MOST_COLUMNS ? inRows(columns) : inColumns(columns);
  return Object.fromEntries(spots); // safe for any name of a node
}

/** Drawing of a network. `act` has the callbacks select(kind, index or name), move(node, x, y), pick(node). */
export class Stage {
  constructor(place, act) {
    this.place = place;
    this.act = act;
    this.svg = shape("svg", { class: "network", role: "group", "aria-label": "The network" });
    this.canvas = document.createElement("canvas");
    this.canvas.setAttribute("aria-hidden", "true");
    place.append(this.svg, this.canvas);
    this.lines = [];
    new ResizeObserver(() => this.draw()).observe(place);
  }

  /** Removes all packets from the drawing. */
  clear() {
    const pen = this.canvas.getContext("2d");
    pen.setTransform(1, 0, 0, 1, 0, 0);
    pen.clearRect(0, 0, this.canvas.width, this.canvas.height);
  }

  /** Shows a scenario. `resolved` may belong to an earlier scenario while the new one is being checked. */
  show(view) {
    this.view = view;
    this.draw();
  }

  get size() {
    return [Math.max(this.place.clientWidth, 200), Math.max(this.place.clientHeight, 120)];
  }

  /** Width of the space for hosts at the left and the right. */
  get side() {
    return Math.min(120, this.size[0] * 0.2);
  }

  spot(name) {
    const [width, height] = this.size;
    const { side } = this;
    const [x, y] = this.view.layout[name] ?? [0.5, 0.5];
    return [side + x * (width - 2 * side), 44 + y * (height - 88)];
  }

  /** Returns the line of one direction of a link, shifted to the right of that direction. */
  line(from, to) {
    const [x1, y1] = this.spot(from);
    const [x2, y2] = this.spot(to);
    const length = Math.hypot(x2 - x1, y2 - y1) || 1;
    const [ux, uy] = [(x2 - x1) / length, (y2 - y1) / length];
    const [nx, ny] = [uy, -ux]; // points upwards for a link that runs to the right
    const gap = Math.min(20, length / 4);
    return {
      x1: x1 + ux * gap + nx * APART, y1: y1 + uy * gap + ny * APART,
      x2: x2 - ux * gap + nx * APART, y2: y2 - uy * gap + ny * APART, ux, uy, nx, ny, length: length - 2 * gap,
    };
  }

  draw() {
    if (!this.view || this.place.hidden) return;
    const { scenario } = this.view;
    this.dense = scenario.link.length > MOST_WORDED;
    this.node = this.dense ? { ...SMALL_NODE, width: this.#nodeWidth() } : NODE;
    this.svg.classList.toggle("dense", this.dense);
    this.svg.classList.toggle("nameless", this.node.width < NAMED_NODE);
    this.place.style.height = `${this.#height()}px`;
    const [width, height] = this.size;
    const focused = this.svg.contains(document.activeElement) ? document.activeElement.dataset.key : null;
    this.svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
    const ratio = window.devicePixelRatio || 1;
    this.canvas.width = width * ratio;
    this.canvas.height = height * ratio;
    this.lines = [];
    const parts = [];
    scenario.link.forEach((link, i) => parts.push(...this.#link(link, i)));
    parts.push(...this.#hosts());
    for (const name of nodes(scenario)) parts.push(this.#node(name));
    this.svg.replaceChildren(...parts);
    if (focused) this.svg.querySelector(`[data-key="${CSS.escape(focused)}"]`)?.focus();
  }

  /** Returns the width of nodes in one row. */
  #nodeWidth() {
    const across = new Set(Object.values(this.view.layout).map(([x]) => Math.round(x * 50))).size;
    const room = (this.size[0] - 2 * this.side) / Math.max(across - 1, 1);
    return Math.min(Math.max(room - 4, 10), SMALL_NODE.width);
  }

  /** Returns the height for all rows of nodes. */
  #height() {
    const spots = nodes(this.view.scenario).map((name) => this.view.layout[name] ?? [0.5, 0.5]);
    if (this.dense) {
      const columns = Map.groupBy(spots, ([x]) => Math.round(x * 50));
      const most = Math.max(...Array.from(columns.values(), (column) => column.length));
      return Math.min(Math.max(88 + most * (SMALL_NODE.height + 10), 320), 900);
    }
    const rows = new Set(spots.map(([, y]) => Math.round(y * 8)));
    return Math.min(170 + 60 * (rows.size - 1), 320);
  }

  #link(link, i) {
    const chosen = this.view.selected?.kind === "link" && this.view.selected.index === i;
    const forward = this.line(link.from, link.to);
    this.lines.push(forward);
    const directions = [forward];
    if (link.duplex) {
      directions.push(this.line(link.to, link.from));
      this.lines.push(directions[1]);
    }
    const wires = directions.map((line) => shape("line", { x1: line.x1, y1: line.y1, x2: line.x2, y2: line.y2, class: "wire" }));
    const middle = [(forward.x1 + forward.x2) / 2 + forward.nx * 16, (forward.y1 + forward.y2) / 2 + forward.ny * 16];
    const upright = Math.abs(forward.ux) > 0.5;
    const changes = [link.changes, link.reverse?.changes].some((of) => (Array.isArray(of) ? of.length : of));
    const words = `${link.capacity} · ${link.delay}${changes ? ", changes" : ""}`;
    const label = shape("text", {
      x: upright ? middle[0] : middle[0] + Math.sign(forward.nx) * 6, y: upright ? middle[1] + (forward.ny > 0 ? 10 : 0) : middle[1],
      class: "label", "text-anchor": upright ? "middle" : forward.nx > 0 ? "start" : "end",
    }, words);
    const grip = shape("line", {
      x1: forward.x1, y1: forward.y1, x2: forward.x2, y2: forward.y2, class: "grip",
    });
    const group = shape("g", {
      class: chosen ? "link chosen" : "link", tabindex: 0, role: "button", "data-key": `link ${i}`,
      "aria-pressed": chosen, "aria-label": `Link from ${link.from} to ${link.to}, ${words}`,
    }, ...wires, label, grip);
    this.#press(group, () => this.act.select("link", i));
    return [group];
  }

  /** Draws senders and receivers next to their nodes. */
  #hosts() {
    const { scenario, dark, paths } = this.view;
    const at = new Map();
    scenario.flow.forEach((flow, i) => {
      const path = paths[i];
      if (!path) return;
      for (const [node, next, sends] of [[path[0], path[1], true], [path.at(-1), path.at(-2), false]]) {
        const along = this.line(next, node).ux;
        const outward = Math.abs(along) < 0.35 ? 0 : Math.sign(along);
        const taken = neighbours(scenario, node).some((other) => this.line(node, other).ux * outward > 0.5);
        if (!at.has(node)) at.set(node, []);
        at.get(node).push({ flow, i, sends, ...(taken || !outward ? { ux: 0, uy: 1 } : { ux: outward, uy: 0 }) });
      }
    });
    const parts = [];
    const far = Math.max(32, this.side / 2);
    for (const [node, hosts] of at) {
      const [x, y] = this.spot(node);
      const groups = Map.groupBy(hosts.slice(0, MOST_HOSTS), (host) => `${host.ux} ${host.uy}`);
      for (const group of groups.values()) {
        group.forEach((host, k) => {
          const apart = Math.abs(host.uy) > 0.7 ? 40 : 22;
          const spread = (k - (group.length - 1) / 2) * apart;
          const hx = x + host.ux * far + host.uy * spread;
          const hy = y + host.uy * 42 - host.ux * spread;
          parts.push(...this.#host(host, [x, y], [hx, hy], look(host.i, dark).colour));
        });
      }
    }
    return parts;
  }

  #host({ flow, i, sends, ux, uy }, [x, y], [hx, hy], colour) {
    const chosen = this.view.selected?.kind === "flow" && this.view.selected.index === i;
    const count = flow.count > 1 ? ` ×${flow.count}` : "";
    const outward = Math.abs(uy) > 0.7 ? "middle" : ux < 0 ? "end" : "start";
    const letters = outward === "middle" ? 6 : Math.floor((this.side - Math.abs(hx - x) - 9) / 7.6);
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
      "data-key": sends ? `flow ${i}` : null, "aria-pressed": sends ? chosen : null,
      "aria-label": sends ? `Flow ${flow.name} from ${flow.from ?? ""} to ${flow.to ?? ""}` : null,
      "aria-hidden": sends ? null : "true",
    }, dot, text);
    this.#press(group, () => this.act.select("flow", i));
    return [wire, group];
  }

  #node(name) {
    const [x, y] = this.spot(name);
    const picked = this.view.picked === name || (this.view.selected?.kind === "node" && this.view.selected.index === name);
    const { width, height } = this.node;
    const group = shape("g", {
      class: picked ? "node chosen" : "node", transform: `translate(${x} ${y})`, tabindex: 0, role: "button",
      "data-key": `node ${name}`, "aria-pressed": picked, "aria-label": `Node ${name}; arrow keys move it`,
    }, shape("rect", { x: -width / 2, y: -height / 2, width, height, rx: height / 5 }), shape("text", { class: "name", y: 4 }, fit(name, 6)));
    this.#press(group, () => this.act.pick(name));
    this.#drag(group, name);
    group.addEventListener("keydown", (event) => {
      const step = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[event.key];
      if (!step) return;
      event.preventDefault();
      const [lx, ly] = this.view.layout[name];
      this.act.move(name, clamp(lx + step[0] * 0.03), clamp(ly + step[1] * 0.06));
    });
    return group;
  }

  #drag(group, name) {
    group.addEventListener("pointerdown", (event) => {
      const begin = [event.clientX, event.clientY];
      const from = this.view.layout[name] ?? [0.5, 0.5];
      const [width, height] = this.size;
      const { side } = this;
      const move = (to) => {
        const [dx, dy] = [to.clientX - begin[0], to.clientY - begin[1]];
        if (Math.hypot(dx, dy) < 4) return;
        this.act.move(name, clamp(from[0] + dx / (width - 2 * side)), clamp(from[1] + dy / (height - 88)));
      };
      const up = () => {
        window.removeEventListener("pointermove", move);
        window.removeEventListener("pointerup", up);
        window.removeEventListener("pointercancel", up);
      };
      window.addEventListener("pointermove", move);
      window.addEventListener("pointerup", up);
      window.addEventListener("pointercancel", up);
    });
  }

  #press(group, call) {
    group.addEventListener("click", call);
    group.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" && event.key !== " ") return;
      event.preventDefault();
      event.stopPropagation();
      call();
    });
  }
}

function clamp(x) {
  return Math.min(Math.max(x, 0), 1);
}

function fit(name, letters) {
  return name.length > letters ? `${name.slice(0, letters - 1)}…` : name;
}

function neighbours(scenario, node) {
  const found = scenario.link.flatMap(({ from, to }) => (from === node ? [to] : to === node ? [from] : []));
  return [...new Set(found)];
}
