/** Places of the labels of links: labels avoid links, nodes and other labels. */

/** @import { Line } from "./stage.js" */

/** Rectangle, pixels. @typedef {{left: number, top: number, right: number, bottom: number}} Box */

/** Approximate width of a letter, pixels. */
const LETTER = 6.7;
/** Height of a label, pixels. */
const HEIGHT = 14;
/** Positions along a link, in the order of preference. */
const ALONG = [0.5, 0.38, 0.62, 0.28, 0.72, 0.2, 0.8];
/** Distances from a link, pixels. */
const AWAY = [10, -24, 26, -40];

/**
 * @param {Box} a
 * @param {Box} b
 */
function overlap(a, b) {
  const width = Math.min(a.right, b.right) - Math.max(a.left, b.left);
  const height = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
  return width > 0 && height > 0 ? width * height : 0;
}

/**
 * Returns the length of a line inside a box.
 *
 * @param {Line} line
 * @param {Box} box
 */
function inside({ x1, y1, x2, y2 }, box) {
  let [from, to] = [0, 1];
  for (const [start, step, low, high] of [[x1, x2 - x1, box.left, box.right], [y1, y2 - y1, box.top, box.bottom]]) {
    if (step === 0) {
      if (start < low || start > high) return 0;
    } else {
      const ends = [(low - start) / step, (high - start) / step].sort((a, b) => a - b);
      [from, to] = [Math.max(from, ends[0]), Math.min(to, ends[1])];
    }
  }
  return Math.max(to - from, 0) * Math.hypot(x2 - x1, y2 - y1);
}

/**
 * Returns the centre of each label. Of several positions near its link, a label takes the one that covers least.
 *
 * @param {{text: string, line: Line}[]} labels line of the forward direction of each link
 * @param {Line[]} lines all lines of the drawing
 * @param {Box[]} boxes other things to avoid
 * @param {[number, number]} size width and height of the drawing
 * @returns {{x: number, y: number}[]}
 */
export function placeLabels(labels, lines, boxes, [width, height]) {
  const taken = [...boxes];
  return labels.map(({ text, line }) => {
    const half = (text.length * LETTER) / 2;
    /** @type {{x: number, y: number, box: Box, cost: number} | null} */
    let best = null;
    const candidates = AWAY.flatMap((away) => ALONG.map((along) => ({ away, along })));
    for (const [order, { away, along }] of candidates.entries()) {
      // A label next to a steep link is moved by half its width, a label above a flat one by half its height.
      const far = Math.abs(away) + Math.abs(line.nx) * half + (Math.abs(line.ny) * HEIGHT) / 2;
      const x = line.x1 + (line.x2 - line.x1) * along + line.nx * Math.sign(away) * far;
      const y = line.y1 + (line.y2 - line.y1) * along + line.ny * Math.sign(away) * far;
      const box = { left: x - half, right: x + half, top: y - HEIGHT / 2, bottom: y + HEIGHT / 2 };
      const outside = box.left < 0 || box.right > width || box.top < 0 || box.bottom > height;
      const covered = lines.reduce((sum, other) => sum + inside(other, box) * HEIGHT, 0) +
        taken.reduce((sum, other) => sum + overlap(box, other), 0);
      const cost = covered + (outside ? 1e4 : 0) + order;
      if (!best || cost < best.cost) best = { x, y, box, cost };
    }
    const { x, y, box } = /** @type {NonNullable<typeof best>} */ (best);
    taken.push(box);
    return { x, y };
  });
}
