// @ts-check
/**
 * Uploads from the page: what the user chooses, drops and pastes goes to the queue, and the panel shows what becomes of
 * it.
 */

import { joined, parted } from "./digest.js";
import { h, icon } from "./dom.js";
import { Glance } from "./glance.js";
import { Panel } from "./panel.js";
import { Queue } from "./queue.js";
import { Row } from "./row.js";
import { Ahead, newKey, Store } from "./store.js";
import { Job, send } from "./tus.js";
import { fromClipboard, fromDrop, fromInput } from "./walk.js";
import { word } from "./words-upload.js";

/** Rows that are added in one task, and rows whose handles are kept while they wait. */
const CHUNK = 500, KEPT = 500;

/** Milliseconds after which an upload goes on although the browser has not said that it is kept. */
const KEEPING = 1000;

const isPhone = matchMedia("(pointer: coarse)").matches && !matchMedia("(any-pointer: fine)").matches;
const store = new Store(document.documentElement.dataset.name ?? "");

/** Deletes what the browser keeps of uploads; for the end of a session. */
export const clearUploads = () => store.clear();

/**
 * @typedef {File | {file: File, path: string} | import("./walk.js").Item} Given
 *
 * @param {object} page
 * @param {() => string} page.folder the folder that the page shows, without a leading slash
 * @param {string} page.rights
 * @param {(text: string) => void} page.announce
 * @param {(path: string) => void} page.onStored
 */
export function startUploads({ folder, rights, announce, onStored }) {
    const mayRead = rights.split(" ").includes("read"), mayWrite = rights.split(" ").includes("write");
    /** By their keys, because a row takes over the record of an earlier one. @type {Map<string, import("./store.js").Kept>} */
    const records = new Map();
    const queue = new Queue({
        send,
        later: (f, milliseconds) => setTimeout(f, milliseconds),
        changed: () => {
            panel.changed();
            glance.changed();
        },
        onStored,
        keep: (row) => Promise.race([keep(row), new Promise((resolve) => setTimeout(resolve, KEEPING))]),
        forget,
        isPhone,
        mayRead,
    });
    const ahead = new Ahead(store, /** @type {any} */ (navigator).deviceMemory ?? 0);
    /** Additions under way. */
    let adding = 0;
    const panel = new Panel(queue, {
        announce,
        isPhone,
        resume,
        choose: (row) => pick({}, (files) => chosenAgain(row, files)),
    });

    const glance = new Glance({
        mayRead,
        isFree: () => !adding && queue.isIdle,
        visible: () => panel.visible,
        rows: () => queue.rows,
        changed: () => panel.changed(),
        later: (f, milliseconds) => setTimeout(f, milliseconds),
    });

    /** Keeps the server from being asked about pictures while something is added. @param {() => Promise<void>} work */
    async function whileAdding(work) {
        adding++;
        await work().finally(() => adding--);
        glance.changed();
    }

    /** Begins uploads. @param {Given[]} items @param {string} [to] folder */
    function add(
        items,
        to = folder(),
        batch = /** @type {{policy: string, isAgain?: boolean}} */ ({ policy: "" }),
    ) {
        return whileAdding(async () => {
            if (!mayWrite) return;
            for (let at = 0; at < items.length; at += CHUNK) {
                if (at) await queue.breathe();
                const rows = queue.add(items.slice(at, at + CHUNK).map(itemOf), to, batch);
                for (const row of rows) if (row.source?.handle && records.size < KEPT) keep(row);
                if (isPhone) await secure(rows);
            }
        });
    }

    /** @param {Row} row @param {boolean} [isCopied] */
    function keep(row, isCopied = records.get(row.record)?.isCopied) {
        row.record ||= newKey(row);
        const { record: key, folder, path, policy, size, modified, job, source } = row;
        const { url = "", address = "", offset = 0 } = job ?? {};
        const blocks = joined(job ? [...job.tree.blocks, ...job.known.slice(job.tree.blocks.length)] : []);
        const handle = /** @type {FileSystemFileHandle | undefined} */ (source?.handle);
        const place = {
            key,
            session: store.session,
            page: store.page,
            time: Date.now(),
            folder,
            path,
            policy,
            size,
            modified,
        };
        const record = { ...place, url, address, offset, blocks, isCopied, ...(handle ? { handle } : {}) };
        records.set(key, record);
        return store.put(record);
    }

    /** @param {Row} row */
    function forget(row) {
        if (row.record) store.remove(row.record, records.get(row.record)?.isCopied);
        records.delete(row.record);
        row.record = "";
    }

    /** Copies what a phone could soon refuse to read, or lose with the tab. @param {Row[]} rows */
    async function secure(rows) {
        for (const row of rows) {
            if (!await ahead.take(row)) continue;
            keep(row, true);
            if (row.isOver) forget(row);
        }
    }

    /** Shows the uploads that an earlier page has left. @param {import("./store.js").Kept[]} left */
    function restore(left) {
        for (const record of left) {
            const { key, folder, path, policy, size, modified, url, address, offset, blocks, handle, isCopied } =
                record;
            const source = isCopied ? { handle: { getFile: () => store.copied(record) } } : handle ? { handle } : null;
            const row = new Row(folder, path, source, { policy: "" });
            Object.assign(row, { record: key, policy, size, modified, sent: offset, mark: offset });
            if (address) {
                row.job = Object.assign(new Job(url, path), { address, offset, known: parted(blocks), isUnsure: true });
            }
            row.isLooked = row.job !== null;
            if (row.job || row.source) {
                records.set(key, record);
                queue.restore(row);
            }
        }
        panel.changed();
    }

    /** Goes on with the uploads of an earlier page whose files the browser can open again. */
    async function resume() {
        for (const row of queue.rows.filter(({ state, source }) => state === "choose" && source)) {
            const handle = /** @type {any} */ (row.source?.handle);
            const answer = await handle?.requestPermission?.({ mode: "read" }).catch(() => "denied");
            if (answer === undefined || answer === "granted") queue.retry(row);
        }
    }

    /** @param {Row | null} row null for all that wait to be chosen again @param {File[]} files */
    function chosenAgain(row, files) {
        if (row && files[0]) queue.replace(row, files[0]);
        if (!row) add(files, folder(), { policy: "", isAgain: true });
    }

    // MARK: Choosing

    /** @param {Record<string, string>} properties of the input @param {(files: File[]) => void} use */
    function pick(properties, use) {
        // Without `accept`, phones give the original and no converted copy.
        const input =
            /** @type {HTMLInputElement} */ (h("input", { type: "file", multiple: true, hidden: true, ...properties }));
        const end = () => input.remove();
        input.addEventListener("cancel", end);
        input.addEventListener("change", () => {
            use(Array.from(input.files ?? []));
            end();
        });
        document.body.append(input);
        input.click();
    }

    async function chooseFiles() {
        const open = /** @type {any} */ (globalThis).showOpenFilePicker;
        if (!open || isPhone) return pick({}, (files) => add(files));
        try {
            /** @type {FileSystemFileHandle[]} */
            const handles = await open({ multiple: true });
            add(handles.map((handle) => ({ path: handle.name, source: { handle } })));
        } catch (error) {
            if (!(error instanceof DOMException && error.name === "AbortError")) pick({}, (files) => add(files));
        }
    }

    /** @param {string} key @param {string} drawing @param {() => void} onclick */
    const button = (key, drawing, onclick) =>
        h("button", { type: "button", hidden: !mayWrite, onclick }, icon(drawing), h("span", {}, word(key)));
    const fileButton = button("chooseFiles", "file", chooseFiles);
    const folderButton = button(
        "chooseFolder",
        "folder",
        () => pick({ webkitdirectory: "" }, (files) => add(fromInput(files))),
    );
    const cameraButton = button(
        "camera",
        "picture",
        () => pick({ accept: "image/*", capture: "environment" }, (files) => add(files)),
    );
    if (!isPhone) cameraButton.hidden = true;

    // MARK: Dropping and pasting

    /** @param {DragEvent} event */
    const hasFiles = ({ dataTransfer }) => mayWrite && Array.from(dataTransfer?.types ?? []).includes("Files");
    const mark = (/** @type {boolean} */ isOver) => document.body.classList.toggle("dropping", isOver);
    addEventListener("dragover", (event) => {
        if (!hasFiles(event)) return;
        event.preventDefault();
        mark(true);
    });
    addEventListener("dragleave", ({ relatedTarget }) => relatedTarget || mark(false));
    addEventListener("drop", async (event) => {
        mark(false);
        // A part of the page that takes the drop for itself has prevented the default.
        if (!hasFiles(event) || event.defaultPrevented || !event.dataTransfer) return;
        event.preventDefault();
        await addDrop(event.dataTransfer, folder());
    });

    /** @param {DataTransfer} transfer @param {string} to folder */
    async function addDrop(transfer, to) {
        const batch = { policy: "" };
        await whileAdding(async () => {
            for await (const items of fromDrop(transfer)) await add(items, to, batch);
        });
    }

    addEventListener("paste", (event) => {
        const target = /** @type {Element | null} */ (event.target);
        const isField = target?.closest?.("input, textarea, select, [contenteditable]") != null;
        if (!event.clipboardData || !mayWrite) return;
        const items = fromClipboard(event.clipboardData, new Date(), word("pasted"), isField);
        if (!items.length) return;
        event.preventDefault();
        add(items);
    });

    // MARK: Going on

    /** @type {{release: () => Promise<void>} | null} */
    let lock = null;
    let isAsking = false;

    /**
     * Keeps the screen on while something travels: phones stop requests when it goes dark, and take the lock from
     * hidden pages.
     */
    async function stayAwake() {
        if (!queue.isSending || document.hidden) {
            lock?.release().catch(() => {});
            lock = null;
        } else if (!lock && !isAsking) {
            isAsking = true;
            lock = await navigator.wakeLock?.request("screen").catch(() => null) ?? null;
            isAsking = false;
        }
    }

    let last = Date.now();
    setInterval(() => {
        const seconds = (Date.now() - last) / 1000;
        last = Date.now();
        // A clock that has jumped shows that the machine has slept.
        if (seconds > 10) queue.wake();
        if (!queue.rows.length) return;
        queue.tick(seconds);
        panel.changed();
        stayAwake();
    }, 1000);
    addEventListener("online", () => queue.wake());
    document.addEventListener("visibilitychange", () => {
        lock = null;
        if (!document.hidden) queue.wake();
        stayAwake();
    });
    addEventListener("beforeunload", (event) => queue.isBusy && !store.isOver && event.preventDefault());
    if (mayWrite) store.left(restore);

    return {
        add,
        addDrop,
        fileButton,
        folderButton,
        cameraButton,
        element: panel.element,
        get busy() {
            return queue.isBusy;
        },
    };
}

/** @param {Given} given @returns {import("./walk.js").Item} */
function itemOf(given) {
    if (given instanceof File) return fromInput([given])[0];
    return "source" in given ? given : { path: given.path, source: { file: given.file } };
}
