// @ts-check
/**
 * What the browser keeps of uploads for the time after a reload: in IndexedDB where each stands, and in the private
 * file system copies of
 * photos that still wait. All of it may be missing or fail, as in private windows; then only the going on after a
 * reload is lost.
 */

/** @typedef {import("./row.js").Row} Row */

/**
 * @typedef {object} Kept
 * @property {string} key
 * @property {string} session name of the client: another one on the same computer neither sees nor continues these
 *     uploads
 * @property {string} page
 * @property {number} time
 * @property {string} folder
 * @property {string} path
 * @property {string} policy
 * @property {number} size
 * @property {number} modified
 * @property {string} url
 * @property {string} address
 * @property {number} offset
 * @property {Uint8Array} blocks digests of the blocks that were read, joined
 * @property {FileSystemFileHandle} [handle]
 * @property {boolean} [isCopied] whether the private file system has the content, under the key
 */

/** Milliseconds after which a record is of no use. */
const AGE = 30 * 86_400_000;

/** Milliseconds after which no page that is open can still be about to record a copy. */
const UNRECORDED = 86_400_000;

/** Without locks, which need a secure context, a record that was written so short ago may be of a page that is open. */
const OPEN = 120_000;

/** @param {Kept} record */
const isLeft = ({ time }) => navigator.locks !== undefined || Date.now() - time > OPEN;

/** Bytes of a photo, and of all photos, that are copied. */
const COPY = 16 << 20, COPIES = 256 << 20;

/** Name of the channel on which one tab tells the others that a session has signed out. */
const CHANNEL = "transfer.out";

/** Bytes of a file, and of all files, that are read into memory. */
const AHEAD = 32 << 20, ALL_AHEAD = 64 << 20;

/** Gigabytes of a phone's memory below which it reads nothing ahead; browsers that do not tell it count as such. */
const ENOUGH = 4;

export class Store {
    /** @type {Promise<IDBDatabase | null>} */
    #database;
    /** Bytes of the copies that are there, by their keys. @type {Map<string, number>} */
    #copied = new Map();
    /** Whether the session has signed out: nothing is kept any more. */
    isOver = false;
    #channel = globalThis.BroadcastChannel && new BroadcastChannel(CHANNEL);
    page = `transfer-upload-${Date.now()}-${Math.random()}`;

    /** @param {string} session */
    constructor(session) {
        this.session = session;
        this.#database = open();
        if (this.#channel) {
            this.#channel.onmessage = ({ data }) => data === session && this.#end();
        }
        navigator.locks?.request(this.page, () => new Promise(() => {})).catch(() => {});
    }

    /**
     * Finds what other pages have left, as soon as they are closed.
     * @param {(records: Kept[]) => void} use
     */
    async left(use) {
        const isOld = (/** @type {Kept} */ { time }) => Date.now() - time > AGE;
        // Those of other sessions too, which may never come back.
        for (const { key, isCopied } of (await this.#all()).filter(isOld)) await this.remove(key, isCopied);
        await this.#sweep(Date.now() - UNRECORDED);
        const own = await this.#own();
        for (const { key, size, isCopied } of own) if (isCopied) this.#copied.set(key, size);
        for (const page of new Set(own.map(({ page }) => page))) {
            const look = async () =>
                use((await this.#own()).filter((record) => record.page === page && isLeft(record)));
            // Each page holds the lock of its name until its end.
            if (navigator.locks) navigator.locks.request(page, look).catch(() => {});
            else look();
        }
    }

    /** @returns {Promise<Kept[]>} */
    async #all() {
        return await this.#run("readonly", (uploads) => uploads.getAll()) ?? [];
    }

    async #own() {
        return (await this.#all()).filter(({ session }) => session === this.session);
    }

    /** @param {Kept} record */
    async put(record) {
        if (this.isOver) return;
        // A handle of an old browser may not be storable; the rest is.
        const isKept = await this.#run("readwrite", (uploads) => uploads.put(record));
        if (isKept === null && record.handle && !this.isOver) {
            await this.#run("readwrite", (uploads) => uploads.put({ ...record, handle: undefined }));
        }
    }

    /** @param {string} key @param {boolean} [isCopied] */
    async remove(key, isCopied) {
        await this.#run("readwrite", (uploads) => uploads.delete(key));
        if (isCopied) await this.removeCopy(key);
    }

    /** Removes everything of the session, whose uploads in this and other tabs may still be under way. */
    async clear() {
        this.#channel?.postMessage(this.session);
        await this.#end();
    }

    async #end() {
        this.isOver = true;
        for (const { key, isCopied } of await this.#own()) await this.remove(key, isCopied);
        await this.#sweep(Date.now());
        this.#copied.clear();
    }

    /** Removes the copies without a record, which pages have left that ended between the two. @param {number} before time in milliseconds */
    async #sweep(before) {
        const used = new Set((await this.#all()).map(({ key }) => name(key)));
        try {
            const folder = await copies();
            for await (const copy of /** @type {any} */ (folder).keys()) {
                if (!used.has(copy) && parseInt(copy) <= before) await folder.removeEntry(copy);
            }
        } catch {
            // The browser has no private file system.
        }
    }

    /**
     * @param {string} key
     * @param {File} file
     * @returns {Promise<boolean>} whether the file was small enough and is copied
     */
    async copy(key, file) {
        const all = [...this.#copied.values()].reduce((sum, size) => sum + size, file.size);
        if (this.isOver || file.size > COPY || all > COPIES) return false;
        this.#copied.set(key, file.size);
        try {
            const handle = await (await copies()).getFileHandle(name(key), { create: true });
            const writer = await handle.createWritable();
            await writer.write(file);
            await writer.close();
            if (!this.isOver) return true;
        } catch {
            // The browser has no private file system, or no room in it.
        }
        await this.removeCopy(key);
        return false;
    }

    /** @param {string} key */
    async removeCopy(key) {
        this.#copied.delete(key);
        await copies().then((folder) => folder.removeEntry(name(key))).catch(() => {});
    }

    /** @param {Kept} record @returns {Promise<File>} with the name and time of the original */
    async copied({ key, path, modified }) {
        const handle = await (await copies()).getFileHandle(name(key));
        return new File([await handle.getFile()], path, { lastModified: modified });
    }

    /**
     * @template T
     * @param {IDBTransactionMode} mode @param {(uploads: IDBObjectStore) => IDBRequest<T>} work
     * @returns {Promise<T | null>} null if the browser keeps nothing
     */
    async #run(mode, work) {
        const database = await this.#database;
        try {
            return await new Promise((resolve, reject) => {
                if (!database) return resolve(null);
                const transaction = database.transaction("uploads", mode);
                const request = work(transaction.objectStore("uploads"));
                // Before that, the end of the page takes back what was written.
                transaction.oncomplete = () => resolve(request.result);
                transaction.onabort = () => reject(transaction.error);
            });
        } catch {
            return null;
        }
    }
}

/** Takes the content of chosen files at once: the right to read one may end, and its tab may be lost. */
export class Ahead {
    /** Rows whose files are in memory. @type {Set<Row>} */
    #held = new Set();

    /** @param {Store} store @param {number} memory gigabytes that the browser tells */
    constructor(store, memory) {
        this.store = store;
        this.memory = memory;
    }

    /** @param {Row} row @returns {Promise<boolean>} whether the private file system has a copy, which needs a record */
    async take(row) {
        const file = row.source?.file;
        if (!file || file.size > AHEAD || row.isSettled) return false;
        row.record ||= newKey(row);
        [row.size, row.modified] = [file.size, file.lastModified];
        const isPhoto = /\.(jpe?g|hei[cf]|png|dng|avif|webp)$/i.test(file.name);
        const { record } = row;
        if (isPhoto && await this.store.copy(record, file)) {
            if (row.record === record) return true;
            // Meanwhile the row was stored, removed, or joined with an upload of an earlier page.
            await this.store.removeCopy(record);
            return false;
        }
        for (const one of this.#held) if (one.isOver) this.#held.delete(one);
        const all = [...this.#held].reduce((sum, { size }) => sum + size, file.size);
        if (this.memory < ENOUGH || all > ALL_AHEAD) return false;
        this.#held.add(row);
        const bytes = await file.arrayBuffer().catch(() => null);
        if (bytes && row.source) {
            row.source = { file: new File([bytes], file.name, { lastModified: file.lastModified }) };
        }
        return false;
    }
}

/** @param {Row} row @returns {string} the key of a new record */
export const newKey = ({ id }) => `${Date.now()}-${id}-${String(Math.random()).slice(2)}`;

/** @returns {Promise<IDBDatabase | null>} */
function open() {
    return new Promise((resolve) => {
        try {
            const request = indexedDB.open("transfer", 1);
            request.onupgradeneeded = () => request.result.createObjectStore("uploads", { keyPath: "key" });
            request.onsuccess = () => resolve(request.result);
            request.onerror = request.onblocked = () => resolve(null);
        } catch {
            resolve(null);
        }
    });
}

const copies = async () => (await navigator.storage.getDirectory()).getDirectoryHandle("uploads", { create: true });

/** @param {string} key */
const name = (key) => key.replace(/[^0-9a-z]/g, "-");
