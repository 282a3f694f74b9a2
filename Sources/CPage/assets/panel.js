// @ts-check
/**
 * The panel of uploads: totals, one question for all conflicts, and a row for each file. Only visible rows have
 * elements.
 */

import { h, icon, shown, style } from "./dom.js";
import { count, duration, rate, size } from "./format.js";
import { totals } from "./row.js";
import { entryOf } from "./server.js";
import { dayName } from "./tiles.js";
import { word } from "./words-upload.js";

/**
 * @typedef {import("./row.js").Row} Row
 * @typedef {{element: HTMLElement, show: (row: Row, at: number, all: number) => void, end: () => void}} Line
 */

/** Pixels of a row, as in the style sheet. */
const HEIGHT = 52;

/** Rows above and below the visible ones that have elements. */
const MARGIN = 5;

/** Milliseconds between two drawings, and between two announcements of failures. */
const PACE = 120, ANNOUNCE = 5000;

export class Panel {
    #queue;
    #page;
    #isPlanned = false;
    #isFolded = false;
    #onlyFailed = false;
    #wasBusy = false;
    #wasCut = false;
    #failed = 0;
    #damaged = 0;
    #announced = 0;
    /** @type {Map<number, Line>} */
    #lines = new Map();
    /** Rows on the screen. @type {Row[]} */
    visible = [];

    /**
     * @param {import("./queue.js").Queue} queue
     * @param {{announce: (text: string) => void, isPhone: boolean, resume: () => void, choose: (row: Row | null) =>
     *     void}} page
     *     resume: goes on with files of an earlier page. choose: asks for the file of a row again, or for all that are
     * missing
     */
    constructor(queue, page) {
        this.#queue = queue;
        this.#page = page;
        this.fold = h("button", {
            type: "button",
            class: "fold",
            "aria-expanded": "true",
            onclick: () => this.#setFolded(!this.#isFolded),
        });
        this.bar = progressBar(word("uploads"));
        this.pauseButton = button("pauseAll", () => this.#isHeld(totals(queue.rows)) ? queue.goOn() : queue.pauseAll());
        this.retryButton = button("retryAll", () => queue.rows.filter(isFailed).forEach((row) => queue.retry(row)));
        this.failedButton = button("onlyFailed", () => {
            this.#onlyFailed = !this.#onlyFailed;
            this.changed();
        });
        this.clearButton = button("clear", () => queue.removeFinished());
        this.notices = h("div", { class: "notices" });
        this.space = h("div", { class: "space" });
        this.list = h("div", {
            class: "rows",
            role: "list",
            tabindex: "0",
            "aria-label": word("uploads"),
            onscroll: () => this.#draw(),
        }, this.space);
        const actions = h(
            "div",
            { class: "actions" },
            this.pauseButton,
            this.failedButton,
            this.retryButton,
            this.clearButton,
        );
        this.element = h(
            "section",
            { class: "uploads", "aria-label": word("uploads"), hidden: "" },
            this.fold,
            this.bar.element,
            actions,
            this.notices,
            this.list,
        );
        style("upload.css").catch(() => {});
    }

    /** Draws soon: not in a frame, because a hidden page gets none, and its end is announced all the same. */
    changed() {
        if (this.#isPlanned) return;
        this.#isPlanned = true;
        setTimeout(() => {
            this.#isPlanned = false;
            this.#draw();
        }, PACE);
    }

    /** @param {boolean} isFolded */
    #setFolded(isFolded) {
        this.#isFolded = isFolded;
        this.fold.setAttribute("aria-expanded", String(!isFolded));
        this.list.hidden = isFolded;
        this.changed();
    }

    /** Whether the user has to let it go on. @param {ReturnType<typeof totals>} all */
    #isHeld({ paused, open }) {
        return this.#queue.isPaused || this.#queue.isSignedOut || paused > 0 && open === 0;
    }

    #draw() {
        const { rows } = this.#queue;
        const all = totals(rows);
        this.element.hidden = rows.length === 0;
        this.#tell(all);
        this.#drawTotals(all);
        this.#drawNotices(all);
        this.visible = [];
        if (!this.#isFolded) this.#drawRows(this.#onlyFailed ? rows.filter(isFailed) : rows);
    }

    /** @param {ReturnType<typeof totals>} all */
    #drawTotals(all) {
        const queue = this.#queue;
        // While sizes are unknown, the sum is a lower bound, and the time left would be a guess.
        const bytes = all.bytes || all.unknown
            ? [word(all.unknown ? "atLeast" : "bytes", { sent: size(all.sent), size: size(all.bytes) })]
            : [];
        const speed = queue.isSending && !queue.isCut && queue.rate > 1 ? [rate(queue.rate)] : [];
        const left = speed.length && !all.unknown
            ? [word("left", { time: duration((all.bytes - all.sent) / queue.rate) })]
            : [];
        const failed = all.failed ? [word("failed", { n: all.failed })] : [];
        const done = word("done", { finished: all.finished, files: all.files });
        text(this.fold, [done, ...bytes, ...speed, ...left, ...failed].join(" · "));
        if (all.bytes) this.bar.show(all.sent, all.bytes);
        else this.bar.show(all.finished, all.files);
        text(this.pauseButton, word(this.#isHeld(all) ? "goOn" : "pauseAll"));
        this.pauseButton.hidden = !all.open && !all.paused;
        this.retryButton.hidden = this.failedButton.hidden = all.failed === 0;
        this.#onlyFailed &&= all.failed > 0;
        this.failedButton.setAttribute("aria-pressed", String(this.#onlyFailed));
        this.clearButton.hidden = all.finished === 0;
    }

    /** @param {ReturnType<typeof totals>} all */
    #drawNotices(all) {
        const queue = this.#queue;
        const waiting = queue.rows.filter(({ state }) => state === "choose");
        const kept = waiting.filter(({ source }) => source).length;
        const missing = waiting.length - kept;
        /** @type {[string, number, [string, () => void][]][]} */
        const notices = [
            ["wrong", all.wrong, []],
            ["damaged", all.damaged, []],
            ["signedOut", Number(queue.isSignedOut), [["goOn", () => queue.goOn()]]],
            ["cut", Number(queue.isCut), []],
            ["conflict", all.conflict, [
                ["keepBoth", () => queue.decide("keep-both")],
                ["replace", () => queue.decide("overwrite")],
                ["skip", () => queue.decide("skip")],
            ]],
            ["kept", kept, [["resume", this.#page.resume]]],
            ["missing", missing, [["chooseSame", () => this.#page.choose(null)]]],
            ["stayOpen", Number(this.#page.isPhone && queue.isSending), []],
        ];
        const key = JSON.stringify(notices.map(([key, n]) => [key, n]));
        if (this.notices.dataset.key === key) return;
        this.notices.dataset.key = key;
        this.notices.replaceChildren(
            ...notices.filter(([, n]) => n > 0).map(([key, n, buttons]) => {
                const made = buttons.map(([key, onclick]) => button(key, onclick, { n }));
                // What is replaced is lost where the server does not move it to the trash.
                const warning = key === "conflict" && !("trash" in document.documentElement.dataset)
                    ? ` ${word("noTrash")}`
                    : "";
                return h("p", { class: key }, word(key, { n }) + warning, ...made);
            }),
        );
    }

    /** @param {Row[]} rows */
    #drawRows(rows) {
        this.space.style.height = `${rows.length * HEIGHT}px`;
        const { scrollTop, clientHeight } = this.list;
        const [above, below] = [Math.floor(scrollTop / HEIGHT), Math.ceil((scrollTop + clientHeight) / HEIGHT)];
        this.visible = rows.slice(above, below);
        const [first, last] = [Math.max(0, above - MARGIN), below + MARGIN];
        const visible = rows.slice(first, last);
        const ids = new Set(visible.map(({ id }) => id));
        for (const [id, { element, end }] of this.#lines) {
            if (ids.has(id)) continue;
            element.remove();
            end();
            this.#lines.delete(id);
        }
        for (const [at, row] of visible.entries()) {
            let line = this.#lines.get(row.id);
            if (!line) {
                line = this.#line();
                this.#lines.set(row.id, line);
                this.space.append(line.element);
            }
            line.show(row, first + at, rows.length);
        }
    }

    /** @returns {Line} */
    #line() {
        const face = h("img", { class: "face", alt: "", hidden: true });
        const name = h("bdi", { class: "name" });
        const words = h("span", { class: "state" });
        const actions = h("span", { class: "actions" });
        const bar = progressBar("");
        const element = h("div", { class: "row", role: "listitem" }, face, name, bar.element, words, actions);
        let drawn = "";
        const end = () => {
            if (face.src) URL.revokeObjectURL(face.src);
            face.removeAttribute("src");
        };
        return {
            element,
            end,
            show: (row, at, all) => {
                element.style.transform = `translateY(${at * HEIGHT}px)`;
                element.setAttribute("aria-posinset", String(at + 1));
                element.setAttribute("aria-setsize", String(all));
                element.dataset.state = row.isDamaged ? "damaged" : row.state;
                if (row.image && !face.src) face.src = URL.createObjectURL(row.image);
                face.hidden = !row.image;
                const label = shown(row.path);
                text(name, label);
                name.title = shown(row.full);
                bar.element.setAttribute("aria-label", label);
                bar.show(row.isFinished ? 1 : row.sent, row.isFinished ? 1 : row.size);
                const sentence = describe(row);
                text(words, sentence);
                words.title = sentence;
                const key = `${row.state} ${row.note?.key} ${row.uploadID} ${row.source === null}`;
                if (drawn === key) return;
                drawn = key;
                // Buttons are only made anew with another state, so that they keep the focus.
                const hadFocus = actions.contains(document.activeElement);
                actions.replaceChildren(...this.#actions(row, label));
                if (hadFocus) /** @type {HTMLElement | null} */ (actions.firstElementChild ?? this.list)?.focus();
            },
        };
    }

    /** @param {Row} row @param {string} name @returns {HTMLElement[]} */
    #actions(row, name) {
        const queue = this.#queue;
        const act = (/** @type {string} */ key, /** @type {() => void} */ onclick) => {
            const made = button(key, onclick);
            made.setAttribute("aria-label", `${word(key)}: ${name}`);
            return made;
        };
        const retry = () => queue.retry(row);
        const remove = act("remove", () => queue.remove(row));
        remove.replaceChildren(icon("close"));
        const again = act("chooseAgain", () => this.#page.choose(row));
        if (row.isFinished) {
            const url = `/.transfer/receipt/${encodeURIComponent(row.uploadID)}`;
            return row.uploadID
                ? [h(
                    "a",
                    { href: url, download: "", class: "button", "aria-label": `${word("receipt")}: ${name}` },
                    word("receipt"),
                )]
                : [];
        }
        if (row.state === "choose") return row.source ? [remove] : [again, remove];
        if (row.state === "failed") return [row.note?.key === "unreadable" ? again : act("retry", retry), remove];
        if (row.state === "wrong") return [act("sendAgain", retry), remove];
        if (row.state === "likely") return [act("sendAnyway", retry), remove];
        if (row.state === "paused") return [act("goOn", retry), remove];
        return row.isSettled ? [remove] : [act("pause", () => queue.pause(row)), remove];
    }

    /**
     * Says the end, a lost connection, and from time to time that files have failed, but not each file.
     * @param {ReturnType<typeof totals>} all
     */
    #tell(all) {
        const isBusy = all.open > 0;
        if (this.#wasBusy && !isBusy && !all.paused && all.files) {
            const failed = all.failed ? ` ${word("failed", { n: all.failed })}.` : "";
            this.#page.announce(word("end", { finished: all.finished, checked: all.checked }) + failed);
        } else if (this.#queue.isCut && !this.#wasCut) {
            this.#page.announce(word("cut"));
        } else if (all.damaged > this.#damaged) {
            this.#page.announce(word("damaged", { n: all.damaged }));
        } else if (all.failed > this.#failed && Date.now() - this.#announced > ANNOUNCE) {
            this.#announced = Date.now();
            this.#page.announce(word("failed", { n: all.failed }));
        }
        this.#wasBusy = isBusy;
        this.#wasCut = this.#queue.isCut;
        this.#failed = all.failed;
        this.#damaged = all.damaged;
    }
}

/** @param {Row} row */
const isFailed = ({ state }) => state === "failed" || state === "wrong";

/** Pixels of a picture, and the date taken. @param {Row["picture"]} picture */
function seen(picture) {
    if (!picture?.width || !picture.height) return "";
    const pixels = `${count(picture.width)} × ${count(picture.height)}`;
    const date = dayName(Math.floor(entryOf({ path: "", picture }).taken / 86_400_000));
    return date ? word("taken", { pixels, date }) : pixels;
}

/** What is known of a row, as a sentence. @param {Row} row */
export function describe(row) {
    const { state, note, stored, digest, theirs } = row;
    const values = { path: shown(stored), ours: digest ?? "", theirs: theirs ?? "", ...note?.values };
    if (state === "sending") {
        const left = row.rate > 1
            ? ` · ${rate(row.rate)} · ${word("left", { time: duration((row.size - row.sent) / row.rate) })}`
            : "";
        return word("bytes", { sent: size(row.sent), size: size(row.size) }) + left;
    }
    if (!note || note.key === "notDurable") {
        const sentence = word(`state.${row.isDamaged ? "damaged" : state}`, values);
        const more = row.isDamaged ? "" : seen(row.picture);
        return `${sentence}${more && ` · ${more}`}${note ? ` ${word("note.notDurable")}` : ""}`;
    }
    return word(`note.${note.key}`, values);
}

/** @param {string} key @param {() => void} onclick @param {Record<string, string | number>} [values] */
const button = (key, onclick, values) => h("button", { type: "button", onclick }, word(key, values));

/** @param {Element} element @param {string} words */
function text(element, words) {
    if (element.textContent !== words) element.textContent = words;
}

/** @param {string} label */
function progressBar(label) {
    const inner = h("div");
    const element = h("div", {
        class: "gauge",
        role: "progressbar",
        "aria-label": label,
        "aria-valuemin": "0",
        "aria-valuemax": "100",
    }, inner);
    return {
        element,
        /** @param {number} part @param {number} whole */
        show(part, whole) {
            const percent = whole > 0 ? Math.floor(100 * Math.min(1, part / whole)) : 0;
            element.setAttribute("aria-valuenow", String(percent));
            inner.style.transform = `scaleX(${percent / 100})`;
        },
    };
}
