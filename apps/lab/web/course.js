/** Lessons of the course, which the page fetches before it opens the first one. */

import { COURSE, lessonOf } from "./lesson.js";
import { parse } from "./runner.js";
import { words } from "./words.js";

/**
 * @import { Lesson } from "./lesson.js"
 * @import { Scenario } from "./types.js"
 */

/** @type {Promise<Lesson[]> | null} */
let lessons = null;

/** @param {string} name */
async function fetched(name) {
  const reply = await fetch(new URL(`lessons/${name}.toml`, import.meta.url));
  if (!reply.ok) throw new Error(words.lesson.failed(name, reply.status));
  return lessonOf(name, /** @type {Scenario} */ (await parse(await reply.text())));
}

/** Returns the lessons of the course. */
export function course() {
  lessons ??= Promise.all(COURSE.map(fetched));
  return lessons;
}
