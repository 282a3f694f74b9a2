// @ts-check
import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";
import { Row } from "../../Sources/CPage/assets/row.js";
import { Ahead, Store } from "../../Sources/CPage/assets/store.js";
import { add, content, file, queueOf, Server, settle } from "./fakes.js";

const DAY = 86_400_000;

/** What a browser keeps for all tabs of one server: records, copies of files, and a channel between the tabs. */
class Browser {
    /** @type {Map<string, any>} */
    records = new Map();
    /** @type {Map<string, File>} */
    copies = new Map();
    /** @type {any[]} */
    channels = [];

    constructor() {
        const { records, copies, channels } = this;
        const request = (work, transaction) => {
            const made = { result: work() };
            setImmediate(() => transaction.oncomplete());
            return made;
        };
        const store = (transaction) => ({
            put: (record) => request(() => records.set(record.key, record), transaction),
            delete: (key) => request(() => records.delete(key), transaction),
            getAll: () => request(() => [...records.values()], transaction),
        });
        const database = {
            transaction() {
                const transaction = { objectStore: () => store(transaction) };
                return transaction;
            },
        };
        const folder = {
            keys: async function* () {
                yield* [...copies.keys()];
            },
            removeEntry: (name) => Promise.resolve(copies.delete(name)),
            getFileHandle: (name) =>
                Promise.resolve({
                    getFile: () => Promise.resolve(copies.get(name)),
                    createWritable: () =>
                        Promise.resolve({
                            write: (file) => Promise.resolve(copies.set(name, file)),
                            close: () => Promise.resolve(),
                        }),
                }),
        };
        const root = { getDirectoryHandle: () => Promise.resolve(folder) };
        globalThis.indexedDB = /** @type {any} */ ({
            open() {
                const opening = /** @type {any} */ ({ result: database });
                setImmediate(() => opening.onsuccess());
                return opening;
            },
        });
        Object.defineProperty(globalThis, "navigator", {
            value: { storage: { getDirectory: () => Promise.resolve(root) } },
            configurable: true,
        });
        globalThis.BroadcastChannel = /** @type {any} */ (class {
            onmessage = (_) => {};
            constructor() {
                channels.push(this);
            }
            postMessage(data) {
                for (const other of channels) if (other !== this) other.onmessage({ data });
            }
        });
    }

    get kept() {
        return [...this.records.keys(), ...this.copies.keys()].sort();
    }
}

const record = (key, session, values = {}) => /** @type {any} */ ({
    key,
    session,
    page: "p",
    time: Date.now() - DAY,
    size: 10,
    ...values,
});
const photo = (name, size = 10) => file(name, content(size));
/** Lets everything that has begun come to its end. */
const quiet = async () => {
    for (let turn = 0; turn < 200; turn++) await new Promise(setImmediate);
};

/** @type {Browser} */
let browser;
beforeEach(() => {
    browser = new Browser();
});

test("Signing out removes records and copies of the session, and nothing of another one", async () => {
    const [ann, ben] = [new Store("ann"), new Store("ben")];
    for (const [store, name] of /** @type {const} */ ([[ann, "ann"], [ben, "ben"]])) {
        assert.ok(await store.copy(name, photo("a.jpg")));
        await store.put(record(name, name, { isCopied: true }));
    }
    // The page ended between the copy and its record.
    browser.copies.set("1-alone", photo("b.jpg"));
    await ann.clear();
    assert.deepEqual(browser.kept, ["ben", "ben"]);
});

test("A page removes copies without a record, except for those that another page may be about to record", async () => {
    const fresh = `${Date.now()}-1`;
    for (const name of ["1-alone", fresh]) browser.copies.set(name, photo("b.jpg"));
    await new Store("ann").left(() => {});
    assert.deepEqual(browser.kept, [fresh]);
});

test("After signing out nothing more is kept, in other tabs neither", async () => {
    const [first, second] = [new Store("ann"), new Store("ann")];
    await second.put(record("1", "ann"));
    const putting = first.put(record("2", "ann"));
    await first.clear();
    await putting;
    for (const store of [first, second]) {
        await store.put(record("3", "ann"));
        assert.equal(await store.copy("3", photo("a.jpg")), false);
    }
    await quiet();
    assert.deepEqual(browser.kept, []);
    await new Store("ann").put(record("4", "ann"));
    assert.deepEqual(browser.kept, ["4"]);
});

test("A copy that ends after signing out goes", async () => {
    const store = new Store("ann");
    const copying = store.copy("1", photo("a.jpg"));
    await store.clear();
    assert.equal(await copying, false);
    assert.deepEqual(browser.kept, []);
});

test("What is older than 30 days goes, of any session, and only own records are offered", async () => {
    for (
        const [key, session, age] of [["old", "ann", 31], ["gone", "ben", 31], ["mine", "ann", 29], ["his", "ben", 29]]
    ) {
        const values = { time: Date.now() - Number(age) * DAY, page: String(key), isCopied: true };
        browser.records.set(String(key), record(key, session, values));
        browser.copies.set(String(key), photo("a.jpg"));
    }
    const offered = [];
    await new Store("ann").left((records) => offered.push(...records.map(({ key }) => key)));
    await quiet();
    assert.deepEqual(offered, ["mine"]);
    assert.deepEqual(browser.kept, ["his", "his", "mine", "mine"]);
});

test("A browser that keeps nothing loses only the going on after a reload", async () => {
    globalThis.indexedDB = /** @type {any} */ (undefined);
    Object.defineProperty(globalThis, "navigator", { value: {}, configurable: true });
    const store = new Store("ann");
    await store.left(() => assert.fail("nothing can be left"));
    await store.put(record("1", "ann"));
    assert.equal(await store.copy("1", photo("a.jpg")), false);
    await store.remove("1", true);
    await store.clear();
});

/** Rows of files that take themselves ahead. */
async function ahead(memory, files) {
    const taking = new Ahead(new Store("ann"), memory);
    const rows = files.map((file) => new Row("", file.name, { file }, { policy: "" }));
    const copied = [];
    for (const row of rows) copied.push(await taking.take(row));
    return { taking, rows, copied };
}

test("A phone reads chosen files at once, and then does not need the right to read them", async () => {
    let isOver = false;
    const fading = (name, size) => {
        const made = photo(name, size);
        const arrayBuffer = made.arrayBuffer.bind(made);
        made.arrayBuffer = () => isOver ? Promise.reject(new DOMException("", "NotReadableError")) : arrayBuffer();
        made.slice = () => /** @type {any} */ (made);
        return made;
    };
    const files = [fading("clip.mov", 12 << 20), fading("long.mov", 33 << 20), fading("IMG_1.HEIC", 10)];
    const { rows, copied } = await ahead(8, files);
    isOver = true;
    assert.deepEqual(copied, [false, false, true]);
    assert.equal(browser.copies.size, 1);
    const server = new Server();
    const { queue } = queueOf(server);
    const sent = add(queue, rows.map(({ source }) => /** @type {File} */ (source?.file)));
    await settle(queue);
    assert.deepEqual(sent.map(({ state, note }) => note?.key ?? state), ["checked", "unreadable", "unreadable"]);
    assert.equal(sent[0].modified, files[0].lastModified);
    const row = rows[2];
    const kept = await new Store("ann").copied(
        record(row.record, "ann", { path: "IMG_1.HEIC", modified: row.modified }),
    );
    assert.deepEqual([kept.name, kept.lastModified], ["IMG_1.HEIC", files[2].lastModified]);
});

test("A copy of what was stored or removed meanwhile goes", async () => {
    const taking = new Ahead(new Store("ann"), 8);
    const row = new Row("", "a.jpg", { file: photo("a.jpg") }, { policy: "" });
    const taken = taking.take(row);
    row.record = "";
    assert.equal(await taken, false);
    assert.equal(browser.copies.size, 0);
});

test("What a phone holds in memory and in copies is bounded, and what is stored makes room", async () => {
    const clip = () => photo("a.mov", 30 << 20);
    const { taking, rows } = await ahead(8, [clip(), clip(), clip()]);
    const isTaken = (row, file) => row.source.file !== file;
    const last = rows[2].source?.file;
    assert.equal(isTaken(rows[2], last), false);
    rows[0].state = "checked";
    await taking.take(rows[2]);
    assert.equal(isTaken(rows[2], last), true);
    const poor = clip();
    const { rows: [row] } = await ahead(2, [poor]);
    assert.equal(isTaken(row, poor), false, "a phone with little memory");

    const store = new Store("ann");
    const large = /** @type {any} */ ({ size: 16 << 20 });
    for (let n = 0; n < 16; n++) assert.ok(await store.copy(String(n), large));
    assert.equal(await store.copy("more", large), false);
    await store.remove("3", true);
    assert.ok(await store.copy("more", large));
    assert.equal(await store.copy("huge", /** @type {any} */ ({ size: 17 << 20 })), false);
});
