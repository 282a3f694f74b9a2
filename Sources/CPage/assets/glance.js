// @ts-check
/**
 * Looks at pictures that this page has stored: the server decodes them, and so tells whether one is cut off before its
 * original is removed. An upload is checked without that. No DOM.
 */

import { detailsOf, pictureOf, small, thumbnail } from "./pictures.js";
import { entryOf, Failure, request } from "./server.js";

/** @typedef {import("./row.js").Row} Row */

/**
 * @typedef {object} Tools
 * @property {boolean} mayRead
 * @property {() => boolean} isFree - nothing is being sent or prepared
 * @property {() => Iterable<Row>} visible - rows on the screen
 * @property {() => Iterable<Row>} rows - all of them
 * @property {() => void} changed - a row has a picture
 * @property {(act: () => void, milliseconds: number) => void} later
 */

/** Most pictures that a visit of the page asks for. */
const most = 500;
/** Times that a picture is asked for while the server is busy or cannot be reached. */
const mostTries = 3;
/** Seconds before it is asked again if the server names none. */
const defaultWait = 10;
/** Refusals in a row, before any thumbnail, after which the server is taken for one that makes none. */
const mostRefusals = 8;
/** Milliseconds from a change of the queue to a look at it: there may be thousands a second. */
const pace = 120;

/** Call `changed` whenever the queue has changed. One picture is asked for at a time, and dropped when an upload begins. */
export class Glance {
    /** Rows that are not asked for again. @type {WeakSet<Row>} */
    #done = new WeakSet();
    /** @type {WeakMap<Row, number>} */
    #tries = new WeakMap();
    #asked = 0;
    #refusals = 0;
    #isOver = false;
    #isPlanned = false;
    #isRunning = false;
    /** Whether the server wants time. */
    #isHeld = false;
    #stop = new AbortController();

    /** @param {Tools} tools */
    constructor(tools) {
        this.tools = tools;
        this.#isOver = !tools.mayRead;
    }

    changed() {
        if (this.#isPlanned || (this.#isOver && !this.#isRunning)) return;
        this.#isPlanned = true;
        this.tools.later(() => {
            this.#isPlanned = false;
            if (!this.tools.isFree()) this.#stop.abort();
            else if (!this.#isRunning && !this.#isHeld) this.#run();
        }, pace);
    }

    async #run() {
        this.#isRunning = true;
        for (let row = this.#next(); row; row = this.#next()) await this.#ask(row);
        this.#isRunning = false;
    }

    /** @returns {Row | undefined} */
    #next() {
        if (this.#isOver || this.#isHeld || !this.tools.isFree()) return;
        for (const rows of [this.tools.visible(), this.tools.rows()]) {
            for (const row of rows) {
                if (row.state !== "checked" || this.#done.has(row)) continue;
                if (thumbnail(storedIn(row), small)) return row;
                this.#done.add(row);
            }
        }
    }

    /** @param {Row} row */
    async #ask(row) {
        const { signal } = this.#stop = new AbortController();
        if (++this.#asked >= most) this.#isOver = true;
        try {
            const image = await this.#thumbnail(row, signal);
            const details = await detailsOf(row.stored, signal);
            this.#done.add(row);
            const picture = pictureOf(details);
            // Another client may have stored other content under this name.
            if (details.digest !== row.theirs || (!image && picture?.decoded !== false)) return;
            [row.picture, row.image] = [picture, image];
            this.tools.changed();
        } catch (error) {
            if (!signal.aborted) this.#fail(row, error);
        }
    }

    /** The thumbnail of a stored picture, or null if the server has none: nothing of it may be decodable.
     * @param {Row} row
     * @param {AbortSignal} signal
     */
    async #thumbnail(row, signal) {
        try {
            const image = await (await request(thumbnail(storedIn(row), small), { signal })).blob();
            this.#refusals = -Infinity;
            return image;
        } catch (error) {
            if (!(error instanceof Failure) || error.status !== 404) throw error;
            if (++this.#refusals >= mostRefusals) this.#isOver = true;
            return null;
        }
    }

    /** @param {Row} row @param {unknown} error */
    #fail(row, error) {
        const { status, wait } = error instanceof Failure ? error : { status: 0, wait: 0 };
        if (status === 401) this.#isOver = true;
        const tries = (this.#tries.get(row) ?? 0) + 1;
        this.#tries.set(row, tries);
        const isPassing = status === 503 || status === 0;
        if (!isPassing || tries >= mostTries) this.#done.add(row);
        if (!isPassing && ++this.#refusals >= mostRefusals) this.#isOver = true;
        if (!isPassing) return;
        this.#isHeld = true;
        this.tools.later(() => {
            this.#isHeld = false;
            this.changed();
        }, (wait || defaultWait) * 1000);
    }
}

/** The stored file as an entry of a list. @param {Row} row */
const storedIn = ({ stored, size, theirs }) => entryOf({ path: stored, type: "file", size, digest: theirs });
