/** Packets in the drawing: positions at a time, and appearance. */

import { play } from "./runner.js";
import { look } from "./panels.js";
import { bufferBytes, crosses } from "./series.js";
import { QUEUE } from "./stage.js";

/**
 * @import { Line, Stage } from "./stage.js"
 * @import { Result, Scenario, SideName, StayTable } from "./types.js"
 */

/** Limit on the stays in a period. A stay is the time that one packet spends at one link. */
const MAX_ROWS = 300_000;
/** Number of periods that are kept. */
const MAX_PERIODS = 3;
/** Outcomes of a stay at a link, as in `apps/lab/src/output.rs`. */
const FATE = { dropped: 1, lost: 2 };
const SMALL_BOX = 16;
/** Smallest drawn buffer of a queue, bytes. */
const MIN_BUFFER_BYTES = 8000;
/** Approximate limit on the drawn packets in flight. */
const MAX_DOTS = 2500;

/** Packets in one of the compared drawings. */
export class Packets {
  /** Stays of packets in periods of simulated time. @type {{from: number, to: number, stays: StayTable}[]} */
  #periods = [];
  /** Start of the requested period, s; null without a request. @type {number | null} */
  #requested = null;
  #version = -1;
  /** @type {Scenario | null} */
  #scenario = null;
  /** @type {Result | null} */
  #result = null;
  /** Drawn buffers of the queues, by link. @type {Map<number, number | null>} */
  #buffers = new Map();

  /**
   * @param {SideName} side
   * @param {Stage} stage
   */
  constructor(side, stage) {
    this.side = side;
    this.stage = stage;
  }

  /**
   * Discards all packets, for another scenario.
   *
   * @param {number} version
   * @param {Scenario | null} scenario
   * @param {Result | null} result
   */
  reset(version, scenario, result) {
    this.#version = version;
    this.#scenario = scenario;
    this.#result = result;
    this.#periods = [];
    this.#requested = null;
    this.#buffers.clear();
  }

  /**
   * Returns the period of a time, and requests the next period. Returns undefined while the period is missing.
   *
   * @param {number} time
   * @param {number} length length of a requested period, s
   * @param {number} end end of the run, s
   */
  #periodAt(time, length, end) {
    const period = this.#periods.find(({ from, to }) => from <= time && time <= to);
    const next = period ? period.to : time;
    const soon = !period || time > period.from + (period.to - period.from) / 3;
    const known = this.#periods.some(({ from, to }) => from <= next && next < to);
    const free = this.#requested === null || (!period && this.#requested > time);
    if (soon && !known && next < end && free) this.#request(next, Math.min(next + length, end));
    return period;
  }

  /**
   * @param {number} from
   * @param {number} to
   */
  #request(from, to) {
    const version = this.#version;
    if (!this.#scenario) return;
    this.#requested = from;
    play(this.side, version, this.#scenario, from, to, ({ stays, now = to }) => {
      if (version !== this.#version) return;
      this.#requested = null;
      if (stays && stays.rows <= MAX_ROWS) this.#periods = [...this.#periods, { from, to: now, stays }].slice(-MAX_PERIODS);
    });
  }

  /**
   * Draws the packets at a time. Returns false while packet positions are missing.
   *
   * @param {number} time
   * @param {number} speed simulated over real time
   * @param {boolean} dark
   */
  draw(time, speed, dark) {
    const { lines, pen } = this.stage;
    const result = this.#result;
    if (!result || lines.length !== result.resolved.links.length) return false;
    const period = this.#periodAt(Math.min(time, result.now), Math.max(speed * 0.6, 1e-4), result.now);
    if (!period) return false;
    this.stage.clear();
    const ratio = window.devicePixelRatio || 1;
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    const { stays } = period;
    /** @type {number[][]} */
    const queues = lines.map(() => []);
    const wires = [];
    const fading = 0.5 * speed;
    for (let row = 0; row < stays.rows; row += 1) {
      const ends = stays.ends[row];
      if (!(stays.arrived[row] <= time)) continue;
      if (time >= ends) {
        const fate = stays.fate[row];
        if ((fate === FATE.dropped || fate === FATE.lost) && time < ends + fading) {
          this.#cross(lines[stays.link[row]], fate, (time - ends) / fading);
        }
      } else if (time >= stays.departed[row]) wires.push(row);
      else queues[stays.link[row]].push(row);
    }
    this.#wires(stays, wires, time, dark);
    queues.forEach((rows, link) => this.#queue(result, stays, rows, link, dark));
    return true;
  }

  /**
   * Draws packets in propagation: data packets as dots, ACKs as rings.
   *
   * @param {StayTable} stays
   * @param {number[]} rows
   * @param {number} time
   * @param {boolean} dark
   */
  #wires(stays, rows, time, dark) {
    const { lines, pen } = this.stage;
    const skip = Math.ceil(rows.length / MAX_DOTS);
    for (let k = 0; k < rows.length; k += skip) {
      const row = rows[k];
      const line = lines[stays.link[row]];
      const distance = (time - stays.departed[row]) / (stays.ends[row] - stays.departed[row]);
      const x = line.x1 + (line.x2 - line.x1) * distance;
      const y = line.y1 + (line.y2 - line.y1) * distance;
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

  /**
   * Draws a queue next to its link. A full queue fills its frame.
   *
   * @param {Result} result
   * @param {StayTable} stays
   * @param {number[]} rows
   * @param {number} link
   * @param {boolean} dark
   */
  #queue(result, stays, rows, link, dark) {
    const { lines, pen, dense } = this.stage;
    const line = lines[link];
    const buffer = this.#bufferOf(result, link);
    if (!rows.length && (!buffer || dense)) return;
    rows.sort((a, b) => stays.arrived[a] - stays.arrived[b]);
    const sizes = rows.map((row) => {
      const flow = result.resolved.flows[stays.flow[row]];
      return stays.ack[row] ? flow.ack_bytes : flow.packet_bytes;
    });
    const room = Math.max(buffer ?? 0, sizes.reduce((sum, size) => sum + size, 0), MIN_BUFFER_BYTES);
    const box = dense ? SMALL_BOX : QUEUE;
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

  /**
   * Returns the buffer of a queue in bytes. For an unlimited buffer, returns the largest backlog. Returns null for a
   * queue that never holds two data packets.
   *
   * @param {Result} result
   * @param {number} index
   */
  #bufferOf({ resolved, tables: { links } }, index) {
    const known = this.#buffers.get(index);
    if (known !== undefined) return known;
    const link = resolved.links[index];
    const sizes = resolved.flows.filter((flow) => crosses(flow, link.name)).map((flow) => flow.packet_bytes);
    const packet = Math.max(40, ...sizes);
    let peak = 0;
    for (let row = index; links && row < links.rows; row += resolved.links.length) peak = Math.max(peak, Number(links.backlog_max_bytes[row]));
    const buffer = sizes.length && peak > packet ? bufferBytes(resolved, link) ?? peak : null;
    this.#buffers.set(index, buffer);
    return buffer;
  }

  /**
   * Draws a dropped or lost packet as a cross that falls and fades.
   *
   * @param {Line} line
   * @param {number} fate
   * @param {number} age 0 to 1
   */
  #cross(line, fate, age) {
    const { pen } = this.stage;
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
