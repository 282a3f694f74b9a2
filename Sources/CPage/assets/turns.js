// @ts-check
/** Whose thumbnail is fetched. No DOM. */

/** Times that a picture is asked for while the server is busy or cannot be reached. */
const mostTries = 5;
/** Seconds before it is asked again if the server names none. */
const defaultWait = 3;

/**
 * @typedef {object} Work
 * @property {(url: string) => void} begin - fetches a picture; then `shown` or `failed` is called
 * @property {(url: string) => void} drop - stops that
 * @property {(url: string) => Promise<{status: number, wait: number}>} ask - why a picture failed: status 0 if there was
 * no answer, and the seconds after which the server wants to be asked again
 * @property {(act: () => void, milliseconds: number) => void} later
 */

/**
 * Gives a few of many pictures their turn. Call `want` with all that are needed, the most important one first, whenever
 * that changes: what is not among them any more is dropped. What the server does not have is asked for once.
 *
 * ```
 * wanted ─► running ─► shown
 *    ▲         ├─────► missing: for the life of the page
 *    └─────────┴─────► waiting: the server is busy
 * ```
 */
export class Turns {
    /** @type {string[]} */
    #wanted = [];
    /** @type {Set<string>} */
    #running = new Set();
    /** @type {Set<string>} */
    #missing = new Set();
    /** @type {Set<string>} */
    #waiting = new Set();
    /** @type {Map<string, number>} */
    #tries = new Map();

    /**
     * @param {number} atOnce
     * @param {Work} work
     */
    constructor(atOnce, work) {
        this.atOnce = atOnce;
        this.work = work;
    }

    /** @param {string[]} urls */
    want(urls) {
        const set = new Set(urls);
        for (const url of this.#running) {
            if (set.has(url)) continue;
            this.#running.delete(url);
            this.work.drop(url);
        }
        this.#wanted = [...set];
        this.#fill();
    }

    #fill() {
        for (const url of this.#wanted) {
            if (this.#running.size >= this.atOnce) return;
            if (this.#running.has(url) || this.#missing.has(url) || this.#waiting.has(url)) continue;
            this.#running.add(url);
            this.work.begin(url);
        }
    }

    /** @param {string} url */
    isMissing(url) {
        return this.#missing.has(url);
    }

    /** @param {string} url */
    shown(url) {
        this.#tries.delete(url);
        this.#end(url);
    }

    /** The browser could not show a picture, and does not say why.
     * @param {string} url
     */
    async failed(url) {
        if (!this.#running.has(url)) return;
        const { status, wait } = await this.work.ask(url);
        // It may have been dropped, and wanted again, in between.
        if (!this.#running.has(url)) return;
        const tries = (this.#tries.get(url) ?? 0) + 1;
        // It may be there by now.
        const isPassing = status === 503 || status === 0 || status < 400;
        if (isPassing && tries < mostTries) {
            this.#tries.set(url, tries);
            this.#waiting.add(url);
            this.work.later(() => {
                this.#waiting.delete(url);
                this.#fill();
            }, (wait || defaultWait * tries) * 1000);
        } else this.#missing.add(url);
        this.#end(url);
    }

    /** @param {string} url */
    #end(url) {
        this.#wanted = this.#wanted.filter((one) => one !== url || this.#waiting.has(one));
        if (this.#running.delete(url)) this.#fill();
    }
}
