// @ts-check
/**
 * Places of the tiles of a grid: columns of equal width, in sections that may have a heading for their day. Nothing here
 * touches the page.
 */

import { language } from "./words.js";

/** @typedef {import('./types.d.ts').Entry} Entry */
/**
 * Entries from `from` to before `to`, without a heading if `day` is null. Days count from 1970 on the clock of the place
 * where a picture was taken; -Infinity stands for entries without a time.
 * @typedef {{from: number, to: number, top: number, day: number | null}} Section
 */

const milliseconds = 86_400_000;
/** Height of a heading, in pixels. */
export const headingHeight = 48;
/** Height of the name and size below a picture. */
const captionHeight = 46;

const names = new Intl.DateTimeFormat(language, { dateStyle: "long", timeZone: "UTC" });

/** A day in words, or '' for one that is no date.
 * @param {number} day
 */
export function dayName(day) {
    return Math.abs(day) < 1e8 ? names.format(day * milliseconds) : "";
}

/** Sections of sorted entries: one, or the folders and one for each day.
 * @param {Entry[]} rows
 * @param {boolean} byDay
 */
export function sectionsOf(rows, byDay) {
    /** @type {Section[]} */
    const sections = [];
    /** @type {Section | undefined} */
    let last;
    rows.forEach((entry, index) => {
        const day = !byDay || entry.type === "directory" ? null : Math.floor(entry.taken / milliseconds);
        if (last?.day === day) last.to++;
        else sections.push(last = { from: index, to: index + 1, top: 0, day });
    });
    return sections;
}

export class Tiles {
    /**
     * @param {Entry[]} rows
     * @param {number} width - in pixels
     * @param {boolean} byDay
     */
    constructor(rows, width, byDay) {
        this.columns = Math.max(2, Math.floor(width / (width < 600 ? 120 : 184)));
        /** Height of a tile. */
        this.tall = Math.round(width / this.columns) + captionHeight;
        this.sections = sectionsOf(rows, byDay);
        this.count = rows.length;
        let top = 0;
        for (const section of this.sections) {
            section.top = top;
            top += this.#heading(section) + this.#lines(section) * this.tall;
        }
        /** Height of all sections. */
        this.height = top;
    }

    /** @param {Section} section */
    #heading({ day }) {
        return day === null ? 0 : headingHeight;
    }

    /** @param {Section} section */
    #lines({ from, to }) {
        return Math.ceil((to - from) / this.columns);
    }

    /** The number of the last section that begins at or before a value, or 0.
     * @param {'from' | 'top'} key
     * @param {number} value
     */
    #find(key, value) {
        let [low, high] = [0, this.sections.length];
        while (high - low > 1) {
            const middle = (low + high) >> 1;
            if (this.sections[middle][key] <= value) low = middle;
            else high = middle;
        }
        return low;
    }

    /** Where a tile is: its column, and the distance to the top of the grid in pixels.
     * @param {number} index
     */
    place(index) {
        const section = this.sections[this.#find("from", index)] ?? { from: 0, top: 0, day: null };
        const line = Math.floor((index - section.from) / this.columns);
        const column = (index - section.from) % this.columns;
        return { column, top: section.top + this.#heading(section) + line * this.tall };
    }

    /** The first tile and the one behind the last of all whose line is at least in part between two heights.
     * @param {number} above
     * @param {number} below
     * @returns {[number, number]}
     */
    range(above, below) {
        if (!this.count) return [0, 0];
        const line = (/** @type {Section} */ section, /** @type {number} */ y) =>
            (y - section.top - this.#heading(section)) / this.tall;
        const first = this.sections[this.#find("top", above)];
        const last = this.sections[this.#find("top", below)];
        const from = first.from + Math.max(0, Math.floor(line(first, above))) * this.columns;
        const to = last.from + Math.max(0, Math.ceil(line(last, below))) * this.columns;
        return [Math.min(from, first.to), Math.max(Math.min(from, first.to), Math.min(to, last.to))];
    }

    /** The day whose heading is scrolled away at a height while its tiles are not, and how far the next heading pushes it.
     * @param {number} height
     * @returns {{day: number, shift: number} | null}
     */
    pinned(height) {
        const number = this.#find("top", height);
        const { top, day } = this.sections[number] ?? { top: 0, day: null };
        if (day === null || height <= top || height >= this.height) return null;
        const end = this.sections[number + 1]?.top ?? this.height;
        return { day, shift: Math.min(0, end - headingHeight - height) };
    }

    /** The tile that a key leads to, or undefined for another key.
     * @param {number} index
     * @param {string} key
     * @param {number} page - height of the screen in pixels
     */
    step(index, key, page) {
        const lines = Math.max(1, Math.floor(page / this.tall));
        switch (key) {
            case "ArrowRight":
                return Math.min(index + 1, this.count - 1);
            case "ArrowLeft":
                return Math.max(index - 1, 0);
            case "ArrowDown":
                return this.#vertical(index, 1);
            case "ArrowUp":
                return this.#vertical(index, -1);
            case "PageDown":
                for (let line = 0; line < lines; line++) index = this.#vertical(index, 1);
                return index;
            case "PageUp":
                for (let line = 0; line < lines; line++) index = this.#vertical(index, -1);
                return index;
            case "Home":
                return 0;
            case "End":
                return this.count - 1;
        }
    }

    /** The tile in the line below or above, in the same column or the last one that is there.
     * @param {number} index
     * @param {1 | -1} direction
     */
    #vertical(index, direction) {
        let number = this.#find("from", index);
        let section = this.sections[number];
        const column = (index - section.from) % this.columns;
        let line = Math.floor((index - section.from) / this.columns) + direction;
        if (line < 0 || line >= this.#lines(section)) {
            number += direction;
            if (number < 0) return 0;
            if (number >= this.sections.length) return this.count - 1;
            section = this.sections[number];
            line = direction > 0 ? 0 : this.#lines(section) - 1;
        }
        return Math.min(section.from + line * this.columns + column, section.to - 1);
    }
}
