// @ts-check
/** What is known of a file: its size, times, picture, sender and receipt. */

import { h, shown } from "./dom.js";
import { count, size, time } from "./format.js";
import { detailsOf, pictureOf } from "./pictures.js";
import { explain, Failure } from "./server.js";
import { language } from "./words.js";
import { word } from "./words-look.js";

/** @typedef {import('./types.d.ts').Entry} Entry */

const local = new Intl.DateTimeFormat(language, { dateStyle: "medium", timeStyle: "short", timeZone: "UTC" });

/** When a picture was taken, on the clock of the camera, with its zone; '' if that is no time.
 * @param {{taken: string, offset: number | null}} picture
 */
export function takenAt({ taken, offset }) {
    const instant = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d/.test(taken) ? Date.parse(`${taken.slice(0, 19)}Z`) : NaN;
    if (Number.isNaN(instant)) return "";
    const minutes = Math.abs(offset ?? 0);
    const clock = `${Math.floor(minutes / 60)}${minutes % 60 ? `:${String(minutes % 60).padStart(2, "0")}` : ""}`;
    const zone = offset === null ? word("zoneUnknown") : `UTC${offset < 0 ? "\u2212" : "+"}${clock}`;
    return word("zoned", { time: local.format(instant), zone });
}

/** Names and values of what there is to say. The answer of the server is not trusted more than the file.
 * @param {Record<string, unknown>} details - `transfer.details/1`, or an entry of the list
 * @returns {[string, string][]}
 */
export function factsOf(details) {
    const text = (/** @type {unknown} */ value) => typeof value === "string" ? shown(value) : "";
    const when = (/** @type {unknown} */ value) => typeof value === "string" ? time(new Date(value)) : "";
    const bytes = typeof details.size === "number" ? details.size : null;
    const picture = pictureOf(details);
    const pixels = picture && picture.width > 0 && picture.height > 0
        ? `${count(picture.width)} × ${count(picture.height)}`
        : "";
    /** @type {[string, string][]} */
    const facts = [
        ["path", details.path ? `/${text(details.path)}` : ""],
        ["size", bytes === null ? "" : word("sizeAndBytes", { size: size(bytes), n: bytes })],
        ["modified", when(details.modified)],
        ["sender", text(details.sender)],
        ["stored", when(details.stored)],
        ["pixels", pixels],
        ["decoded", picture?.decoded === false ? word("undecoded") : ""],
        ["taken", picture ? takenAt(picture) : ""],
        ["camera", picture ? text(picture.camera) : ""],
        ["location", picture?.location ? word("located") : ""],
        ["digest", text(details.digest)],
    ];
    return facts.filter(([, value]) => value);
}

/** The address of a receipt, or '' if the answer names none of this server.
 * @param {unknown} receipt
 */
export function receiptOf(receipt) {
    return typeof receipt === "string" && /^\/\.transfer\/receipt\/[\w-]+$/.test(receipt) ? receipt : "";
}

export class Details {
    #facts = h("dl");
    #links = h("p");
    #problem = h("p", { class: "dim", role: "status" });
    element = h("aside", { class: "details", "aria-label": word("details"), tabindex: 0, hidden: true });
    /** @type {Entry | null} */
    #entry = null;
    #visit = new AbortController();

    constructor() {
        this.element.append(h("h2", {}, word("details")), this.#facts, this.#links, this.#problem);
    }

    /** Takes a file; its details are asked for when they are visible.
     * @param {Entry} entry
     */
    offer(entry) {
        if (this.element.hidden) return this.clear();
        if (this.#entry === entry) return;
        this.clear();
        this.#entry = entry;
        this.#fill({ ...entry });
        this.#load(entry, this.#visit.signal);
    }

    clear() {
        this.#visit.abort();
        this.#visit = new AbortController();
        this.#entry = null;
        this.#facts.replaceChildren();
        this.#links.replaceChildren();
        this.#problem.textContent = "";
    }

    /** @param {Entry} entry @param {AbortSignal} signal */
    async #load(entry, signal) {
        try {
            const details = await detailsOf(entry.path, signal);
            if (!signal.aborted) this.take(entry, details);
        } catch (error) {
            // What the list knows stays.
            const isGone = error instanceof Failure && error.status === 404;
            if (!signal.aborted && !isGone) this.#problem.textContent = explain(error);
        }
    }

    /** Shows details of a file, if it is still the one that is shown.
     * @param {Entry} entry
     * @param {Record<string, unknown>} details
     */
    take(entry, details) {
        if (this.#entry?.path === entry.path) this.#fill({ ...entry, ...details });
    }

    /** @param {Record<string, unknown>} details */
    #fill(details) {
        this.#facts.replaceChildren(
            ...factsOf(details).flatMap(([key, value]) => [
                h("dt", {}, word(`fact.${key}`)),
                h("dd", { class: key === "digest" && key }, h("bdi", {}, value)),
            ]),
        );
        const receipt = receiptOf(details.receipt);
        this.#links.replaceChildren(
            receipt ? h("a", { class: "button", href: receipt, download: true }, word("loadReceipt")) : "",
        );
    }
}
