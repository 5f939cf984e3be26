/** Texts of the page, in the language of the page. */

import { EN } from "./words/en.js";

export const words = EN;
