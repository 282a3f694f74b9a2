// @ts-check
/** A picture in the viewer: first the scaled one, then the original where that shows more; zoomed and moved by pointers and keys. */

import { h } from "./dom.js";
import { drawingURL, large, originalOf, pictureOf, thumbnail, wantsOriginal } from "./pictures.js";
import { address } from "./server.js";
import { clamp, fit, limit, pinch, swipe, whole, zoomAt } from "./zoom.js";

/** @typedef {import('./types.d.ts').Entry} Entry */
/** @typedef {import('./zoom.js').Point} Point */

/** Milliseconds between the taps of a double tap, and pixels within which a finger that trembles still taps. */
const doubleTime = 300, tapReach = 10;
/** Scale of a double tap. */
const doubleScale = 2.5;
/** Pixels that a key moves an enlarged picture by. */
const keyStep = 80;

/**
 * @typedef {object} Listeners
 * @property {(direction: 1 | -1) => void} turn - the user has swiped
 * @property {() => void} shown
 * @property {(key: string) => void} failed - the key of the sentence that says why
 */

export class Stage {
    #frame = h("div", { class: "frame" });
    element = h("div", { class: "picture" }, this.#frame);
    #zoom = whole;
    /** @type {Map<number, Point>} */
    #fingers = new Map();
    /** Where and when the first finger came down. */
    #start = { x: 0, y: 0, time: 0, isAlone: true };
    #tap = { x: 0, y: 0, time: -Infinity };
    /** @type {HTMLImageElement | null} */
    #original = null;
    /** Pixels of the picture; zeros until they are known. */
    #pixels = { width: 0, height: 0 };
    /** Whether there may be more pixels than are known. */
    #grows = false;
    /** @type {Entry | null} */
    #entry = null;
    #stop = new AbortController();

    /** @param {Listeners} listeners */
    constructor(listeners) {
        this.listeners = listeners;
        const { element } = this;
        element.addEventListener("pointerdown", (event) => this.#down(event));
        element.addEventListener("pointermove", (event) => this.#move(event));
        element.addEventListener("pointerup", (event) => this.#up(event));
        element.addEventListener("pointercancel", (event) => this.#cancel(event));
        element.addEventListener("wheel", (event) => this.#wheel(event), { passive: false });
        new ResizeObserver(() => this.#place()).observe(element);
    }

    /** @param {Entry} entry @param {string} name - for people who do not see the picture */
    show(entry, name) {
        this.clear();
        this.#entry = entry;
        const picture = pictureOf(entry);
        const { fits, isOnly } = originalOf(entry);
        if (picture) {
            this.#pixels = { width: picture.width, height: picture.height };
            this.#frame.style.backgroundColor = picture.colour;
        }
        this.#place();
        if (isOnly) return fits ? this.#loadOriginal(name) : this.listeners.failed("unshown.large");
        this.#load(thumbnail(entry, large), name, (image) => {
            if (!this.#pixels.width || !this.#pixels.height) {
                const { naturalWidth: width, naturalHeight: height } = image;
                this.#pixels = { width, height };
                // A picture that fills the scaled size has been made smaller.
                this.#grows = Math.max(width, height) >= large;
            }
            this.#show(image);
        }, () => fits ? this.#loadOriginal(name) : this.listeners.failed("unshown.picture"));
    }

    clear() {
        this.#stop.abort();
        this.#stop = new AbortController();
        for (const image of this.#frame.querySelectorAll("img")) image.removeAttribute("src");
        this.#frame.replaceChildren();
        this.#frame.style.backgroundColor = "";
        this.#original = null;
        this.#entry = null;
        this.#pixels = { width: 0, height: 0 };
        this.#grows = false;
        this.#zoom = whole;
        this.#fingers.clear();
    }

    /**
     * @param {string} source
     * @param {string} name
     * @param {(image: HTMLImageElement) => void} loaded
     * @param {() => void} failed
     */
    #load(source, name, loaded, failed) {
        const { signal } = this.#stop;
        const image = h("img", { alt: name, decoding: "async", draggable: "false" });
        image.addEventListener("load", () => signal.aborted || loaded(image));
        image.addEventListener("error", () => signal.aborted || failed());
        image.src = source;
        return image;
    }

    /** @param {string} name */
    async #loadOriginal(name) {
        const { signal } = this.#stop;
        const entry = /** @type {Entry} */ (this.#entry);
        const failed = () => this.#frame.childElementCount || this.listeners.failed("unshown.picture");
        let source = address(entry.path);
        try {
            if (originalOf(entry).isDrawing) source = await drawingURL(source, signal);
        } catch {
            if (!signal.aborted) failed();
            return;
        }
        if (source.startsWith("blob:")) signal.addEventListener("abort", () => URL.revokeObjectURL(source));
        if (signal.aborted) return URL.revokeObjectURL(source);
        this.#original = this.#load(source, name, (image) => {
            const { naturalWidth: width, naturalHeight: height } = image;
            // A drawing may have no extent, and any sharpness.
            this.#pixels = width && height ? { width, height } : this.#stage;
            this.#grows = originalOf(entry).isDrawing;
            this.#show(image);
        }, failed);
    }

    /** @param {HTMLImageElement} image */
    #show(image) {
        this.#frame.style.backgroundColor = "";
        this.#frame.replaceChildren(image);
        this.#place();
        this.listeners.shown();
    }

    get #stage() {
        return { width: this.element.clientWidth, height: this.element.clientHeight };
    }

    get #box() {
        return fit(this.#stage, this.#pixels, this.#grows);
    }

    get isZoomed() {
        return this.#zoom.scale > 1;
    }

    #place() {
        const box = this.#box;
        const { style } = this.#frame;
        this.#zoom = clamp(this.#zoom, box, this.#stage);
        const { scale, x, y } = this.#zoom;
        style.width = `${box.width}px`;
        style.height = `${box.height}px`;
        style.transform = `translate(-50%, -50%) translate(${x}px, ${y}px) scale(${scale})`;
        this.element.classList.toggle("zoomed", this.isZoomed);
        const entry = this.#entry;
        const wants = entry && !this.#original && this.#frame.childElementCount &&
            wantsOriginal(this.#stage, devicePixelRatio, scale);
        const isScaled = Math.max(this.#pixels.width, this.#pixels.height) > large || this.#grows;
        if (wants && isScaled && originalOf(entry).fits) {
            this.#loadOriginal(this.#frame.querySelector("img")?.alt ?? "");
        }
    }

    /** Enlarges by a factor around a point, which is the middle if it is left out; 0 shows the whole picture.
     * @param {number} factor
     * @param {Point} [point]
     */
    zoom(factor, point = { x: 0, y: 0 }) {
        const most = limit(this.#box, this.#pixels.width);
        this.#zoom = factor ? zoomAt(this.#zoom, factor, point, most) : whole;
        this.#place();
    }

    /** @param {number} x - steps @param {number} y */
    pan(x, y) {
        this.#shift(x * keyStep, y * keyStep);
    }

    /** @param {number} x @param {number} y */
    #shift(x, y) {
        this.#zoom = { ...this.#zoom, x: this.#zoom.x + x, y: this.#zoom.y + y };
        this.#place();
    }

    /** @param {{clientX: number, clientY: number}} event @returns {Point} */
    #point({ clientX, clientY }) {
        const { left, top, width, height } = this.element.getBoundingClientRect();
        return { x: clientX - left - width / 2, y: clientY - top - height / 2 };
    }

    /** @param {WheelEvent} event */
    #wheel(event) {
        // Without the key, the list behind the viewer would scroll.
        event.preventDefault();
        if (event.ctrlKey) this.zoom(Math.exp(-event.deltaY / (event.deltaMode ? 10 : 200)), this.#point(event));
        else if (this.isZoomed) this.#shift(-event.deltaX, -event.deltaY);
    }

    /** @param {PointerEvent} event */
    #down(event) {
        if (event.button) return;
        this.element.setPointerCapture(event.pointerId);
        const point = this.#point(event);
        this.#fingers.set(event.pointerId, point);
        this.#start = { ...point, time: event.timeStamp, isAlone: this.#fingers.size === 1 };
    }

    /** @param {PointerEvent} event */
    #move(event) {
        const old = this.#fingers.get(event.pointerId);
        if (!old) return;
        const point = this.#point(event);
        const others = [...this.#fingers].filter(([id]) => id !== event.pointerId);
        this.#fingers.set(event.pointerId, point);
        if (others.length === 1) {
            const { factor, point: middle, shift } = pinch([others[0][1], old], [others[0][1], point]);
            this.zoom(factor, middle);
            this.#shift(shift.x, shift.y);
        } else if (!others.length && this.isZoomed) this.#shift(point.x - old.x, point.y - old.y);
        else if (!others.length && event.pointerType !== "mouse" && this.#start.isAlone) {
            this.element.style.setProperty("--drag", `${point.x - this.#start.x}px`);
        }
    }

    /** @param {PointerEvent} event */
    #up(event) {
        if (!this.#fingers.has(event.pointerId)) return;
        this.#cancel(event);
        if (this.#fingers.size || !this.#start.isAlone) return;
        const point = this.#point(event);
        const [x, y] = [point.x - this.#start.x, point.y - this.#start.y];
        const milliseconds = event.timeStamp - this.#start.time;
        if (Math.hypot(x, y) < tapReach) return this.#tapped(point, event.timeStamp);
        if (this.isZoomed) return;
        const direction = swipe({ x, y, milliseconds, width: this.#stage.width });
        if (direction) this.listeners.turn(direction === 1 ? 1 : -1);
    }

    /** @param {PointerEvent} event */
    #cancel(event) {
        this.#fingers.delete(event.pointerId);
        this.element.style.removeProperty("--drag");
    }

    /** @param {Point} point @param {number} time */
    #tapped(point, time) {
        const isDouble = time - this.#tap.time < doubleTime &&
            Math.hypot(point.x - this.#tap.x, point.y - this.#tap.y) < 3 * tapReach;
        this.#tap = { ...point, time: isDouble ? -Infinity : time };
        if (isDouble) this.zoom(this.isZoomed ? 0 : doubleScale, point);
    }
}
