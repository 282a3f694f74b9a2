// @ts-check
/** The words of the grid. */

import { define, say } from "./words.js";

/** English, simplified Chinese, German. Chinese has no form for one. @type {Record<string, string[]>} */
const table = {
    undated: ["Without a date", "无日期", "Ohne Datum"],
};

/** @param {number} at */
const words = (at) =>
    Object.fromEntries(
        Object.entries(table).filter(([, texts]) => texts[at]).map(([key, texts]) => [`look.${key}`, texts[at]]),
    );
define({ en: words(0), zh: words(1), de: words(2) });

/** The text of a key of the grid. @param {string} key @param {Record<string, string | number>} [values] */
export const word = (key, values) => say(`look.${key}`, values);
