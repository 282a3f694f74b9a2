import assert from "node:assert/strict";
import { test } from "node:test";

// The modules make their live regions when they are loaded; the tested functions touch no page.
const node = () => ({ setAttribute() {}, append() {}, addEventListener() {} });
globalThis.document = {
    documentElement: { lang: "en", dataset: {} },
    createElement: node,
};
const { perform } = await import("../../Sources/CPage/assets/actions.js");
const { together } = await import("../../Sources/CPage/assets/together.js");

/** A server that keeps paths, and refuses what a test names. */
class Server {
    trash = [];
    requests = [];
    asked = [];
    refused = {};

    constructor(...paths) {
        this.paths = new Set(paths);
    }

    #make({ change, path, target = path, replace }) {
        if (this.refused[path]) return this.refused[path];
        if (change !== "restore" && !this.paths.has(path)) return "notFound";
        if (change !== "remove" && this.paths.has(target) && !replace) return "pathConflict";
        if (change !== "copy") this.paths.delete(path);
        if (change !== "remove") this.paths.add(target);
        return "completed";
    }

    transmit = (changes) => {
        this.requests.push(changes);
        return Promise.resolve(changes.map((change) => {
            const trash = change.change === "remove" ? "B" : null;
            const { path, target = null } = change;
            return { path, target, result: this.#make(change), durable: true, message: "", trash };
        }));
    };

    /** Asks before the changes; a name may be taken in between. */
    taken = (paths) => {
        this.asked.push(...paths);
        return Promise.resolve(new Set(paths.filter((path) => this.paths.has(path))));
    };

    send = (changes) => together(changes, this);
}

const never = () => assert.fail("nothing should be asked");
const move = (path, target) => ({ change: "move", path, target });
const moves = (from, to) => [".HEIC", ".MOV"].map((end) => move(from + end, to + end));
const remove = (path) => ({ change: "remove", path });
const results = (answers) => answers.map(({ result }) => result);

test("both files of a pair are moved, and others are only sent", async () => {
    const server = new Server("a.HEIC", "a.MOV", "b.txt", "c.MOV");
    const answers = await server.send([move("b.txt", "d.txt"), ...moves("a", "f/a"), move("c.MOV", "f/c.MOV")]);
    assert.deepEqual(results(answers), Array(4).fill("completed"));
    assert.deepEqual(answers.map(({ path }) => path), ["b.txt", "a.HEIC", "a.MOV", "c.MOV"]);
    assert.deepEqual(server.asked, ["f/a.HEIC", "f/a.MOV"]);
    assert.equal(server.requests.length, 1);
});

test("without a pair the server is not asked", async () => {
    const server = new Server("a.MOV", "b.HEIC");
    server.taken = never;
    assert.deepEqual(results(await server.send([remove("a.MOV"), remove("b.HEIC")])), ["completed", "completed"]);
    assert.deepEqual(await server.send([]), []);
});

test("if one name is taken, both get the same number", async () => {
    for (const taken of ["b.HEIC", "b.MOV"]) {
        // One of the names with the first number is taken as well.
        const server = new Server("a.HEIC", "a.MOV", taken, "b-1.MOV");
        const { completed, failed } = await perform(moves("a", "b"), () => Promise.resolve("both"), {
            transmit: server.send,
        });
        assert.deepEqual(completed.map(({ change }) => change.target), ["b-2.HEIC", "b-2.MOV"]);
        assert.equal(failed.length, 0);
        assert.deepEqual([...server.paths].sort(), [taken, "b-1.MOV", "b-2.HEIC", "b-2.MOV"].sort());
    }
});

test("if one name is taken, both are skipped or both replace", async () => {
    const decide = (decision) => (conflicts) => Promise.resolve(conflicts === 2 ? decision : never());
    const server = new Server("a.HEIC", "a.MOV", "b.MOV");
    const { completed, skipped } = await perform(moves("a", "b"), decide("skip"), { transmit: server.send });
    assert.deepEqual([completed.length, skipped.length, server.requests.length], [0, 2, 0]);
    const replaced = await perform(moves("a", "b"), decide("replace"), { transmit: server.send });
    assert.deepEqual([replaced.completed.length, server.paths.size], [2, 2]);
});

test("a name that is taken in the last moment takes the other change back", async () => {
    const server = new Server("a.HEIC", "a.MOV");
    const ask = server.taken;
    server.taken = async (paths) => {
        const free = await ask(paths);
        server.paths.add("b.MOV");
        return free;
    };
    const { completed } = await perform(moves("a", "b"), () => Promise.resolve("both"), { transmit: server.send });
    assert.deepEqual(completed.map(({ change }) => change.target), ["b-1.HEIC", "b-1.MOV"]);
    assert.deepEqual([...server.paths].sort(), ["b-1.HEIC", "b-1.MOV", "b.MOV"]);
});

test("if one file cannot be changed, the change of the other is taken back and says so", async () => {
    const server = new Server("a.HEIC", "a.MOV");
    server.refused["a.MOV"] = "fileChanged";
    const moved = await server.send(moves("a", "b"));
    assert.deepEqual(results(moved), ["takenBack", "fileChanged"]);
    assert.match(moved[0].message, /other file of this Live Photo/);
    const removed = await server.send([remove("a.MOV"), remove("a.HEIC")]);
    assert.deepEqual(results(removed), ["fileChanged", "takenBack"]);
    assert.deepEqual(server.requests.at(-1), [{ change: "restore", trash: "B", path: "a.HEIC" }]);
    assert.deepEqual([...server.paths].sort(), ["a.HEIC", "a.MOV"]);
});

test("what cannot be taken back is told as it is", async () => {
    const server = new Server("a.HEIC", "a.MOV");
    server.refused = { "a.MOV": "forbidden", "b.HEIC": "busy" };
    assert.deepEqual(results(await server.send(moves("a", "b"))), ["completed", "forbidden"]);
    assert.ok(server.paths.has("b.HEIC"));
    // The other change may have been made although no answer has come.
    const cut = new Server("a.HEIC", "a.MOV");
    cut.refused["a.MOV"] = "unanswered";
    assert.deepEqual(results(await cut.send(moves("a", "b"))), ["completed", "unanswered"]);
    assert.equal(cut.requests.length, 1);
});

test("a name that differs in the case of letters only is not taken by itself", async () => {
    const server = new Server("img.HEIC", "img.MOV");
    await server.send(moves("img", "IMG"));
    assert.deepEqual(server.asked, []);
    assert.deepEqual([...server.paths], ["IMG.HEIC", "IMG.MOV"]);
});
