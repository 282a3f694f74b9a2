// @ts-check
/** The trash: batches of what was removed or replaced together, each of which can be restored as a whole or in part. */

import { decideWith, perform, sender, tellFailures } from "./actions.js";
import { announce, toast } from "./dialog.js";
import { h, icon, shown } from "./dom.js";
import { size, time } from "./format.js";
import { kindOf } from "./list.js";
import { address, entries, explain, request, send } from "./server.js";
import { say } from "./words.js";

/** @typedef {import('./types.d.ts').Entry} Entry */
/** @typedef {import('./types.d.ts').Change} Change */

/** Batches, and entries of a folder in a batch, that are shown at once. */
const page = 100;

/** @param {string} batch @param {string} folder */
function source(batch, folder) {
    return address(`.transfer/trash/${batch}${folder && `/${folder}`}`, true);
}

/**
 * Restores entries of a batch. A folder that exists again cannot be restored over itself, so its content is restored
 * one by one.
 * @param {string} batch
 * @param {Entry[]} chosen
 * @param {(conflicts: number) => Promise<string>} decide
 * @param {{read?: typeof entries, transmit?: typeof send}} [server]
 */
export async function restore(batch, chosen, decide, { read = entries, transmit = send } = {}) {
    /** @type {Change[]} */
    const conflicts = [];
    let completed = 0;
    /** @type {Awaited<ReturnType<typeof perform>>['failed']} */
    const failed = [];
    for (let open = chosen; open.length;) {
        /** @type {Change[]} */
        const changes = open.map(({ path }) => ({ change: "restore", trash: batch, path }));
        const answers = await transmit(changes);
        /** @type {Entry[]} */
        const below = [];
        for (const [index, answer] of answers.entries()) {
            if (answer.result === "completed") completed++;
            else if (answer.result !== "pathConflict") failed.push({ change: changes[index], answer });
            else if (open[index].type === "file") conflicts.push(changes[index]);
            else {
                try {
                    for await (const found of read(source(batch, open[index].path))) below.push(...found);
                } catch (error) {
                    failed.push({ change: changes[index], answer: { ...answer, result: "", message: explain(error) } });
                }
            }
        }
        open = below;
    }
    if (!conflicts.length) return { completed, failed, skipped: 0 };
    const rest = await perform(conflicts, decide, { transmit });
    return {
        completed: completed + rest.completed.length,
        failed: [...failed, ...rest.failed],
        skipped: rest.skipped.length,
    };
}

/**
 * The view of the trash.
 * @param {{trash: boolean, signal: AbortSignal}} options
 */
export function trashView({ trash, signal }) {
    const status = h("p", { role: "status" }, say("loading"));
    const batches = h("div", { class: "batches" });

    /** @param {string} batch @param {Entry[]} chosen @param {HTMLElement} part */
    async function bringBack(batch, chosen, part) {
        part.inert = true;
        try {
            const { completed, failed, skipped } = await restore(batch, chosen, decideWith(trash), {
                transmit: await sender(),
            });
            tellFailures(failed);
            if (skipped) announce(say("skipped", { n: skipped }));
            if (completed) toast(say("restored", { n: completed }));
            if (completed && !failed.length && !skipped) part.remove();
        } catch (error) {
            toast(explain(error), { failure: true });
        }
        part.inert = false;
    }

    /** The content of a folder in a batch, read when it is opened.
     * @param {string} batch
     * @param {string} folder
     * @param {HTMLElement} whole - the element that goes when all of it has been restored
     */
    function content(batch, folder, whole) {
        const note = h("p", { class: "dim" }, say("loading"));
        const rows = h("ul", {});
        /** @type {Entry[]} */
        const found = [];
        const read = async () => {
            try {
                for await (const part of entries(source(batch, folder), signal)) found.push(...part);
                note.textContent = !found.length
                    ? say("empty")
                    : found.length > page
                    ? say("andMore", { n: found.length - page })
                    : "";
                button.hidden = Boolean(folder) || !found.length;
                rows.append(...found.slice(0, page).map((entry) => row(batch, entry)));
            } catch (error) {
                note.textContent = explain(error);
            }
        };
        const all = () => bringBack(batch, found, whole);
        const button = h("button", { type: "button", onclick: all, hidden: true }, icon("undo"), say("restoreAll"));
        return { read, element: h("div", {}, rows, note, button) };
    }

    /**
     * @param {HTMLElement} summary
     * @param {(whole: HTMLElement) => {read: () => void, element: HTMLElement}} inside
     * @returns {HTMLDetailsElement}
     */
    function opening(summary, inside) {
        const element = h("details", {
            ontoggle: () => {
                if (element.childElementCount > 1) return;
                const { read, element: rows } = inside(element);
                element.append(rows);
                read();
            },
        }, summary);
        return element;
    }

    /** @param {string} batch @param {Entry} entry */
    function row(batch, entry) {
        const name = h("bdi", {}, shown(entry.name));
        const folder = entry.type === "directory";
        const button = h("button", {
            type: "button",
            onclick: () => bringBack(batch, [entry], line),
            "aria-label": say("restoreOne", { name: shown(entry.name) }),
        }, say("restore"));
        /** @type {HTMLLIElement} */
        const line = h(
            "li",
            {},
            folder
                ? opening(h("summary", {}, icon("folder"), name), () => content(batch, entry.path, line))
                : h("span", {}, icon(kindOf(entry)), name, h("span", { class: "dim" }, size(entry.size ?? 0))),
            button,
        );
        return line;
    }

    async function load() {
        try {
            const answer = await request("/.transfer/trash/", { headers: { Accept: "application/json" }, signal });
            /** @type {{batch: string, removed: string}[]} */
            const all = await answer.json();
            status.textContent = say(all.length ? "trash.count" : "trash.empty", { n: all.length });
            const more = h("button", { type: "button", onclick: () => show() }, say("more"));
            const show = () => {
                const next = all.splice(0, page).map(({ batch, removed }) =>
                    opening(
                        h("summary", {}, h("time", { datetime: removed, title: removed }, time(new Date(removed)))),
                        (whole) => content(batch, "", whole),
                    )
                );
                more.remove();
                batches.append(...next, ...(all.length ? [more] : []));
                const first = /** @type {HTMLDetailsElement | undefined} */ (next[0]);
                if (first) first.open = true;
            };
            show();
        } catch (error) {
            if (signal.aborted) return;
            status.replaceChildren(explain(error), " ", h("button", { type: "button", onclick: load }, say("again")));
        }
    }
    load();
    return h("section", { class: "trash", "aria-label": say("trash") }, h("p", {}, say("trash.what")), status, batches);
}
