// @ts-check
/** What can be done with entries: make, rename, move, copy, remove and restore them. */

import { ask, toast } from "./dialog.js";
import { h, icon, shown } from "./dom.js";
import { comparison } from "./list.js";
import { address, entries, entryOf, etag, explain, join, parentOf, reason, send } from "./server.js";
import { say } from "./words.js";

/** @typedef {import('./types.d.ts').Entry} Entry */
/** @typedef {import('./types.d.ts').Change} Change */
/** @typedef {import('./types.d.ts').Changed} Changed */

/** Numbers that are tried for a name that is taken. */
const mostNumbers = 50;
/** Folders that the chooser shows; more are found by their path. */
const mostFolders = 1000;

/**
 * A path with a number before the extension: `a.txt` becomes `a-1.txt`.
 * @param {string} path
 * @param {number} number
 * @param {boolean} [folder] - a folder has no extension
 */
export function numbered(path, number, folder = false) {
    const name = path.slice(path.lastIndexOf("/") + 1);
    const dot = folder ? -1 : name.lastIndexOf(".");
    const end = dot > 0 ? path.length - name.length + dot : path.length;
    return `${path.slice(0, end)}-${number}${path.slice(end)}`;
}

/** The reason why a name cannot be used, or ''.
 * @param {string} name
 */
export function wrongName(name) {
    if (!name.trim()) return say("name.empty");
    if (/[/\0]/.test(name) || name === "." || name === "..") return say("name.wrong");
    return new TextEncoder().encode(name).length > 255 ? say("name.long") : "";
}

/**
 * Sends changes until each has been completed, refused or skipped. Conflicts are asked about once for all.
 * @param {Change[]} changes
 * @param {(conflicts: number) => Promise<string>} decide - answers `replace`, `both`, `skip` or ''
 * @param {{transmit?: typeof send, folders?: Set<string>}} [options]
 */
export async function perform(changes, decide, { transmit = send, folders = new Set() } = {}) {
    /** @type {{change: Change, answer: Changed}[]} */
    const completed = [];
    /** @type {{change: Change, answer: Changed}[]} */
    const failed = [];
    /** @type {Change[]} */
    let skipped = [];
    let decision = "";
    let open = changes.map((change) => ({ change, target: change.target ?? change.path }));
    for (let round = 1; open.length; round++) {
        const answers = await transmit(open.map(({ change }) => change));
        /** @type {typeof open} */
        const conflicts = [];
        open.forEach((item, index) => {
            const answer = answers[index];
            const { change } = item;
            const avoidable = change.change !== "mkdir" && change.change !== "remove" && !change.replace;
            if (answer.result === "completed") completed.push({ change, answer });
            else if (answer.result === "pathConflict" && avoidable && round < mostNumbers) conflicts.push(item);
            else failed.push({ change, answer });
        });
        if (conflicts.length) decision ||= (await decide(conflicts.length)) || "skip";
        if (decision === "skip") {
            skipped = conflicts.map(({ change }) => change);
            break;
        }
        open = conflicts.map(({ change, target }) => ({
            target,
            change: decision === "replace"
                ? { ...change, replace: true }
                : { ...change, target: numbered(target, round, folders.has(change.path)) },
        }));
    }
    return { completed, failed, skipped };
}

/** Asks what to do with names that are taken. Replacing is offered only where the trash keeps what is replaced.
 * @param {boolean} trash
 * @returns {(conflicts: number) => Promise<string>}
 */
export function decideWith(trash) {
    return (conflicts) =>
        ask({
            title: say("conflict", { n: conflicts }),
            body: [h("p", {}, say(trash ? "conflict.trash" : "conflict.keep"))],
            answers: [
                { value: "both", label: say("keepBoth") },
                ...(trash ? [{ value: "replace", label: say("replace") }] : []),
                { value: "skip", label: say("skip") },
            ],
        });
}

/** What sends several changes. Files that belong together are changed together.
 * @returns {Promise<typeof send>}
 */
export const sender = () => import("./together.js").then(({ together }) => together, () => send);

/** Says which changes were not made, and why.
 * @param {{change: Change, answer: Changed}[]} failed
 */
export function tellFailures(failed) {
    if (!failed.length) return;
    const told = failed.slice(0, 4).map(({ change, answer }) =>
        `${shown(change.path.slice(change.path.lastIndexOf("/") + 1))}: ${reason(answer)}`
    );
    if (failed.length > told.length) told.push(say("andMore", { n: failed.length - told.length }));
    toast([say("notDone", { n: failed.length }), ...told], { failure: true });
}

/**
 * @typedef {object} Place
 * @property {import('./list.js').List} list
 * @property {() => string} folder
 * @property {(path: string) => boolean} shows - whether a path belongs into the list
 * @property {boolean} trash - whether the server keeps what is replaced
 * @property {() => void} changed - the list has changed
 * @property {() => void} reload - the list has to be read again
 */

export class Actions {
    /** @param {Place} place */
    constructor(place) {
        this.place = place;
    }

    /** Sends changes, brings the list up to date and tells the outcome.
     * @param {Change[]} changes
     * @param {string} done - key of the sentence for success
     * @param {Entry[]} [about] - the entries that are changed
     */
    async run(changes, done, about = []) {
        const { list, shows, trash } = this.place;
        const byPath = new Map(about.map((entry) => [entry.path, entry]));
        const folders = new Set(about.filter((entry) => entry.type === "directory").map((entry) => entry.path));
        const transmit = changes.length > 1 ? await sender() : send;
        const { completed, failed, skipped } = await perform(changes, decideWith(trash), { transmit, folders });
        /** @type {Entry[]} */
        const fresh = [];
        /** @type {string[]} */
        const gone = [];
        for (const { change } of completed) {
            const path = change.target ?? change.path;
            const before = byPath.get(change.path);
            if (change.change === "remove" || change.change === "move") gone.push(change.path);
            if (change.change === "remove" || !shows(path)) continue;
            if (before) fresh.push({ ...entryOf({ ...before, path }), total: before.total });
            else if (change.change === "mkdir") fresh.push(entryOf({ path, type: "directory", modified: now() }));
        }
        list.remove(gone);
        list.add(fresh);
        this.place.changed();
        if (completed.length) {
            const undo = completed.map(({ change, answer }) => reverse(change, answer)).reverse();
            const whole = /** @type {Change[]} */ (undo.filter(Boolean));
            toast(
                say(done, { n: completed.length, folder: shown(parentOf(completed[0].change.target ?? "")) || "/" }) +
                    (skipped.length ? ` ${say("skipped", { n: skipped.length })}` : ""),
                whole.length === undo.length ? { label: say("undo"), action: () => this.undo(whole) } : {},
            );
        }
        tellFailures(failed);
        if (failed.length) this.place.reload();
        return completed.length;
    }

    /** @param {Change[]} changes */
    async undo(changes) {
        const transmit = changes.length > 1 ? await sender() : send;
        const { completed, failed } = await perform(changes, decideWith(this.place.trash), { transmit });
        tellFailures(failed);
        if (completed.length) toast(say("undone", { n: completed.length }));
        this.place.reload();
    }

    async makeFolder() {
        const name = await askName(say("newFolder"), "", say("make"));
        if (name) await this.run([{ change: "mkdir", path: join(this.place.folder(), name) }], "made");
    }

    /** Renames an entry, or files that differ in their extensions only, and keep these.
     * @param {Entry[]} files
     */
    async rename(files) {
        const n = files.length;
        const ends = files.map(({ name }) => n > 1 ? name.slice(name.lastIndexOf(".")) : "");
        const old = files[0].name.slice(0, files[0].name.length - ends[0].length);
        const title = say("renameOne", { name: shown(old) }) + (n > 1 ? ` (${say("files", { n })})` : "");
        const name = await askName(title, old, say("rename"), ends);
        if (!name || name === old) return;
        const changes = files.map((entry, at) => ({
            change: /** @type {const} */ ("move"),
            path: entry.path,
            target: join(parentOf(entry.path), name + ends[at]),
            ...condition(entry),
        }));
        await this.run(changes, "renamed", files);
    }

    /**
     * @param {'move' | 'copy'} change
     * @param {Entry[]} chosen
     */
    async transfer(change, chosen) {
        const title = say(change === "move" ? "moveTo" : "copyTo", { n: chosen.length });
        const folder = await chooseFolder(title, say(change), this.place.folder(), (path) => {
            if (chosen.some((entry) => path === entry.path || path.startsWith(`${entry.path}/`))) return say("inside");
            return change === "move" && chosen.every((entry) => parentOf(entry.path) === path) ? say("already") : "";
        });
        if (folder === null) return;
        const changes = chosen.map((entry) => ({
            change,
            path: entry.path,
            target: join(folder, entry.name),
            ...(change === "move" ? condition(entry) : {}),
        }));
        await this.run(changes, change === "move" ? "moved" : "copied", chosen);
    }

    /** @param {Entry[]} chosen */
    async remove(chosen) {
        const changes = chosen.map((entry) => ({
            change: /** @type {const} */ ("remove"),
            path: entry.path,
            ...(entry.type === "directory" ? { recursive: true } : condition(entry)),
        }));
        await this.run(changes, "removed", chosen);
    }
}

function now() {
    return new Date().toISOString();
}

/** The condition that a file is still what the list shows. @param {Entry} entry */
function condition(entry) {
    const tag = entry.type === "file" ? etag(entry) : undefined;
    return tag ? { etag: tag } : {};
}

/** The change that undoes another one, or undefined if there is none.
 * @param {Change} change
 * @param {Changed} answer
 * @returns {Change | undefined}
 */
export function reverse(change, answer) {
    if (change.change === "remove" && answer.trash) {
        return { change: "restore", trash: answer.trash, path: change.path };
    }
    if (change.change === "move" && change.target && !change.replace) {
        return {
            change: "move",
            path: change.target,
            target: change.path,
            ...(change.etag ? { etag: change.etag } : {}),
        };
    }
}

/**
 * Asks for a name. The part before the extension is selected, because that is what people change.
 * @param {string} title
 * @param {string} name
 * @param {string} label
 * @param {string[]} [ends] - what is added to the name
 */
async function askName(title, name, label, ends = [""]) {
    const field = h("input", { value: name, "aria-label": say("name"), autofocus: true, autocomplete: "off" });
    const dot = ends[0] ? 0 : name.lastIndexOf(".");
    setTimeout(() => field.setSelectionRange(0, dot > 0 ? dot : name.length));
    const answer = await ask({
        title,
        body: [field],
        answers: [{ value: "yes", label }],
        check: () => ["", ...ends].map((end) => wrongName(field.value + end)).find(Boolean) ?? "",
    });
    return answer && field.value;
}

/**
 * Asks for a folder.
 * @param {string} title
 * @param {string} label
 * @param {string} start
 * @param {(path: string) => string} refuse - the reason why a folder cannot be taken, or ''
 * @returns {Promise<string | null>}
 */
async function chooseFolder(title, label, start, refuse) {
    let here = start;
    let controller = new AbortController();
    const where = h("p", { class: "here" });
    const status = h("p", { role: "status", class: "dim" });
    const choices = h("ul", { class: "folders" });
    const make = h(
        "button",
        { type: "button", class: "plain", onclick: () => makeHere() },
        icon("newFolder"),
        say("newFolder"),
    );

    /** @param {string} path @param {string} name @param {string} look */
    const choice = (path, name, look) =>
        h(
            "li",
            {},
            h("button", { type: "button", class: "plain", onclick: () => go(path) }, icon(look), h("bdi", {}, name)),
        );

    /** @param {string} path */
    async function go(path) {
        controller.abort();
        controller = new AbortController();
        const { signal } = controller;
        here = path;
        where.textContent = `/${shown(path)}`;
        status.textContent = say("loading");
        choices.replaceChildren();
        if (path) choices.append(choice(parentOf(path), say("up"), "up"));
        try {
            /** @type {Entry[]} */
            const folders = [];
            for await (const batch of entries(address(path, true), signal)) {
                folders.push(...batch.filter((entry) => entry.type === "directory"));
            }
            folders.sort(comparison({ key: "name", down: false }));
            choices.append(
                ...folders.slice(0, mostFolders).map((entry) => choice(entry.path, shown(entry.name), "folder")),
            );
            const more = folders.length - mostFolders;
            status.textContent = more > 0 ? say("andMore", { n: more }) : folders.length ? "" : say("noFolders");
        } catch (error) {
            if (!signal.aborted) status.textContent = explain(error);
        }
    }

    async function makeHere() {
        const name = await askName(say("newFolder"), "", say("make"));
        if (!name) return;
        const [answer] = await send([{ change: "mkdir", path: join(here, name) }]);
        if (answer.result === "completed") await go(join(here, name));
        else status.textContent = reason(answer);
    }

    go(start);
    const answer = await ask({
        title,
        body: [where, choices, status, make],
        answers: [{ value: "yes", label }],
        check: () => refuse(here),
    });
    controller.abort();
    return answer ? here : null;
}
