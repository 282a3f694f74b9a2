// @ts-check
/** The movie of a Live Photo in the viewer: a button that plays it in the place of the picture, and links to both. */

import { h, icon, shown, strokes } from "./dom.js";
import { address } from "./server.js";
import { say } from "./words.js";
import { word } from "./words-look.js";

/** @typedef {import('./types.d.ts').Entry} Entry */

Object.assign(strokes, {
    live: "M12 14.5a2.5 2.5 0 1 0 0-5 2.5 2.5 0 0 0 0 5zM12 18a6 6 0 1 0 0-12 6 6 0 0 0 0 12zM12 21.5h.01M12 2.5h.01" +
        "M21.5 12h.01M2.5 12h.01M18.7 18.7h.01M5.3 5.3h.01M18.7 5.3h.01M5.3 18.7h.01",
});

export class Motion {
    button = h(
        "button",
        {
            type: "button",
            class: "plain",
            "aria-label": word("play"),
            "aria-pressed": "false",
            title: `${word("play")} (L)`,
            hidden: true,
            onclick: () => this.toggle(),
        },
        icon("live"),
    );
    links = [h("a", { class: "button plain" }), h("a", { class: "button plain" })];
    problem = h("p", { class: "damage", role: "status" });
    /** @type {Entry | undefined} */
    #movie;
    /** @type {HTMLVideoElement | undefined} */
    #video;

    /** @param {HTMLElement} place - the element that has the picture */
    constructor(place) {
        this.place = place;
    }

    /** Takes the file that is shown, and if that is a picture with a movie, this too.
     * @param {[Pick<Entry, 'path' | 'name'>, Entry?]} files
     */
    offer(files) {
        const movie = files[1];
        if (movie?.path !== this.#movie?.path || movie?.digest !== this.#movie?.digest) this.stop();
        // The button goes, and would take the focus with it.
        if (!movie && document.activeElement === this.button) this.place.focus();
        this.#movie = movie;
        this.button.hidden = !movie;
        for (const [at, link] of this.links.entries()) {
            const file = files[at];
            link.hidden = !file;
            if (!file) continue;
            const { path, name } = file;
            const words = movie ? say("downloadOne", { name: shown(name) }) : word("download");
            link.href = address(path);
            link.download = name;
            link.title = words;
            link.setAttribute("aria-label", words);
            const end = movie && h("small", {}, name.slice(name.lastIndexOf(".") + 1));
            link.replaceChildren(icon("download"), end ?? "");
        }
    }

    /** Plays the movie from its beginning, or returns to the picture. */
    toggle() {
        if (this.#video || !this.#movie) return this.stop();
        this.problem.textContent = "";
        const video = this.#video = h("video", { playsinline: true, "aria-label": shown(this.#movie.name) });
        video.addEventListener("ended", () => this.stop());
        video.addEventListener("error", () => this.#fail(video));
        video.src = address(this.#movie.path);
        this.place.append(video);
        this.place.classList.add("moving");
        this.button.setAttribute("aria-pressed", "true");
        // The browser saves power, or plays nothing that the user has not begun.
        video.play().catch(() => (video.controls = true));
    }

    /** What is in the place beside the picture: the movie while it plays. */
    get playing() {
        return this.#video ? [this.#video] : [];
    }

    /** Shows the picture again. */
    stop() {
        const video = this.#video;
        this.#video = undefined;
        this.problem.textContent = "";
        this.place.classList.remove("moving");
        this.button.setAttribute("aria-pressed", "false");
        if (!video) return;
        // A paused video would hold its connection.
        video.removeAttribute("src");
        video.load();
        video.remove();
    }

    /** @param {HTMLVideoElement} video */
    #fail(video) {
        if (video !== this.#video) return;
        this.stop();
        this.problem.textContent = word("unshown.movie");
    }
}
