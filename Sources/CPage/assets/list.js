// @ts-check
/**
 * The entries of a folder or a search: sorted, filtered and selected. Nothing here touches the page.
 *
 * Batches of a stream are sorted by themselves and merged, so that no task grows with the size of the folder.
 */

import { language } from "./words.js";

/** @typedef {import('./types.d.ts').Entry} Entry */
/** @typedef {import('./types.d.ts').Sorting} Sorting */
/** @typedef {(a: Entry, b: Entry) => number} Comparison */

const collator = new Intl.Collator(language, { numeric: true });

/** @param {string} a @param {string} b */
const byCode = (a, b) => (a < b ? -1 : a > b ? 1 : 0);

/** Values that are compared first; equal ones are sorted by name. @type {Record<string, Comparison>} */
const keys = {
    name: () => 0,
    size: (a, b) => (a.size ?? -1) - (b.size ?? -1),
    at: (a, b) => (a.at || 0) - (b.at || 0),
    taken: (a, b) => a.taken - b.taken,
    kind: (a, b) => byCode(kindOf(a), kindOf(b)),
};

/** Names of contents that the server calls `file`. */
const names = {
    picture: /\.(jpe?g|png|webp|gif|hei[cf]|avif|svg)$/,
    video: /\.(mp4|mov|m4v|mkv|webm|avi)$/,
    audio: /\.(mp3|m4a|ogg|opus|wav|flac)$/,
};

/** Names of files in which the server looks for what they say about themselves. */
const described = /\.(jpe?g|jpe|jfif|png|webp|gif|hei[cf]|avif|mp4|mov|m4v)$/;

/** Whether a list must tell what pictures say: that costs the server work, and only an order by the date taken needs it.
 * @param {Sorting} sorting
 * @param {{find: string, file: string}} view
 * @param {boolean} cards
 */
export function needsPictures({ key }, { find, file }, cards) {
    return key === "taken" && !find && (cards || file !== "");
}

/** The kind that the icon shows. The server calls most contents `file`, so the name has to tell.
 * @param {Entry} entry
 */
export function kindOf(entry) {
    if (entry.type === "directory") return "folder";
    if (entry.kind && entry.kind !== "file") return entry.kind;
    return Object.entries(names).find(([, ending]) => ending.test(entry.lower))?.[0] ?? "file";
}

/** Folders come first in both directions.
 * @param {Sorting} sorting
 * @returns {Comparison}
 */
export function comparison({ key, down }) {
    const first = keys[key] ?? keys.name;
    const sign = down ? -1 : 1;
    return (a, b) => {
        if (a.type !== b.type) return a.type === "directory" ? -1 : 1;
        return sign * (first(a, b) || collator.compare(a.name, b.name) || byCode(a.path, b.path));
    };
}

/** The first index from `low` whose entry comes after the given one.
 * @param {Entry[]} sorted
 * @param {Entry} entry
 * @param {Comparison} compare
 */
function place(sorted, entry, compare, low = 0) {
    let high = sorted.length;
    while (low < high) {
        const middle = (low + high) >> 1;
        if (compare(sorted[middle], entry) <= 0) low = middle + 1;
        else high = middle;
    }
    return low;
}

/**
 * Merges two sorted arrays. The second is usually short, so its places are found by halving.
 * @param {Entry[]} long
 * @param {Entry[]} batch
 * @param {Comparison} compare
 */
export function merge(long, batch, compare) {
    /** @type {Entry[]} */
    const merged = [];
    let taken = 0;
    for (const entry of batch) {
        const index = place(long, entry, compare, taken);
        while (taken < index) merged.push(long[taken++]);
        merged.push(entry);
    }
    while (taken < long.length) merged.push(long[taken++]);
    return merged;
}

export class List {
    /** Entries in the order in which they are shown, without those that the filter hides. @type {Entry[]} */
    rows = [];
    /** Files that have no row of their own, by the path of the file in whose row they are. @type {Map<string, Entry>} */
    joined = new Map();
    /** Paths of the selected entries. @type {Set<string>} */
    selection = new Set();
    filter = "";
    /** Counts of all entries, also of hidden ones. */
    counts = { folders: 0, files: 0, size: 0 };
    /** @type {Entry[]} */
    #sorted = [];
    /** @type {Map<string, Entry>} */
    #byPath = new Map();
    /** @type {Comparison} */
    #compare;
    /** @type {((rows: Entry[]) => Map<string, Entry>) | undefined} */
    #pairs;
    #anchor = "";

    /** @param {Sorting} sorting */
    constructor(sorting) {
        this.sorting = sorting;
        this.#compare = comparison(sorting);
    }

    get size() {
        return this.#sorted.length;
    }

    /** Whether the server has not told yet what some picture says. */
    get isUndescribed() {
        return this.#sorted.some(({ type, lower, picture }) =>
            picture == null && type === "file" && described.test(lower)
        );
    }

    /** @param {string} path */
    has(path) {
        return this.#byPath.has(path);
    }

    /** Shows some files in the row of another one, or each in its own.
     * @param {((rows: Entry[]) => Map<string, Entry>) | undefined} pairs - the files without a row
     */
    join(pairs) {
        this.#pairs = pairs;
        this.#show();
    }

    /** All files in the row of an entry.
     * @param {Entry} entry
     */
    files(entry) {
        const other = this.joined.get(entry.path);
        return other ? [entry, other] : [entry];
    }

    /** @param {Entry[]} rows */
    #paths(rows) {
        return rows.flatMap((entry) => this.files(entry)).map(({ path }) => path);
    }

    /** Number of entries in all rows. */
    get shown() {
        return this.rows.length + this.joined.size;
    }

    /** The index of the row of a path, or -1.
     * @param {string} path
     */
    rowOf(path) {
        return this.rows.findIndex((entry) => entry.path === path || this.joined.get(entry.path)?.path === path);
    }

    /** The entry in whose row exactly these entries are.
     * @param {Entry[]} entries
     * @returns {Entry | undefined}
     */
    only(entries) {
        if (entries.length === 1) return entries[0];
        return entries.find((entry) => {
            const files = this.files(entry);
            return files.length === entries.length && files.every((file) => entries.includes(file));
        });
    }

    /** @returns {Entry[]} */
    selected() {
        return this.#sorted.filter((entry) => this.selection.has(entry.path));
    }

    clear() {
        this.#byPath.clear();
        this.selection.clear();
        this.#set([]);
    }

    /** Adds entries; one whose path is there takes the place of the old one.
     * @param {Entry[]} batch
     */
    add(batch) {
        const fresh = new Map(batch.map((entry) => [entry.path, entry]));
        const replaced = batch.some((entry) => this.#byPath.has(entry.path));
        const kept = replaced ? this.#sorted.filter((entry) => !fresh.has(entry.path)) : this.#sorted;
        for (const [path, entry] of fresh) this.#byPath.set(path, entry);
        this.#set(merge(kept, [...fresh.values()].sort(this.#compare), this.#compare));
    }

    /** @param {Iterable<string>} paths */
    remove(paths) {
        for (const path of paths) {
            this.#byPath.delete(path);
            this.selection.delete(path);
        }
        this.#set(this.#sorted.filter((entry) => this.#byPath.has(entry.path)));
    }

    /** Takes what another list has in place of the old entries, and some more; what is still there stays selected.
     * @param {List} other
     * @param {Entry[]} [more]
     */
    replace(other, more = []) {
        this.#byPath = other.#byPath;
        this.#sorted = other.#sorted;
        this.add(more);
        if (this.sorting !== other.sorting) this.sort(this.sorting);
        for (const path of this.selection) if (!this.has(path)) this.selection.delete(path);
    }

    /** @param {Sorting} sorting */
    sort(sorting) {
        this.sorting = sorting;
        this.#compare = comparison(sorting);
        this.#set(this.#sorted.sort(this.#compare));
    }

    /** Shows only entries whose names contain the text.
     * @param {string} text
     */
    find(text) {
        this.filter = text.toLowerCase();
        this.#show();
    }

    /** Selects or deselects one entry, or with `range` all from the one before.
     * @param {number} index
     * @param {{range?: boolean, on?: boolean}} [how]
     */
    select(index, { range = false, on } = {}) {
        const entry = this.rows[index];
        if (!entry) return;
        const from = range ? this.rowOf(this.#anchor) : -1;
        if (from >= 0) {
            const rows = this.rows.slice(Math.min(from, index), Math.max(from, index) + 1);
            for (const path of this.#paths(rows)) this.selection.add(path);
            return;
        }
        this.#anchor = entry.path;
        const paths = this.#paths([entry]);
        const adds = on ?? !paths.every((path) => this.selection.has(path));
        for (const path of paths) adds ? this.selection.add(path) : this.selection.delete(path);
    }

    /** Selects all that is shown, or nothing.
     * @param {boolean} on
     */
    selectAll(on) {
        this.selection = new Set(on ? this.#paths(this.rows) : []);
    }

    /** @param {Entry[]} sorted */
    #set(sorted) {
        this.#sorted = sorted;
        let folders = 0;
        let size = 0;
        for (const entry of sorted) {
            if (entry.type === "directory") folders++;
            else size += entry.size ?? 0;
        }
        this.counts = { folders, files: sorted.length - folders, size };
        this.#show();
    }

    #show() {
        const { filter } = this;
        this.rows = filter ? this.#sorted.filter((entry) => entry.lower.includes(filter)) : this.#sorted;
        this.joined = this.#pairs?.(this.rows) ?? new Map();
        if (this.joined.size) {
            const without = new Set(this.joined.values());
            this.rows = this.rows.filter((entry) => !without.has(entry));
        }
        if (!filter || !this.selection.size) return;
        // What is done with the selection must not reach entries that are hidden.
        this.selection = new Set(this.#paths(this.rows).filter((path) => this.selection.has(path)));
    }
}
