// @ts-check
/** Addresses of the page: what they ask for, how to move between them without leaving the page, and where each was scrolled. */

/** A folder, a search below it, a file of them that is looked at, or the trash.
 * @param {{pathname: string, hash: string}} address
 */
export function viewOf({ pathname, hash }) {
    let folder = "";
    try {
        folder = decodeURIComponent(pathname.replace(/^\/+|\/+$/g, ""));
    } catch {
        // An address that is not UTF-8 names no folder; the server says so when it is listed.
    }
    const asked = new URLSearchParams(hash.slice(1));
    return { folder, find: asked.get("find") ?? "", file: asked.get("view") ?? "", trash: hash === "#trash" };
}

/** The end of the address of a search, and of a file that is looked at.
 * @param {string} find
 * @param {string} [file] - its path below the folder
 */
export function hashOf(find, file = "") {
    const asked = Object.entries({ find, view: file }).filter(([, value]) => value);
    return asked.length ? `#${asked.map(([key, value]) => `${key}=${encodeURIComponent(value)}`).join("&")}` : "";
}

/**
 * Moves between addresses. Uploads go on, because the document stays. Each entry of the history has a number, under
 * which its scroll position is kept.
 *
 * Call `arrive` when a view begins, and `restore` each time that it has grown.
 */
export class Places {
    /** @type {Map<number, number>} */
    #positions = new Map();
    #number = Number(history.state?.number) || Date.now();
    /** The position that comes back when enough rows are there. */
    #wanted = 0;
    #show;

    /** @param {() => void} show - shows what the address asks for */
    constructor(show) {
        this.#show = show;
        history.scrollRestoration = "manual";
        history.replaceState({ ...history.state, number: this.#number }, "");
        // The history takes no more changes while the page is left, so a reload finds the positions in the session.
        try {
            this.#positions = new Map(JSON.parse(sessionStorage.getItem("transfer.positions") ?? "[]"));
        } catch {
            // Without storage a reload begins at the top.
        }
        addEventListener("pagehide", () => {
            try {
                sessionStorage.setItem("transfer.positions", JSON.stringify([...this.#positions].slice(-100)));
            } catch {
                // It is missing, forbidden or full.
            }
        });
        addEventListener("popstate", ({ state }) => {
            this.#number = Number(state?.number) || Date.now();
            show();
        });
        addEventListener("scroll", () => this.#wanted || this.#positions.set(this.#number, scrollY), { passive: true });
        // A user who scrolls or types does not want to be moved to the old position.
        for (const moved of ["wheel", "touchstart", "keydown"]) {
            addEventListener(moved, () => (this.#wanted = 0), { passive: true });
        }
        document.addEventListener("click", (event) => this.#follow(event));
    }

    /** Follows links of the page itself. Other buttons, keys and targets keep their meaning.
     * @param {MouseEvent} event
     */
    #follow(event) {
        const link = event.target instanceof Element && event.target.closest("a");
        const special = event.button || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey;
        if (!link || special || event.defaultPrevented || link.target || link.download) return;
        if (link.origin !== location.origin || link.pathname.startsWith("/.transfer/")) return;
        event.preventDefault();
        link.closest("details")?.removeAttribute("open");
        this.go(link.pathname + link.hash);
    }

    /** @param {string} url */
    go(url) {
        if (url !== location.pathname + location.hash) {
            this.#number = Date.now();
            history.pushState({ number: this.#number }, "", url);
        }
        this.#show();
    }

    /** Names the file that is looked at, without leaving the place. Going back from the first one ends it.
     * @param {string} hash
     */
    look(hash) {
        const looks = Boolean(history.state?.looks) || !viewOf(location).file;
        const change = viewOf(location).file ? "replaceState" : "pushState";
        history[change]({ number: this.#number, looks }, "", location.pathname + hash);
        this.#show();
    }

    /** Ends looking at a file. @param {string} hash */
    leave(hash) {
        if (history.state?.looks) return history.back();
        // The page began with the file.
        history.replaceState({ number: this.#number }, "", location.pathname + hash);
        this.#show();
    }

    arrive() {
        this.#wanted = this.#positions.get(this.#number) ?? 0;
        scrollTo(0, 0);
    }

    /** Scrolls to where the view was, once it is high enough or complete.
     * @param {{height: number}} table
     * @param {boolean} complete
     */
    restore(table, complete) {
        const wanted = this.#wanted;
        if (!wanted || (!complete && table.height < wanted + innerHeight)) return;
        this.#wanted = 0;
        // The table gets its height in the same frame, before.
        requestAnimationFrame(() => scrollTo(0, wanted));
    }
}
