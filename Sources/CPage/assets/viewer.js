// @ts-check
/**
 * The viewer: one file of the list at a time, in a dialog over the page. Its address names the file, so going back closes
 * it. Call `show` with each path that the address names, with '' to close, and `update` when the list has changed.
 */

import { Details } from "./details.js";
import { h, icon, setIcon, shown, strokes, style } from "./dom.js";
import { size } from "./format.js";
import { kindOf } from "./list.js";
import { Motion } from "./motion.js";
import { detailsOf, isDamaged, isUntried, large, showing, thumbnail } from "./pictures.js";
import { address, explain, request } from "./server.js";
import { Stage } from "./stage.js";
import { word } from "./words-look.js";
import { neighbour, position } from "./zoom.js";

/** @typedef {import('./types.d.ts').Entry} Entry */

/**
 * @typedef {object} Page
 * @property {(entry: Entry) => void} go - another file is looked at: the address has to name it
 * @property {() => void} leave - the user has closed the viewer: the address has to name no file
 * @property {(index: number) => void} left - the viewer is closed, and the row that it showed last gets the focus
 */

await style("look.css");

/** Most bytes of a text that are shown. */
const mostText = 256 << 10;
/** Factor of a key or button. */
const zoomStep = 1.5;

Object.assign(strokes, {
    previous: "M15 5l-7 7 7 7",
    next: "M9 5l7 7-7 7",
    zoomIn: "M10.5 17a6.5 6.5 0 1 0 0-13 6.5 6.5 0 0 0 0 13zM15.5 15.5L21 21M10.5 8v5M8 10.5h5",
    zoomOut: "M10.5 17a6.5 6.5 0 1 0 0-13 6.5 6.5 0 0 0 0 13zM15.5 15.5L21 21M8 10.5h5",
});

/** A button with an icon only.
 * @param {string} name - of the icon and the words
 * @param {() => void} act
 * @param {string} [look]
 */
function button(name, act, look = "plain") {
    const words = word(name);
    return h("button", { type: "button", class: look, "aria-label": words, title: words, onclick: act }, icon(name));
}

export class Viewer {
    #path = "";
    /** Index of the row of the file when it was last there. */
    #index = 0;
    /** Path of the row: that of a picture, if the file is its movie. */
    #row = "";
    /** @type {Entry | undefined} */
    #entry;
    /** Ends the requests for the file that is left. */
    #visit = new AbortController();
    /** Neighbours that are loaded ahead. @type {HTMLImageElement[]} */
    #ahead = [];
    #details = new Details();
    #stage = new Stage({
        turn: (direction) => this.#turn(direction),
        shown: () => {
            this.#body.removeAttribute("aria-busy");
            this.#loadAhead();
            this.#judge();
        },
        failed: (key) => this.#refuse(key),
    });
    #name = h("bdi");
    #place = h("span", { class: "dim" });
    #spoken = h("p", { class: "quiet", role: "status" });
    #damage = h("p", { class: "damage", role: "status" });
    /** Whether the server was asked about the picture since it has scaled it. */
    #isAsked = false;
    #alert = h("p", { class: "gone", role: "alert" });
    #body = h("div", { class: "stage", tabindex: -1, autofocus: true });
    #motion = new Motion(this.#body);
    #zooms = [
        button("zoomOut", () => this.#stage.zoom(1 / zoomStep), "plain zoom"),
        button("zoomIn", () => this.#stage.zoom(zoomStep), "plain zoom"),
    ];
    #info = h(
        "button",
        {
            type: "button",
            class: "plain",
            "aria-expanded": "false",
            title: `${word("details")} (I)`,
            onclick: () => this.#toggle(),
        },
        icon("info"),
        h("span", { class: "quiet" }, word("details")),
    );
    #previous = button("previous", () => this.#turn(-1), "turn previous");
    #next = button("next", () => this.#turn(1), "turn next");
    #dialog = h(
        "dialog",
        { class: "viewer", "aria-labelledby": "viewed" },
        h(
            "div",
            { class: "head" },
            h("h2", { id: "viewed" }, this.#name),
            this.#place,
            this.#motion.button,
            ...this.#zooms,
            this.#info,
            ...this.#motion.links,
            button("close", () => this.#dialog.close()),
        ),
        h(
            "div",
            { class: "both" },
            h("div", { class: "show" }, this.#body, this.#previous, this.#next),
            this.#details.element,
        ),
        this.#damage,
        this.#motion.problem,
        this.#alert,
        this.#spoken,
    );

    /**
     * @param {import('./list.js').List} list
     * @param {Page} page
     */
    constructor(list, page) {
        this.list = list;
        this.page = page;
        this.#dialog.addEventListener("keydown", (event) => this.#key(event));
        this.#dialog.addEventListener("close", () => this.#closed());
        document.body.append(this.#dialog);
    }

    /** Shows a file, with its details if that is said; '' closes the viewer.
     * @param {string} path
     * @param {boolean} [details]
     */
    show(path, details = false) {
        if (details) this.#toggle(true);
        if (path === this.#path) return;
        this.#path = this.#row = path;
        if (!path) return this.#dialog.close();
        if (!this.#dialog.open) this.#dialog.showModal();
        const name = path.slice(path.lastIndexOf("/") + 1);
        this.#entry = undefined;
        this.#name.textContent = shown(name);
        this.#motion.offer([{ path, name }]);
        this.#begin();
        this.update();
    }

    /** Brings the viewer up to date with the list: the file may have come, changed or gone. */
    update() {
        if (!this.#path) return;
        const { rows } = this.list;
        const index = this.list.rowOf(this.#path);
        const files = index < 0 ? [] : this.list.files(rows[index]);
        const entry = files.find(({ path, type }) => path === this.#path && type === "file");
        const before = this.#entry;
        if (entry) [this.#index, this.#entry, this.#row] = [index, entry, files[0].path];
        const isThere = Boolean(entry) || this.list.has(this.#path);
        this.#alert.textContent = isThere ? "" : word("gone");
        const { n, all } = position(rows, this.#row);
        this.#place.textContent = n ? word("place", { n, all }) : "";
        for (const [turn, direction] of /** @type {const} */ ([[this.#previous, -1], [this.#next, 1]])) {
            turn.hidden = !neighbour(rows, this.#row, this.#index, direction);
        }
        if (entry && !before) this.#spoken.textContent = `${shown(entry.name)}, ${this.#place.textContent}`;
        // A list that is read again has new entries for the same content.
        if (entry && (!before || tag(before) !== tag(entry))) this.#fill(entry);
        if (entry && isDamaged(entry)) this.#damage.textContent = word("damaged");
        // The movie alone has been asked for by its address.
        if (entry) this.#motion.offer(entry === files[0] ? [entry, files[1]] : [entry]);
    }

    #begin() {
        this.#visit.abort();
        this.#visit = new AbortController();
        this.#stage.clear();
        this.#motion.stop();
        for (const image of this.#ahead) image.removeAttribute("src");
        this.#ahead = [];
        this.#body.replaceChildren();
        this.#body.removeAttribute("aria-busy");
        for (const zoom of this.#zooms) zoom.hidden = true;
        this.#damage.textContent = "";
        this.#isAsked = false;
    }

    /** Asks whether all of a picture could be decoded, if the list does not say it: the server knows it now. */
    async #judge() {
        const entry = this.#entry;
        if (!entry || this.#isAsked || !isUntried(entry)) return;
        this.#isAsked = true;
        const { signal } = this.#visit;
        try {
            const details = await detailsOf(entry.path, signal);
            if (signal.aborted) return;
            if (details.digest === entry.digest && isDamaged(details)) this.#damage.textContent = word("damaged");
            this.#details.take(entry, details);
        } catch {
            // The picture is shown all the same.
        }
    }

    /** @param {Entry} entry */
    #fill(entry) {
        this.#begin();
        const what = showing(entry);
        const name = shown(entry.name);
        const url = address(entry.path);
        for (const zoom of this.#zooms) zoom.hidden = what !== "picture";
        this.#details.offer(entry);
        if (what === "picture") {
            this.#body.setAttribute("aria-busy", "true");
            this.#body.replaceChildren(this.#stage.element);
            return this.#stage.show(entry, name);
        }
        if (what === "video" || what === "audio") {
            const media = h(what, {
                controls: true,
                preload: "metadata",
                playsinline: true,
                "aria-label": name,
                src: url,
            });
            media.addEventListener("error", () => media.isConnected && this.#refuse("unshown.media"));
            this.#body.replaceChildren(media);
        } else if (what === "pdf") this.#fillPDF(url, name);
        else if (what === "text") this.#fillText(entry, url);
        else this.#refuse("unshown.other");
        this.#loadAhead();
    }

    /** @param {string} url @param {string} name */
    #fillPDF(url, name) {
        const out = h("a", { class: "button", href: url, target: "_blank", rel: "noopener" }, word("pdf"));
        // A `sandbox` attribute would keep the browser's viewer from showing it.
        const frame = navigator.pdfViewerEnabled !== false && h("iframe", { src: url, title: name });
        this.#body.replaceChildren(h("div", { class: "paper" }, out, frame || this.#note("unshown.other")));
    }

    /** @param {Entry} entry @param {string} url */
    async #fillText(entry, url) {
        const { signal } = this.#visit;
        this.#body.setAttribute("aria-busy", "true");
        this.#body.replaceChildren(h("p", {}, word("loading")));
        try {
            const all = entry.size ?? 0;
            const headers = { Range: `bytes=0-${mostText - 1}` };
            // There are no ranges of an empty file.
            const answer = all ? await (await request(url, { headers, signal })).arrayBuffer() : new ArrayBuffer(0);
            if (signal.aborted) return;
            const text = new TextDecoder().decode(answer.slice(0, mostText));
            this.#body.removeAttribute("aria-busy");
            if (text.includes("\0")) return this.#refuse("unshown.text");
            this.#body.replaceChildren(
                h(
                    "div",
                    { class: "paper" },
                    all > mostText && h("p", { class: "dim" }, word("part", { size: size(mostText), all: size(all) })),
                    h("pre", { tabindex: 0, dir: "auto", "aria-label": shown(entry.name) }, text),
                ),
            );
        } catch (error) {
            if (!signal.aborted) this.#refuse("unshown.text", explain(error));
        }
    }

    /** @param {string} key */
    #note(key) {
        return h("p", {}, word(key));
    }

    /** Says why a file is not shown, with its icon, size and the way to have it.
     * @param {string} key
     * @param {string} [reason]
     */
    #refuse(key, reason = "") {
        const entry = this.#entry;
        if (!entry) return;
        const drawing = icon("file");
        setIcon(drawing, kindOf(entry));
        const link = h(
            "a",
            { class: "button primary", href: address(entry.path), download: entry.name },
            icon("download"),
            word("download"),
        );
        this.#body.removeAttribute("aria-busy");
        for (const zoom of this.#zooms) zoom.hidden = true;
        this.#body.replaceChildren(
            h(
                "div",
                { class: "instead" },
                drawing,
                h("p", {}, h("bdi", {}, shown(entry.name)), entry.size === null ? "" : `, ${size(entry.size)}`),
                reason ? h("p", {}, reason) : this.#note(key),
                link,
            ),
            ...this.#motion.playing,
        );
        this.#spoken.textContent = `${shown(entry.name)}: ${reason || word(key)}`;
    }

    /** Loads the pictures at both sides, which are the likely next ones. */
    #loadAhead() {
        if (this.#ahead.length || !this.#path) return;
        for (const direction of /** @type {const} */ ([1, -1])) {
            const entry = neighbour(this.list.rows, this.#row, this.#index, direction);
            const source = entry && thumbnail(entry, large);
            if (!source) continue;
            const image = new Image();
            image.src = source;
            this.#ahead.push(image);
        }
    }

    /** @param {1 | -1} direction */
    #turn(direction) {
        const entry = neighbour(this.list.rows, this.#row, this.#index, direction);
        if (!entry) return;
        // The button may go, and the focus with it.
        if (document.activeElement instanceof HTMLElement && document.activeElement.matches(".turn")) {
            this.#body.focus();
        }
        this.page.go(entry);
    }

    /** @param {boolean} [on] */
    #toggle(on = Boolean(this.#details.element.hidden)) {
        this.#details.element.hidden = !on;
        this.#info.setAttribute("aria-expanded", String(on));
        if (on && this.#entry) this.#details.offer(this.#entry);
    }

    /** @param {KeyboardEvent} event */
    #key(event) {
        if (event.ctrlKey || event.metaKey || event.altKey) return;
        const isOwn = /** @type {Element} */ (event.target).closest("video, audio, pre, iframe, aside");
        /** @type {Record<string, () => void>} */
        const keys = {
            i: () => this.#toggle(),
            l: () => this.#motion.toggle(),
            "+": () => this.#stage.zoom(zoomStep),
            "=": () => this.#stage.zoom(zoomStep),
        };
        keys["-"] = () => this.#stage.zoom(1 / zoomStep);
        keys["0"] = () => this.#stage.zoom(0);
        const [x, y] = { ArrowLeft: [1, 0], ArrowRight: [-1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] }[event.key] ??
            [0, 0];
        if (event.shiftKey && (x || y)) this.#stage.pan(x, y);
        else if (x && !isOwn) this.#turn(x === 1 ? -1 : 1);
        else if (Object.hasOwn(keys, event.key)) keys[event.key]();
        else return;
        event.preventDefault();
    }

    #closed() {
        const isByUser = this.#path !== "";
        this.#path = "";
        this.#entry = undefined;
        this.#begin();
        this.#details.clear();
        this.#toggle(false);
        if (isByUser) this.page.leave();
        this.page.left(this.#index);
    }
}

/** Changes with the content of a file. @param {Entry} entry */
function tag({ digest, size, modified }) {
    return digest ?? `${size}-${modified}`;
}
