// @ts-check
/**
 * Tiles with thumbnails, as which the table shows its rows: their places, the headings of days, and whose picture is
 * fetched. Selection, focus and keys stay with the table.
 */

import { h, shown, style } from "./dom.js";
import { size } from "./format.js";
import { pairsOf } from "./pairs.js";
import { drawingURL, faceOf, isDamaged, pictureOf } from "./pictures.js";
import { dayName, headingHeight, Tiles } from "./tiles.js";
import { Turns } from "./turns.js";
import { say } from "./words.js";
import { word } from "./words-look.js";

/** @typedef {import('./types.d.ts').Entry} Entry */
/** @typedef {import('./table.js').Row} Row */

/**
 * @typedef {object} Tile
 * @property {HTMLElement} place - the element that has the icon, and gets the picture
 * @property {Entry | null} entry
 * @property {Entry | undefined} movie - that is shown in the same tile
 * @property {HTMLElement | null} mark - that says so
 * @property {import('./pictures.js').Face | null} face
 * @property {number} top
 * @property {boolean} isShown
 * @property {HTMLImageElement | null} image
 * @property {HTMLCanvasElement | null} frame - of a video
 * @property {(() => void) | null} stop - ends the loading of a video or a drawing
 */

await style("look.css");

/** Uploads need connections too: a browser has six. */
const picturesAtOnce = 4, videosAtOnce = 2;
/** Milliseconds for which the scrolling has to rest before pictures are fetched. */
const rest = 120;
/** Milliseconds after which a video is taken for one that cannot be shown. */
const patience = 15_000;
/** Width of the frame of a video, in pixels. */
const frameWidth = 320;

/** What a tile without a picture has. */
const unloaded = { isShown: false, image: null, frame: null, stop: null };

export class Grid {
    /** Which files have no tile of their own. */
    pairs = pairsOf;
    #layout = new Tiles([], 0, false);
    /** @type {Map<Row, Tile>} */
    #tiles = new Map();
    /** Tiles in the document. @type {Tile[]} */
    #live = [];
    /** Tiles whose picture is wanted, by its address. @type {Map<string, Tile>} */
    #wanted = new Map();
    /** Headings in the document by the index of the first tile below. @type {Map<number, HTMLElement>} */
    #headings = new Map();
    /** The heading of the day at the upper edge. Those of the layout leave the screen, and say it to screen readers. */
    #pin = h("div", { class: "pin", "aria-hidden": "true", hidden: true }, h("div", { class: "day" }));
    #above = 0;
    #screen = 0;
    #isHeld = false;
    /** @type {number | undefined} */
    #timer;

    /** @param {import('./list.js').List} list */
    constructor(list) {
        this.list = list;
        const later = (/** @type {() => void} */ act, /** @type {number} */ time) => void setTimeout(act, time);
        const begin = (/** @type {string} */ url) => this.#load(url);
        const drop = (/** @type {string} */ url) => this.#drop(url);
        this.pictures = new Turns(picturesAtOnce, { begin, drop, ask, later });
        // A video that has not come says no reason, and is not asked for again.
        const video = () => Promise.resolve({ status: 404, wait: 0 });
        this.videos = new Turns(videosAtOnce, { begin, drop, ask: video, later });
    }

    /** Another folder begins. */
    begin() {
        this.#isHeld = false;
    }

    /** Leaves the connections to the viewer, or goes on.
     * @param {boolean} on
     */
    hold(on) {
        this.#isHeld = on;
        if (!on) return this.#plan();
        this.pictures.want([]);
        this.videos.want([]);
    }

    /** The table shows rows again. */
    stop() {
        clearTimeout(this.#timer);
        this.#pin.remove();
        this.#live = [];
        this.pictures.want([]);
        this.videos.want([]);
        for (const [row, tile] of this.#tiles) {
            this.#clear(tile);
            this.#join(row, tile, undefined);
        }
    }

    /** The places of all tiles. @param {number} width */
    arrange(width) {
        return this.#layout = new Tiles(this.list.rows, width, this.#isByDay);
    }

    /** Height at the upper edge that the heading of a day may cover. */
    get covered() {
        return this.#isByDay ? headingHeight : 0;
    }

    get #isByDay() {
        return this.list.sorting.key === "taken";
    }

    /** The headings above tiles from one index to before another; others leave the document.
     * @param {number} first
     * @param {number} last
     */
    headings(first, last) {
        const { sections } = this.#layout;
        const wanted = new Map(
            sections.filter(({ from, day }) => day !== null && from >= first && from < last)
                .map((section) => [section.from, section]),
        );
        for (const [index, element] of this.#headings) {
            if (wanted.has(index)) continue;
            element.remove();
            this.#headings.delete(index);
        }
        for (const [index, { top, day }] of wanted) {
            const element = this.#headings.get(index) ??
                h("div", { role: "row", class: "day" }, h("span", { role: "rowheader" }));
            const name = heading(day ?? 0);
            if (element.textContent !== name) /** @type {Element} */ (element.firstChild).textContent = name;
            element.style.transform = `translateY(${top}px)`;
            element.style.height = `${headingHeight}px`;
            this.#headings.set(index, element);
        }
        return this.#headings;
    }

    /** Gives a row the face of its entry. A picture that is the same stays, so that a list that is read again does not flicker.
     * @param {Row} row
     * @param {Entry} entry
     * @param {number} top
     */
    dress(row, entry, top) {
        let tile = this.#tiles.get(row);
        if (!tile) {
            const place = row.face;
            tile = { place, entry: null, movie: undefined, mark: null, face: null, top, ...unloaded };
            this.#tiles.set(row, tile);
        }
        tile.top = top;
        const movie = this.list.joined.get(entry.path);
        const isSame = tile.entry === entry && tile.movie === movie;
        tile.entry = entry;
        if (isDamaged(entry)) {
            const words = word("damagedName", { name: shown(entry.name) });
            row.link.title = row.face.title = words;
            row.link.setAttribute("aria-label", words);
        }
        if (!isSame) this.#join(row, tile, movie);
        if (isSame && tile.face) return;
        const face = faceOf(entry);
        if (face && face.url === tile.face?.url) return;
        this.#clear(tile);
        tile.face = face;
        tile.place.style.backgroundColor = pictureOf(entry)?.colour ?? "";
    }

    /** Says that a tile has two files, or no longer.
     * @param {Row} row
     * @param {Tile} tile
     * @param {Entry | undefined} movie
     */
    #join({ amount, entry }, tile, movie) {
        tile.movie = movie;
        if (movie && !tile.mark) {
            const words = word("livePhoto");
            tile.mark = h("span", { class: "live", title: words }, h("span", { "aria-hidden": "true" }, word("live")));
            tile.mark.append(h("span", { class: "quiet" }, words));
        }
        if (movie && tile.mark) tile.place.append(tile.mark);
        else tile.mark?.remove();
        if (entry?.type !== "file" || entry.size === null) return;
        const all = size(entry.size + (movie?.size ?? 0));
        amount.textContent = movie ? `${say("files", { n: 2 })}, ${all}` : all;
        amount.title = say("bytes", { n: entry.size + (movie?.size ?? 0) });
    }

    /** The table has drawn, or was scrolled.
     * @param {Iterable<Row>} rows - in the document
     * @param {number} above - height that is scrolled away
     * @param {number} screen - height of the window
     */
    drawn(rows, above, screen) {
        this.#live = [...rows].flatMap((row) => this.#tiles.get(row) ?? []);
        this.#above = above;
        this.#screen = screen;
        this.#drawPin();
        this.#plan();
    }

    #drawPin() {
        if (!this.#pin.isConnected) this.#live[0]?.place.closest(".entries")?.before(this.#pin);
        // Without a box it has no place.
        this.#pin.hidden = !this.#isByDay;
        const found = this.#isByDay && this.#layout.pinned(this.#pin.getBoundingClientRect().top + this.#above);
        const element = /** @type {HTMLElement} */ (this.#pin.firstChild);
        element.hidden = !found;
        if (!found) return;
        const name = heading(found.day);
        if (element.textContent !== name) element.textContent = name;
        element.style.transform = `translateY(${found.shift}px)`;
    }

    #plan() {
        clearTimeout(this.#timer);
        this.#timer = setTimeout(() => this.#want(), rest);
    }

    /** Asks for the pictures that are on the screen, and for those around it when all these are there. */
    #want() {
        if (this.#isHeld) return;
        for (const tile of this.#live) {
            const { face, movie } = tile;
            // The server has no library for HEIC.
            if (movie && face?.by === "scaled" && this.pictures.isMissing(face.url)) tile.face = faceOf(movie);
        }
        const isVisible = (/** @type {Tile} */ { top }) =>
            top + this.#layout.tall > this.#above && top < this.#above + this.#screen;
        const open = this.#live.filter(({ face, isShown }) =>
            face && !isShown && !this.pictures.isMissing(face.url) && !this.videos.isMissing(face.url)
        );
        this.#wanted = new Map(open.map((tile) => [tile.face?.url ?? "", tile]));
        const visible = open.filter(isVisible);
        const isVideo = (/** @type {Tile} */ { face }) => face?.by === "video";
        const urls = (/** @type {Tile[]} */ tiles) => tiles.map(({ face }) => face?.url ?? "");
        const pictures = visible.filter((tile) => !isVideo(tile));
        this.pictures.want(urls(pictures.length ? pictures : open.filter((tile) => !isVideo(tile))));
        this.videos.want(urls(visible.filter(isVideo)));
    }

    /** @param {string} url */
    #load(url) {
        const tile = /** @type {Tile} */ (this.#wanted.get(url));
        if (tile.face?.by === "video") return this.#loadFrame(tile, url);
        if (tile.face?.by === "drawing") return this.#loadDrawing(tile, url);
        this.#showImage(tile, url, url);
    }

    /** @param {Tile} tile @param {string} url @param {string} source */
    #showImage(tile, url, source) {
        const image = tile.image ??= h("img", { alt: "", decoding: "async", draggable: "false", hidden: true });
        tile.place.append(image);
        image.onload = () => {
            this.#shown(tile);
            this.pictures.shown(url);
        };
        image.onerror = () => void this.pictures.failed(url).then(() => this.#plan());
        image.src = source;
    }

    /** @param {Tile} tile */
    #shown(tile) {
        tile.isShown = true;
        for (const one of [tile.image, tile.frame]) if (one) one.hidden = false;
        // It would shine through.
        tile.place.style.backgroundColor = "";
        this.#plan();
    }

    /** The server sends drawings without a type that browsers show.
     * @param {Tile} tile
     * @param {string} url
     */
    async #loadDrawing(tile, url) {
        const stop = new AbortController();
        tile.stop = () => stop.abort();
        try {
            const source = await drawingURL(url, stop.signal);
            if (stop.signal.aborted) return URL.revokeObjectURL(source);
            tile.stop = () => URL.revokeObjectURL(source);
            this.#showImage(tile, url, source);
        } catch {
            if (!stop.signal.aborted) this.pictures.failed(url);
        }
    }

    /** Keeps one frame of a video and lets the video go, because a paused one holds a connection.
     * @param {Tile} tile
     * @param {string} url
     */
    #loadFrame(tile, url) {
        const video = h("video", { preload: "metadata", playsinline: true });
        video.muted = true;
        const stop = tile.stop = () => {
            clearTimeout(timer);
            video.onloadeddata = video.onseeked = video.onerror = null;
            video.removeAttribute("src");
            video.load();
        };
        const fail = () => {
            stop();
            this.videos.failed(url);
        };
        const timer = setTimeout(fail, patience);
        const draw = () => {
            if (video.seeking) return;
            if (!video.videoWidth) return fail();
            const frame = tile.frame ??= h("canvas", { hidden: true });
            frame.width = frameWidth;
            frame.height = Math.max(1, Math.round(frameWidth * video.videoHeight / video.videoWidth));
            frame.getContext("2d")?.drawImage(video, 0, 0, frame.width, frame.height);
            tile.place.append(frame);
            stop();
            this.#shown(tile);
            this.videos.shown(url);
        };
        video.onloadeddata = video.onseeked = draw;
        video.onerror = fail;
        video.src = url;
    }

    /** @param {string} url */
    #drop(url) {
        for (const tile of this.#tiles.values()) if (tile.face?.url === url && !tile.isShown) this.#unload(tile);
    }

    /** @param {Tile} tile */
    #clear(tile) {
        this.#unload(tile);
        tile.face = null;
        tile.place.style.backgroundColor = "";
    }

    /** @param {Tile} tile */
    #unload(tile) {
        tile.isShown = false;
        tile.stop?.();
        tile.stop = null;
        if (tile.image) {
            tile.image.onload = tile.image.onerror = null;
            tile.image.removeAttribute("src");
            tile.image.hidden = true;
        }
        if (tile.frame) tile.frame.hidden = true;
    }
}

/** @param {number} day */
const heading = (day) => dayName(day) || word("undated");

/** Why a picture did not load: images do not tell.
 * @param {string} url
 */
async function ask(url) {
    try {
        const { status, headers, body } = await fetch(url);
        body?.cancel().catch(() => {});
        return { status, wait: Number(headers.get("Retry-After")) || 0 };
    } catch {
        return { status: 0, wait: 0 };
    }
}
