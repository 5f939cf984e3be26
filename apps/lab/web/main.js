/** Wiring of the page. */

import { Clock } from "./clock.js";
import { Controls } from "./controls.js";
import { $ } from "./dom.js";
import { Editing } from "./editing.js";
import { Lessons } from "./lessons.js";
import { Opening } from "./opening.js";
import { Runs } from "./runs.js";
import { Shell } from "./shell.js";
import { Side } from "./side.js";
import { State } from "./state.js";
import { TextBox } from "./text.js";
import { Theory } from "./theory.js";
import { words } from "./words.js";

/** @import { SideName } from "./types.js" */

const redraw = () => shell.redraw();
const lab = new State({
  rerun: () => {
    runs.rerun();
    redraw();
    textBox.update();
    opening.keep();
  },
  redraw: () => {
    redraw();
    opening.keep();
  },
});
const editing = new Editing(lab, redraw);
/** @param {SideName} name */
const side = (name) => new Side(name, {
  select: (kind, index) => lab.select(kind, index),
  move: (node, x, y) => lab.move(node, x, y),
  pick: (node) => editing.pick(node),
}, (time) => clock.seek(time));
const sides = { a: side("a"), b: side("b") };
const clock = new Clock(lab, sides);
const controls = new Controls(lab);
const lessons = new Lessons($("lesson"), {
  open: (lesson) => opening.openLesson(lesson),
  close: () => opening.closeLesson(),
  fields: (drag) => controls.forLesson(drag),
});
const opening = new Opening({ lab, clock, controls, lessons });
const runs = new Runs({ lab, sides, clock, controls, lessons, theory: new Theory($("theory")) });
const textBox = new TextBox(lab, (text, onError) => opening.loadText(text, onError));
const shell = new Shell({ lab, sides, clock, controls, editing, lessons, opening });

lab.darkScheme.addEventListener("change", () => {
  runs.recolour();
  redraw();
});
shell.start().catch((error) => opening.notice(words.run.noStart(error.message)));
