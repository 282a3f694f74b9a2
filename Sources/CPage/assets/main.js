// @ts-check
/** The page of a folder: its shell, navigation without leaving the page, and what happens when a request fails. */

import { Actions } from "./actions.js";
import { announce, messages, toast } from "./dialog.js";
import { h, icon, shown } from "./dom.js";
import { size } from "./format.js";
import { List, needsPictures } from "./list.js";
import { follow } from "./live.js";
import { hashOf, Places, viewOf } from "./places.js";
import { Readings } from "./readings.js";
import { address, below, entries, entryOf, explain, Failure, join, listAddress, parentOf, request } from "./server.js";
import { account, chosenTools, crumbs, preference, rights, tool } from "./shell.js";
import { Table } from "./table.js";
import { trashView } from "./trash.js";
import { say } from "./words.js";

/** @typedef {import('./types.d.ts').Entry} Entry */
/** @typedef {import('./types.d.ts').Sorting} Sorting */

const root = document.documentElement;
const trash = "trash" in root.dataset;

let view = viewOf(location);
/** Ends the requests of the view that is left. */
let visit = new AbortController();
let listing = false;
/** Whether the server was asked to look at the pictures of this folder. */
let learns = false;

const [first, direction] = preference("sort").split(" ");
/** Shows files. It is loaded when it is first needed. @type {import('./viewer.js').Viewer | undefined} */
let viewer;
const list = new List({ key: /** @type {Sorting['key']} */ (first || "name"), down: direction === "down" });
const table = new Table(list, { open, command, total, sort: (key) => sort(key) });
table.cards = preference("cards") === "yes";
const folder = () => view.folder;
const actions = new Actions({
    list,
    trash,
    folder,
    shows: (path) => view.find ? childFor(path, true) !== "" : parentOf(path) === view.folder,
    changed: draw,
    reload: () => load(true),
});
const places = new Places(show);
const readings = new Readings(() => load(true), (act, time) => void setTimeout(act, time));

/* The shell. */

const path = h("nav", { class: "crumbs", "aria-label": say("path") });
const title = h("h1", { class: "quiet" });
const problem = h("div", { class: "problem", role: "alert" });
const notice = h("p", { class: "notice" });
const content = h("div", { class: "content" });
const counts = h("p", { class: "counts" });
const finder = h("input", {
    type: "search",
    placeholder: say("filter"),
    "aria-label": say("filter"),
    autocomplete: "off",
    maxlength: 255,
    oninput: () => {
        list.find(finder.value);
        draw();
    },
});
const sorter = h("select", { "aria-label": say("sort"), onchange: () => sort(...readSorting(sorter.value)) });
for (
    const choice of [
        "name up",
        "name down",
        "taken down",
        "taken up",
        "at down",
        "at up",
        "size down",
        "size up",
        "kind up",
    ]
) {
    sorter.append(h("option", { value: choice }, say(`sort.${choice.replace(" ", ".")}`)));
}
const look = h("button", { type: "button", class: "plain", onclick: () => setCards(!table.cards) });
const chosen = h("div", { class: "chosen", role: "group", "aria-label": say("chosen"), hidden: true });

/** @param {string} value @returns {[Sorting['key'], boolean]} */
function readSorting(value) {
    const [key, way] = value.split(" ");
    return [/** @type {Sorting['key']} */ (key), way === "down"];
}

const dock = h("aside", { class: "dock", "aria-label": say("uploads") });

/** Loads what sends files, behind what shows them.
 * @param {HTMLElement} tools
 */
async function takeUploads(tools) {
    try {
        const { startUploads } = await import("./upload.js");
        const uploads = startUploads({ folder, rights: [...rights].join(" "), announce, onStored });
        tools.prepend(uploads.fileButton, uploads.folderButton, uploads.cameraButton);
        dock.append(uploads.element);
    } catch (error) {
        toast(explain(error), { failure: true });
    }
}

function build() {
    const make = h(
        "div",
        { class: "make", role: "group", "aria-label": say("add") },
        rights.has("read") && tool("newFolder", say("newFolder"), () => actions.makeFolder()),
    );
    const search = h(
        "form",
        { role: "search", onsubmit: (/** @type {Event} */ event) => (event.preventDefault(), searchBelow()) },
        icon("search"),
        finder,
        // Safari would take the focus from the field, and so hide the button, before the click.
        h("button", { class: "plain", onmousedown: (event) => event.preventDefault() }, say("searchBelow")),
    );
    const read = rights.has("read");
    const home = h("a", { href: "/", class: "home", "aria-label": say("top") }, icon("home"));
    document.body.append(
        h(
            "header",
            {},
            h("div", { class: "bar" }, home, path, account()),
            h(
                "div",
                { class: "tools" },
                rights.has("write") && make,
                read && search,
                read && sorter,
                read && look,
                read && chosen,
            ),
        ),
        h("main", {}, title, problem, notice, content),
        h("footer", {}, counts),
        dock,
        ...messages,
    );
    if (rights.has("write")) takeUploads(make);
    setCards(table.cards);
    sorter.value = `${list.sorting.key} ${list.sorting.down ? "down" : "up"}`;
}

/* What is shown. */

/** Brings the table and all that is said about the list up to date. */
function draw() {
    table.update();
    showCounts();
    showChosen();
    showNotice();
    viewer?.update();
}

function showCounts() {
    if (view.trash || !rights.has("read") || (!list.size && !listing && !view.find)) return counts.replaceChildren();
    const { folders, files, size: bytes } = list.counts;
    const parts = view.find
        ? [say(listing ? "looking" : visit.signal.aborted ? "stopped" : "found", { n: list.size })]
        : [
            listing && say("loading"),
            folders && say("folders", { n: folders }),
            files && `${say("files", { n: files })}, ${size(bytes)}`,
        ];
    if (list.filter) parts.push(say("matching", { n: list.shown }));
    counts.replaceChildren(h("span", {}, parts.filter(Boolean).join(" · ")));
    if (listing && view.find) {
        counts.append(h("button", { type: "button", class: "plain", onclick: () => visit.abort() }, say("stop")));
    }
    places.restore(table, !listing);
}

/** Says why the list is empty, once that is certain. */
function showNotice() {
    notice.textContent = "";
    if (listing || view.trash || problem.hasChildNodes() || list.rows.length) return;
    if (list.size) notice.textContent = say("matching", { n: 0 });
    else if (!view.find) notice.textContent = say(rights.has("write") ? "empty.write" : "empty");
}

function showChosen() {
    chosen.hidden = !list.selection.size;
    if (!chosen.hidden) chosen.replaceChildren(...chosenTools(list, command));
}

function deselect() {
    list.selectAll(false);
    draw();
    table.refocus();
}

/** @param {boolean} cards */
async function setCards(cards) {
    table.cards = cards;
    preference("cards", cards ? "yes" : "");
    const words = say(cards ? "asList" : "asCards");
    look.replaceChildren(icon(cards ? "list" : "grid"), h("span", { class: "quiet" }, words));
    look.title = words;
    try {
        if (cards) table.grid ??= new (await import("./grid.js")).Grid(list);
        else table.grid?.stop();
        table.grid?.hold(Boolean(view.file));
        list.join(table.cards ? table.grid?.pairs : undefined);
    } catch (error) {
        toast(explain(error), { failure: true });
        if (table.cards) return setCards(false);
    }
    draw();
    learn();
}

/** Sorts by a key; the key that is in force changes its direction.
 * @param {Sorting['key']} key
 * @param {boolean} [down]
 */
function sort(key, down = list.sorting.key === key ? !list.sorting.down : key !== "name") {
    list.sort({ key, down });
    sorter.value = `${key} ${down ? "down" : "up"}`;
    preference("sort", sorter.value || `${key} ${down ? "down" : "up"}`);
    draw();
    learn();
}

/* Commands of the table. */

/** Opens an entry in this page. Its link also takes it to other tabs.
 * @param {Entry} entry
 * @param {Event} event
 */
function open(entry, event) {
    event.preventDefault();
    if (entry.type === "directory") places.go(address(entry.path, true));
    else lookAt(entry);
}

/** @param {Entry} entry */
function lookAt(entry) {
    places.look(hashOf(view.find, below(entry.path, view.folder)));
}

/** Shows the file that the address names, or ends that.
 * @param {boolean} [details] - whether to show them too
 */
async function showFile(details = false) {
    if (!view.file && !viewer) return;
    table.grid?.hold(Boolean(view.file));
    try {
        const { Viewer } = await import("./viewer.js");
        viewer ??= new Viewer(list, {
            go: lookAt,
            leave: () => places.leave(hashOf(view.find)),
            left: (index) => list.rows.length && table.focus(index),
        });
        viewer.show(view.file && join(view.folder, view.file), details);
        learn();
    } catch (error) {
        toast(explain(error), { failure: true });
    }
}

/** @param {'rename' | 'remove' | 'move' | 'copy' | 'details' | 'selected' | 'none'} what */
async function command(what) {
    if (what === "none") return deselect();
    if (what === "selected") return draw();
    if (what === "move" || what === "copy") return void actions.transfer(what, list.selected());
    const entries = list.selection.size ? list.selected() : table.active;
    const one = list.only(entries);
    if (what === "details") {
        const file = one?.type === "file" ? one : entries.find((entry) => entry.type === "file");
        if (file) lookAt(file);
        return showFile(Boolean(file));
    }
    if (what === "rename" && one && rights.has("write") && rights.has("remove")) await actions.rename(entries);
    if (what === "remove" && entries.length && rights.has("remove")) await actions.remove(entries);
    table.refocus();
}

/** @param {Entry} entry */
async function total(entry) {
    if (entry.total) return;
    entry.total = "counting";
    table.update();
    try {
        const answer = await request(`${address(entry.path, true)}?size`, { headers: { Accept: "application/json" } });
        const sum = entry.total = await answer.json();
        announce(`${shown(entry.name)}: ${size(sum.size)}, ${say("files", { n: sum.files })}`);
    } catch (error) {
        delete entry.total;
        toast(explain(error), { failure: true });
    }
    table.update();
}

/* Navigation. */

document.addEventListener("keydown", (event) => {
    const busy = /** @type {Element} */ (event.target).closest("input, textarea, select, dialog");
    if (busy === finder && event.key === "Escape" && !finder.value) table.refocus();
    if (busy === finder && event.key === "ArrowDown") table.refocus();
    if (!busy && event.altKey && event.key === "ArrowUp" && view.folder) {
        places.go(address(parentOf(view.folder), true));
    }
    if (!busy && event.key === "Escape" && list.selection.size) deselect();
    if (busy || event.key !== "/" || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    finder.focus();
});

function searchBelow() {
    const text = finder.value.trim();
    // The keyboard of a phone covers the hits.
    if (matchMedia("(pointer: coarse)").matches) finder.blur();
    places.go(text ? `${location.pathname}#find=${encodeURIComponent(text)}` : location.pathname);
}

/** Shows what the address asks for. */
function show() {
    const next = viewOf(location);
    const isSame = /** @type {const} */ (["folder", "find", "trash"]).every((key) => next[key] === view[key]);
    // The list stays when only what is looked at is another one.
    if (isSame && next.file !== view.file) {
        view = next;
        return showFile();
    }
    visit.abort();
    visit = new AbortController();
    const left = content.contains(document.activeElement) ? view.folder : undefined;
    view = next;
    view.trash &&= rights.has("remove");
    places.arrive();
    list.clear();
    learns = false;
    readings.reset();
    table.grid?.begin();
    viewer?.show("");
    list.find("");
    finder.value = view.find;
    table.folder = view.folder;
    problem.replaceChildren();
    notice.textContent = "";
    const { element, last } = crumbs(view.folder, view.trash);
    path.replaceChildren(element);
    title.textContent = last;
    document.title = `${last} – Transfer`;
    root.classList.toggle("elsewhere", view.trash);
    listing = !view.trash && rights.has("read");
    if (!rights.has("read")) {
        notice.textContent = say("writeOnly", { folder: `/${shown(view.folder)}` });
        return;
    }
    if (view.trash) content.replaceChildren(trashView({ trash, signal: visit.signal }));
    else content.replaceChildren(table.element);
    draw();
    announce(title.textContent ?? "");
    if (view.trash) return;
    // With the focus in the list, it stays there: on the folder that was left, or else on the first row.
    load().then(() => {
        if (left === undefined || document.activeElement !== document.body) return;
        const child = childFor(left);
        const index = list.rows.findIndex((entry) => entry.path === child);
        requestAnimationFrame(() => list.rows.length && table.focus(Math.max(0, index)));
    });
}

/**
 * Reads the list. A quiet reading shows nothing until it is complete, and then takes the place of the old list.
 * @param {boolean} [quiet]
 */
async function load(quiet = false) {
    if (view.trash || !rights.has("read") || (quiet && (listing || view.find))) return;
    const { signal } = visit;
    const pictures = needsPictures(list.sorting, view, table.cards);
    const url = listAddress(view, pictures);
    learns ||= pictures;
    listing = !quiet;
    problem.replaceChildren();
    try {
        const fresh = new List(list.sorting);
        if (quiet) recent = [];
        for await (const batch of entries(url, signal)) {
            if (signal.aborted) break;
            (quiet ? fresh : list).add(batch);
            if (!quiet) draw();
        }
        if (quiet && !signal.aborted) list.replace(fresh, recent);
    } catch (error) {
        if (signal === visit.signal && !signal.aborted) tellProblem(error, quiet);
    }
    if (signal !== visit.signal) return;
    listing = false;
    draw();
    if (!problem.hasChildNodes()) learn();
    if (quiet) return;
    announce(counts.textContent ?? "");
    if (!problem.hasChildNodes()) showFile();
}

/** Reads the list again while its order lacks dates: at once if the server has not been asked for them, else with pauses. */
function learn() {
    if (listing || !list.size || !needsPictures(list.sorting, view, table.cards)) return;
    if (!learns) load(true);
    else if (list.isUndescribed) readings.need();
}

/** Says why the list could not be read, with what can be done about it.
 * @param {unknown} error
 * @param {boolean} [quiet] - whether the old list is still there, and complete
 */
function tellProblem(error, quiet = false) {
    const { status, wait } = error instanceof Failure ? error : { status: 0, wait: 0 };
    const { signal } = visit;
    const again = () => {
        list.clear();
        load();
    };
    /** @type {[string, () => void]} */
    const answer = status === 401
        ? [say("reload"), () => location.reload()]
        : status === 404 && view.folder
        ? [say("up"), () => places.go(address(parentOf(view.folder), true))]
        : [say("again"), again];
    const words = [explain(error), list.size && !quiet ? say("incomplete", { n: list.size }) : ""];
    const button = h("button", { type: "button", onclick: answer[1] }, answer[0]);
    problem.replaceChildren(h("p", {}, words.join(" ")), button);
    if (status === 503) setTimeout(() => signal.aborted || !button.isConnected || again(), (wait || 5) * 1000);
    if (error instanceof Failure && error.result === "offline") {
        addEventListener("online", () => signal.aborted || !button.isConnected || again(), { once: true, signal });
    }
}

/* What other clients and the uploads of this page change. */

/** Children that are stored and may still be missing in the list; '' asks for a reading in any case. @type {Set<string>} */
const missing = new Set();
/** @type {number | undefined} */
let rereading;

/** Reads the list again, once for all reasons within a short time, in which the events of the server usually arrive.
 * @param {string} [child]
 */
function reread(child = "") {
    missing.add(child);
    rereading ??= setTimeout(() => {
        rereading = undefined;
        const needed = [...missing].some((path) => !list.has(path));
        missing.clear();
        if (needed) load(true);
    }, 1500);
}

/** The child of the folder that a path belongs to, or ''.
 * @param {string} path
 * @param {boolean} [found] - whether hits of a search count
 */
function childFor(path, found = false) {
    if ((view.find && !found) || view.trash || (view.folder && !path.startsWith(`${view.folder}/`))) return "";
    return join(view.folder, below(path, view.folder).split("/")[0]);
}

/** Entries of the folder that events have named, added together: there may be a thousand a second. @type {Entry[]} */
let arrived = [];
/** Those that came while the list is read again, whose reading may have passed their places. @type {Entry[]} */
let recent = [];

/** @param {any} upload - `transfer.upload/1` */
function committed({ storedPath, size, digest, kind }) {
    const path = storedPath && childFor(storedPath);
    if (!path || (path !== storedPath && list.has(path))) return;
    const modified = new Date().toISOString();
    const file = path === storedPath ? { type: "file", size, digest, kind } : { type: "directory" };
    if (arrived.push(entryOf({ path, modified, ...file })) > 1) return;
    setTimeout(() => {
        // The folder may have been left in between.
        const here = arrived.filter((entry) => childFor(entry.path) === entry.path);
        list.add(here);
        recent.push(...here);
        arrived = [];
        draw();
        learn();
    }, 200);
}

/** The event of the server usually comes first; without it the list is read again.
 * @param {string} path
 */
function onStored(path) {
    const child = childFor(path);
    if (child) reread(child);
}

build();
show();
if (rights.has("read")) follow({ committed, reset: () => reread() });
