// @ts-check
/**
 * What the browser keeps of uploads for the time after a reload: in IndexedDB where each stands, and in the private
 * file system copies of
 * photos that still wait. All of it may be missing or fail, as in private windows; then only the going on after a
 * reload is lost.
 */

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

/** Without locks, which need a secure context, a record that was written so short ago may be of a page that is open. */
const OPEN = 120_000;

/** @param {Kept} record */
const isLeft = ({ time }) => navigator.locks !== undefined || Date.now() - time > OPEN;

/** Bytes of a photo, and of all photos, that are copied. */
const COPY = 16 << 20, COPIES = 256 << 20;

export class Store {
    /** @type {Promise<IDBDatabase | null>} */
    #database;
    #copied = 0;
    page = `transfer-upload-${Date.now()}-${Math.random()}`;

    /** @param {string} session */
    constructor(session) {
        this.session = session;
        this.#database = open();
        navigator.locks?.request(this.page, () => new Promise(() => {})).catch(() => {});
    }

    /**
     * Finds what other pages have left, as soon as they are closed.
     * @param {(records: Kept[]) => void} use
     */
    async left(use) {
        const own = await this.#own();
        for (const { key, time, size, isCopied } of own) {
            if (Date.now() - time > AGE) this.remove(key, isCopied);
            else if (isCopied) this.#copied += size;
        }
        for (const page of new Set(own.map(({ page }) => page))) {
            const look = async () =>
                use((await this.#own()).filter((record) => record.page === page && isLeft(record)));
            // Each page holds the lock of its name until its end.
            if (navigator.locks) navigator.locks.request(page, look).catch(() => {});
            else look();
        }
    }

    async #own() {
        /** @type {Kept[]} */
        const all = await this.#run("readonly", (uploads) => uploads.getAll()) ?? [];
        return all.filter(({ session }) => session === this.session);
    }

    /** @param {Kept} record */
    async put(record) {
        // A handle of an old browser may not be storable; the rest is.
        const isKept = await this.#run("readwrite", (uploads) => uploads.put(record));
        if (isKept === null && record.handle) {
            await this.#run("readwrite", (uploads) => uploads.put({ ...record, handle: undefined }));
        }
    }

    /** @param {string} key @param {boolean} [isCopied] */
    async remove(key, isCopied) {
        await this.#run("readwrite", (uploads) => uploads.delete(key));
        if (isCopied) await copies().then((folder) => folder.removeEntry(name(key))).catch(() => {});
    }

    async clear() {
        for (const { key, isCopied } of await this.#own()) await this.remove(key, isCopied);
        this.#copied = 0;
    }

    /**
     * @param {string} key
     * @param {File} file
     * @returns {Promise<boolean>} whether the file was small enough and is copied
     */
    async copy(key, file) {
        if (file.size > COPY || this.#copied + file.size > COPIES) return false;
        this.#copied += file.size;
        try {
            const handle = await (await copies()).getFileHandle(name(key), { create: true });
            const writer = await handle.createWritable();
            await writer.write(file);
            await writer.close();
            return true;
        } catch {
            this.#copied -= file.size;
            return false;
        }
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
