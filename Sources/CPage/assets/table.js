// @ts-check
/**
 * The list on the screen, as rows or as cards. Only what is visible and a little more is in the document, and the nodes
 * are used again: 50,000 entries cost as much as 50.
 *
 * The rows have the focus themselves (one of them is in the tab order). The focused row stays in the document when it
 * is scrolled away, because the focus would be lost with it.
 */

import { h, icon, setIcon, shown } from "./dom.js";
import { size, time } from "./format.js";
import { kindOf } from "./list.js";
import { address, below } from "./server.js";
import { say } from "./words.js";

/** @typedef {import('./types.d.ts').Entry} Entry */
/** @typedef {ReturnType<typeof makeRow>} Row */

/**
 * Places of rows in one column or of tiles in several: `range` tells which are between two heights, `step` to which one
 * a key leads.
 * @typedef {object} Layout
 * @property {number} columns
 * @property {number} tall - height of a row
 * @property {number} height - of all
 * @property {(above: number, below: number) => [number, number]} range
 * @property {(index: number) => {column: number, top: number}} place
 * @property {(index: number, key: string, page: number) => number | undefined} step
 */

/**
 * @typedef {object} Handlers
 * @property {(entry: Entry, event: Event) => void} open - may prevent the default of a link
 * @property {(command: 'rename' | 'remove' | 'details' | 'selected') => void} command
 * @property {(entry: Entry) => void} total - the size of a folder is asked for
 * @property {(key: 'name' | 'size' | 'at') => void} sort
 */

/** @param {number} count @param {number} width @returns {Layout} */
function lines(count, width) {
    const tall = width < 600 ? 64 : 48;
    return {
        columns: 1,
        tall,
        height: count * tall,
        range: (above, below) => [Math.max(0, Math.floor(above / tall)), Math.min(count, Math.ceil(below / tall))],
        place: (index) => ({ column: 0, top: index * tall }),
        step(index, key, page) {
            const lines = Math.max(1, Math.floor(page / tall));
            /** @type {Record<string, number>} */
            const steps = { ArrowDown: 1, ArrowUp: -1, PageDown: lines, PageUp: -lines, Home: -count, End: count };
            return key in steps ? index + steps[key] : undefined;
        },
    };
}

function makeRow() {
    const check = h("input", { type: "checkbox", tabindex: -1 });
    const drawing = icon("file");
    const face = h("span", { class: "face" }, drawing);
    const name = h("bdi");
    const where = h("span", { class: "where" });
    const link = h("a", { tabindex: -1 }, name);
    const amount = h("span");
    const ask = h("button", { class: "plain ask", tabindex: -1, type: "button" });
    const when = h("time");
    const download = h("a", { class: "button plain", tabindex: -1 }, icon("download"));
    const root = h(
        "div",
        { class: "entry", role: "row" },
        h("span", { role: "gridcell", class: "check" }, h("label", {}, check)),
        h("span", { role: "gridcell", class: "label" }, face, link, where),
        h("span", { role: "gridcell", class: "size" }, amount, ask),
        h("span", { role: "gridcell", class: "time" }, when),
        h("span", { role: "gridcell", class: "get" }, download),
    );
    return {
        root,
        check,
        drawing,
        face,
        name,
        where,
        link,
        amount,
        ask,
        when,
        download,
        entry: /** @type {Entry?} */ (null),
    };
}

export class Table {
    cards = false;
    /** Makes tiles of the rows. It is loaded when it is first needed. @type {import('./grid.js').Grid | undefined} */
    grid;
    /** Folder of the list: hits of a search below it show where they are. */
    folder = "";
    #body = h("div", { class: "entries", role: "rowgroup" });
    #all = h("input", { type: "checkbox", "aria-label": say("selectAll") });
    /** Rows in the document by index. @type {Map<number, Row>} */
    #live = new Map();
    /** @type {WeakMap<Element, number>} */
    #indexes = new WeakMap();
    /** @type {Row[]} */
    #spare = [];
    #layout = lines(0, 0);
    #index = 0;
    /** What the focused row shows, or the one that had the focus last: a key acts on nothing else. @type {Entry[]} */
    active = [];
    #frame = 0;
    /** Whether more than the scroll position has changed since the last drawing. */
    #stale = true;

    /**
     * @param {import('./list.js').List} list
     * @param {Handlers} handlers
     */
    constructor(list, handlers) {
        this.list = list;
        this.handlers = handlers;
        this.element = h(
            "div",
            { class: "table", role: "grid", "aria-multiselectable": "true", "aria-label": say("entries") },
            h("div", { role: "rowgroup", class: "heads" }, this.#makeHead()),
            this.#body,
        );
        this.#body.addEventListener("click", (event) => this.#click(event));
        this.#body.addEventListener("keydown", (event) => this.#key(event));
        this.#body.addEventListener("focusin", (event) => {
            const index = this.#indexOf(event.target);
            if (index >= 0) this.#activate(index, this.#live.get(index)?.entry);
        });
        addEventListener("scroll", () => this.#request(), { passive: true });
        addEventListener("resize", () => this.update());
        new ResizeObserver(() => this.update()).observe(this.element);
    }

    #makeHead() {
        this.#all.addEventListener("change", () => {
            this.list.selectAll(this.#all.checked);
            this.#selected();
        });
        /** @param {'name' | 'size' | 'at'} key @param {string} look */
        const head = (key, look) =>
            h(
                "span",
                { role: "columnheader", class: look, "data-key": key },
                h(
                    "button",
                    { class: "plain", type: "button", onclick: () => this.handlers.sort(key) },
                    say(`by.${key}`),
                ),
            );
        return h(
            "div",
            { role: "row", class: "entry head", "aria-rowindex": 1 },
            h("span", { role: "columnheader", class: "check" }, h("label", {}, this.#all)),
            head("name", "label"),
            head("size", "size"),
            head("at", "time"),
            h("span", { role: "columnheader", class: "get" }, h("span", { class: "quiet" }, say("download"))),
        );
    }

    /** Draws at the next frame, however often it is called before. */
    update() {
        this.#stale = true;
        this.#request();
    }

    #request() {
        this.#frame ||= requestAnimationFrame(() => {
            this.#frame = 0;
            if (this.#stale) this.#keepFocus();
            this.#draw();
        });
    }

    /** Height of all rows, so that a scroll position can be restored as soon as it is there. */
    get height() {
        return this.#measured().height;
    }

    /** Focuses an entry and scrolls it into view.
     * @param {number} index
     */
    focus(index) {
        index = Math.max(0, Math.min(index, this.list.rows.length - 1));
        this.#activate(index);
        const layout = this.#measured();
        const top = this.#body.getBoundingClientRect().top + layout.place(index).top;
        // What the bars at the top and bottom cover does not count as visible.
        const [above, below] = [160 + (this.cards ? this.grid?.covered ?? 0 : 0), innerHeight - layout.tall - 104];
        if (top < above) scrollBy(0, top - above);
        else if (top > below) scrollBy(0, top - below);
        this.#draw();
        this.#live.get(index)?.root.focus({ preventScroll: true });
    }

    /** Focuses the entry that was active before, for example after a dialog. */
    refocus() {
        if (this.list.rows.length) this.focus(this.#place ?? this.#index);
    }

    /** Where the active entry is now, or the other file of its row if that is left; undefined if both are gone. */
    get #place() {
        return this.active.map(({ path }) => this.list.rowOf(path)).find((index) => index >= 0);
    }

    /** @param {number} index @param {Entry | null} [entry] */
    #activate(index, entry = this.list.rows[index]) {
        this.#live.get(this.#index)?.root.setAttribute("tabindex", "-1");
        this.#index = index;
        this.active = entry ? this.list.files(entry) : [];
        this.#live.get(index)?.root.setAttribute("tabindex", "0");
    }

    #measured() {
        if (!this.#stale) return this.#layout;
        const { length } = this.list.rows;
        // A hidden element has no width.
        this.element.hidden = !length;
        const width = this.#body.clientWidth;
        return this.#layout = this.cards && this.grid ? this.grid.arrange(width) : lines(length, width);
    }

    #draw() {
        const { rows } = this.list;
        const grid = this.cards ? this.grid : undefined;
        if (this.cards && !grid) return;
        const layout = this.#measured();
        const margin = layout.tall * 4;
        this.#index = Math.max(0, Math.min(this.#index, rows.length - 1));
        const above = -this.#body.getBoundingClientRect().top;
        const [first, last] = layout.range(above - margin, above + innerHeight + margin);
        const focused = this.#indexOf(document.activeElement);
        const gone = [...this.#live].filter(([index]) =>
            index >= rows.length || (index !== focused && (index < first || index >= last))
        );
        // After a jump no row stays, so all are used again where they are. The last one pushed is taken first.
        const jump = gone.length === this.#live.size;
        for (const [index, row] of gone.sort(([a], [b]) => b - a)) {
            if (!jump) row.root.remove();
            this.#live.delete(index);
            this.#spare.push(row);
        }
        const wanted = [];
        for (let index = first; index < last; index++) wanted.push(index);
        if (focused >= 0 && focused < rows.length && (focused < first || focused >= last)) {
            focused < first ? wanted.unshift(focused) : wanted.push(focused);
        }
        const headings = this.grid?.headings(grid ? first : 0, grid ? last : 0);
        // Rows that stay are in order already, so only others move, and a screen reader finds all in order.
        let next = this.#body.firstChild;
        for (const index of wanted) {
            const row = this.#live.get(index) ?? this.#spare.pop() ?? makeRow();
            if (this.#stale || this.#live.get(index) !== row) this.#fill(row, rows[index], index);
            for (const node of [headings?.get(index), row.root]) {
                if (!node) continue;
                // A node that moves loses the focus, so those before it move instead.
                while (next && next !== node && node.contains(document.activeElement)) {
                    const after = next.nextSibling;
                    next.remove();
                    next = after;
                }
                if (node === next) next = next.nextSibling;
                else this.#body.insertBefore(node, next);
            }
        }
        if (jump) { for (const row of this.#spare) row.root.remove(); }
        if (this.#stale) this.#drawFrame();
        this.#stale = false;
        grid?.drawn(this.#live.values(), above, innerHeight);
    }

    /** The focused row goes to where its entry is now: a key must not act on one that has taken its place. */
    #keepFocus() {
        const from = this.#indexOf(document.activeElement);
        if (from < 0) return;
        const to = this.#place ?? from;
        if (to === from) return this.#activate(from);
        const [row, other] = [this.#live.get(from), this.#live.get(to)];
        this.#live.delete(from);
        for (const [index, one] of /** @type {const} */ ([[to, row], [from, other]])) {
            if (!one) continue;
            this.#live.set(index, one);
            this.#indexes.set(one.root, index);
        }
        this.#activate(to);
    }

    /** Draws what does not depend on the scroll position. */
    #drawFrame() {
        const { rows, shown, selection, sorting } = this.list;
        this.#body.style.height = `${this.height}px`;
        this.element.classList.toggle("cards", this.cards);
        this.element.setAttribute("aria-rowcount", String(rows.length + 1));
        this.#all.checked = shown > 0 && selection.size >= shown;
        this.#all.indeterminate = !this.#all.checked && selection.size > 0;
        for (const head of this.element.querySelectorAll("[data-key]")) {
            const mine = head.getAttribute("data-key") === sorting.key;
            head.setAttribute("aria-sort", mine ? (sorting.down ? "descending" : "ascending") : "none");
        }
    }

    /** @param {Row} row @param {Entry} entry @param {number} index */
    #fill(row, entry, index) {
        this.#live.set(index, row);
        this.#indexes.set(row.root, index);
        const { style } = row.root;
        const { columns, tall } = this.#layout;
        const { column, top } = this.#layout.place(index);
        style.transform = `translate(${column * 100}%, ${top}px)`;
        style.width = `${100 / columns}%`;
        style.height = `${tall}px`;
        row.root.setAttribute("aria-rowindex", String(index + 2));
        row.root.setAttribute("tabindex", index === this.#index ? "0" : "-1");
        const selected = this.list.files(entry).map(({ path }) => this.list.selection.has(path));
        row.root.setAttribute("aria-selected", String(selected.includes(true)));
        row.check.checked = !selected.includes(false);
        row.check.indeterminate = !row.check.checked && selected.includes(true);
        if (row.entry !== entry) this.#describe(row, entry);
        if (entry.type === "directory") this.#showTotal(row, entry);
        if (this.cards) this.grid?.dress(row, entry, top);
    }

    /** @param {Row} row @param {Entry} entry */
    #describe(row, entry) {
        const folder = entry.type === "directory";
        const name = shown(entry.name);
        row.entry = entry;
        setIcon(row.drawing, kindOf(entry));
        row.name.textContent = name;
        row.link.href = address(entry.path, folder);
        row.link.title = name;
        // The grid has more to say of some.
        row.face.title = "";
        row.link.removeAttribute("aria-label");
        // A file opens in its own tab, so that uploads of this one go on.
        row.link.target = folder ? "" : "_blank";
        const parent = below(entry.path, this.folder).slice(0, -entry.name.length - 1);
        row.where.textContent = parent && shown(parent);
        row.check.setAttribute("aria-label", say("select", { name }));
        row.amount.textContent = entry.size == null || folder ? "" : size(entry.size);
        row.amount.title = folder ? "" : say("bytes", { n: entry.size ?? 0 });
        row.ask.hidden = !folder;
        row.when.textContent = time(new Date(entry.at));
        row.when.title = row.when.dateTime = entry.modified ?? "";
        row.download.hidden = folder;
        row.download.href = row.link.href;
        row.download.download = entry.name;
        row.download.setAttribute("aria-label", say("downloadOne", { name }));
    }

    /** @param {Row} row @param {Entry} entry */
    #showTotal(row, entry) {
        const { total } = entry;
        const known = typeof total === "object";
        row.ask.hidden = known;
        row.ask.textContent = total === "counting" ? say("counting") : say("totalSize");
        row.ask.setAttribute("aria-label", say("totalSizeOf", { name: shown(entry.name) }));
        row.amount.textContent = known ? size(total.size) : "";
        row.amount.title = known ? `${say("folders", { n: total.folders })}, ${say("files", { n: total.files })}` : "";
    }

    /** @param {EventTarget | null} target */
    #indexOf(target) {
        const row = target instanceof Element && target.closest(".entry");
        return row ? this.#indexes.get(row) ?? -1 : -1;
    }

    #selected() {
        this.update();
        this.handlers.command("selected");
    }

    /** @param {MouseEvent} event */
    #click(event) {
        const index = this.#indexOf(event.target);
        const entry = this.list.rows[index];
        const target = /** @type {Element} */ (event.target);
        if (!entry || target.closest("[download]")) return;
        if (target.closest(".ask")) return this.handlers.total(entry);
        const link = target.closest("a, .face");
        if (target.closest(".check")) {
            // The label sends a second click for its checkbox; only that one counts.
            if (target instanceof HTMLInputElement) this.list.select(index, { range: event.shiftKey });
        } else if (link && !(link instanceof HTMLAnchorElement && (event.ctrlKey || event.metaKey || event.shiftKey))) {
            this.handlers.open(entry, event);
        } else if (!link && (this.list.selection.size || event.ctrlKey || event.metaKey || event.shiftKey)) {
            this.list.select(index, { range: event.shiftKey });
        }
        this.#selected();
    }

    /** @param {KeyboardEvent} event */
    #key(event) {
        const index = this.#indexOf(event.target);
        const inside = !(/** @type {Element} */ (event.target).classList.contains("entry"));
        if (index < 0 || event.altKey) return;
        const to = this.#layout.step(index, event.key, innerHeight - 200);
        if (to !== undefined) {
            if (event.shiftKey) {
                if (!this.list.selection.size) this.list.select(index, { on: true });
                this.list.select(Math.max(0, Math.min(to, this.list.rows.length - 1)), { range: true });
                this.#selected();
            }
            this.focus(to);
        } else if (event.key === "a" && (event.ctrlKey || event.metaKey)) {
            this.list.selectAll(true);
            this.#selected();
        } else if (event.key === "Escape" && this.list.selection.size) {
            this.list.selectAll(false);
            this.#selected();
        } else if (event.key === " " && !inside) {
            this.list.select(index, { range: event.shiftKey });
            this.#selected();
        } else if (event.key === "Enter" && !inside) {
            this.#live.get(index)?.link.click();
        } else if (event.key === "F2") {
            this.handlers.command("rename");
        } else if (event.key === "Delete") {
            this.handlers.command("remove");
        } else if (event.key === "i" && !event.ctrlKey && !event.metaKey) {
            this.handlers.command("details");
        } else return;
        event.preventDefault();
    }
}
