/** Packets in the drawing: their positions at a time, and their appearance. */

import { play } from "./runner.js";
import { look } from "./panels.js";
import { crosses } from "./series.js";

const MOST_ROWS = 300_000; // stays in one period
const FATE = { dropped: 1, lost: 2, present: 3 };
const BOX = 46; // largest drawn length of a full queue
const SMALL_BOX = 16;
const MOST_DOTS = 2500;

/** Packets in one of the compared drawings. */
export class Packets {
  #pieces = [];
  #asked = null;
  #version = -1;

  constructor(side, stage) {
    this.side = side;
    this.stage = stage;
  }

  /** Discards all packets before another scenario is shown. */
  reset(version, scenario, result) {
    this.#version = version;
    this.scenario = scenario;
    this.result = result;
    this.#pieces = [];
    this.#asked = null;
  }

  /** Returns the known stays at a time, if any, and requests the stays needed next. */
  #at(time, length) {
    const piece = this.#pieces.find(({ from, to }) => from <= time && time <= to);
    const next = piece ? piece.to : time;
    const end = this.result.now;
    const soon = !piece || time > piece.from + (piece.to - piece.from) / 3;
    const known = this.#pieces.some(({ from, to }) => from <= next && next < to);
    if (soon && !known && next < end && (this.#asked === null || (!piece && this.#asked > time))) {
      this.#ask(next, Math.min(next + length, end));
    }
    return piece;
  }

  #ask(from, to) {
    const version = this.#version;
    this.#asked = from;
    play(this.side, `${version}`, this.scenario, from, to, (reply) => {
      if (version !== this.#version) return;
      this.#asked = null;
      if (!reply.stays || reply.stays.rows > MOST_ROWS) return;
      this.#pieces = [...this.#pieces, { from, to: reply.now, stays: reply.stays }].slice(-3);
    });
  }

  /** Draws the packets at a time; `speed` is simulated over real time. Returns false while packet data is missing. */
  draw(time, speed, dark) {
    const { canvas, lines } = this.stage;
    if (!this.result?.resolved || lines.length !== this.result.resolved.links.length) return false;
    const piece = this.#at(Math.min(time, this.result.now), Math.max(speed * 0.6, 1e-4));
    if (!piece) return false;
    const pen = canvas.getContext("2d");
    const ratio = window.devicePixelRatio || 1;
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    pen.clearRect(0, 0, canvas.width, canvas.height);
    const { stays } = piece;
    const queues = lines.map(() => []);
    const wires = [];
    const fading = 0.5 * speed;
    for (let row = 0; row < stays.rows; row += 1) {
      const arrived = stays.arrived[row];
      const ends = stays.ends[row];
      if (!(arrived <= time)) continue;
      const gone = time >= ends;
      if (gone) {
        const fate = stays.fate[row];
        if ((fate === FATE.dropped || fate === FATE.lost) && time < ends + fading) {
          this.#cross(pen, lines[stays.link[row]], fate, (time - ends) / fading);
        }
      } else if (time >= stays.departed[row]) wires.push(row);
      else queues[stays.link[row]].push(row);
    }
    this.#wires(pen, stays, wires, time, dark);
    queues.forEach((rows, link) => this.#queue(pen, stays, rows, link, dark));
    return true;
  }

  #wires(pen, stays, rows, time, dark) {
    const { lines } = this.stage;
    const skip = Math.ceil(rows.length / MOST_DOTS);
    for (let k = 0; k < rows.length; k += skip) {
      const row = rows[k];
      const line = lines[stays.link[row]];
      const way = (time - stays.departed[row]) / (stays.ends[row] - stays.departed[row]);
      const x = line.x1 + (line.x2 - line.x1) * way;
      const y = line.y1 + (line.y2 - line.y1) * way;
      const { colour } = look(stays.flow[row], dark);
      pen.beginPath();
      if (stays.ack[row]) {
        pen.strokeStyle = colour;
        pen.lineWidth = 1.25;
        pen.arc(x, y, 2, 0, 7);
        pen.stroke();
      } else {
        pen.fillStyle = colour;
        pen.arc(x, y, 3.6, 0, 7);
        pen.fill();
      }
    }
  }

  /** Draws the queue of a link next to the link's beginning. A full queue is as long as its frame. */
  #queue(pen, stays, rows, link, dark) {
    const line = this.stage.lines[link];
    const most = this.#room(link);
    if (!rows.length && (!most || this.stage.dense)) return;
    rows.sort((a, b) => stays.arrived[a] - stays.arrived[b]);
    const sizes = rows.map((row) => {
      const flow = this.result.resolved.flows[stays.flow[row]];
      return stays.ack[row] ? flow.ack_bytes : flow.packet_bytes;
    });
    const room = Math.max(most ?? 0, sizes.reduce((sum, size) => sum + size, 0), 8000);
    const box = this.stage.dense ? SMALL_BOX : BOX;
    const [x, y] = [line.x1 + line.nx * 5, line.y1 + line.ny * 5];
    pen.save();
    pen.translate(x, y);
    pen.rotate(Math.atan2(line.ny, line.nx));
    pen.strokeStyle = getComputedStyle(this.stage.place).getPropertyValue("--quiet");
    pen.lineWidth = 1;
    pen.strokeRect(0, -5, box, 10);
    let from = 0;
    rows.forEach((row, k) => {
      const length = (sizes[k] / room) * box;
      pen.fillStyle = look(stays.flow[row], dark).colour;
      pen.fillRect(from, -4, length > 3 ? length - 1 : length, 8);
      from += length;
    });
    pen.restore();
  }

  /** Returns the buffer of a queue in bytes, or its largest backlog if unlimited; null for a queue without data. */
  #room(link) {
    const { resolved, tables } = this.result;
    if (this.rooms?.of !== this.result) this.rooms = { of: this.result, known: new Map() };
    if (!this.rooms.known.has(link)) {
      const packet = Math.max(40, ...resolved.flows.filter((flow) => crosses(flow, resolved.links[link].name)).map((f) => f.packet_bytes));
      const [number, unit] = resolved.links[link].buffer.split(" ");
      const bytes = { B: 1, kB: 1e3, MB: 1e6, GB: 1e9 }[unit];
      const stride = resolved.links.length;
      let peak = 0;
      for (let row = link; row < (tables.links?.rows ?? 0); row += stride) peak = Math.max(peak, Number(tables.links.backlog_max_bytes[row]));
      const most = unit?.startsWith("packet") ? Number(number) * packet : bytes ? Number(number) * bytes : peak;
      const data = resolved.flows.some((flow) => crosses(flow, resolved.links[link].name));
      this.rooms.known.set(link, data && peak > packet ? most : null);
    }
    return this.rooms.known.get(link);
  }

  #cross(pen, line, fate, age) {
    const at = fate === FATE.dropped ? 0 : 0.5;
    const x = line.x1 + (line.x2 - line.x1) * at + line.nx * (fate === FATE.dropped ? 4 : 0);
    const y = line.y1 + (line.y2 - line.y1) * at + line.ny * (fate === FATE.dropped ? 4 : 0) + age * 26;
    pen.globalAlpha = 1 - age;
    pen.strokeStyle = getComputedStyle(this.stage.place).getPropertyValue("--wrong");
    pen.lineWidth = 2;
    pen.beginPath();
    pen.moveTo(x - 4, y - 4);
    pen.lineTo(x + 4, y + 4);
    pen.moveTo(x + 4, y - 4);
    pen.lineTo(x - 4, y + 4);
    pen.stroke();
    pen.globalAlpha = 1;
  }
}
