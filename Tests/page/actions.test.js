import assert from "node:assert/strict";
import { test } from "node:test";

// The modules make their live regions when they are loaded; the tested functions touch no page.
const node = () => ({ setAttribute() {}, append() {}, addEventListener() {} });
globalThis.document = {
    documentElement: { lang: "en", dataset: {} },
    createElement: node,
};
const { numbered, perform, reverse, wrongName } = await import(
    "../../Sources/CPage/assets/actions.js"
);
const { restore } = await import("../../Sources/CPage/assets/trash.js");

/** A server that keeps paths, and counts what it was asked. */
class Server {
    requests = [];
    constructor(...paths) {
        this.paths = new Set(paths);
    }

    transmit = (changes) => {
        this.requests.push(changes);
        return Promise.resolve(changes.map((change) => {
            const target = change.target ?? change.path;
            const taken = this.paths.has(target) && !change.replace;
            const result = change.path.includes("secret") ? "forbidden" : taken ? "pathConflict" : "completed";
            if (result === "completed") this.paths.add(target);
            return {
                path: change.path,
                target: change.target ?? null,
                result,
                durable: true,
                message: "",
                trash: null,
            };
        }));
    };
}

const never = () => assert.fail("nothing should be asked");
const moves = (...names) =>
    names.map((name) => ({
        change: "move",
        path: `from/${name}`,
        target: `to/${name}`,
    }));

test("numbers come before the extension of a file, and after the name of a folder", () => {
    assert.equal(numbered("a/b.txt", 1), "a/b-1.txt");
    assert.equal(numbered("a.b/c", 2), "a.b/c-2");
    assert.equal(numbered("a/.profile", 1), "a/.profile-1");
    assert.equal(numbered("v1.2", 1, true), "v1.2-1");
    assert.equal(numbered("x.tar.gz", 3), "x.tar-3.gz");
});

test("wrong names are refused before they are sent", () => {
    for (const name of ["", "  ", ".", "..", "a/b", "a\0", "é".repeat(128)]) {
        assert.notEqual(wrongName(name), "", name);
    }
    for (const name of ["a", ".hidden", "...", "é".repeat(127), "a b"]) {
        assert.equal(wrongName(name), "", name);
    }
});

test("without conflicts nothing is asked", async () => {
    const server = new Server();
    const { completed, failed } = await perform(moves("a", "b"), never, server);
    assert.deepEqual([completed.length, failed.length, server.requests.length], [
        2,
        0,
        1,
    ]);
});

test("conflicts are asked about once for all, and both are kept under the next free number", async () => {
    const server = new Server("to/a.txt", "to/a-1.txt", "to/b");
    let asked = 0;
    const decide = (conflicts) => {
        asked++;
        assert.equal(conflicts, 2);
        return Promise.resolve("both");
    };
    const { completed, failed } = await perform(
        moves("a.txt", "b", "c"),
        decide,
        server,
    );
    assert.equal(asked, 1);
    assert.deepEqual(completed.map(({ change }) => change.target), [
        "to/c",
        "to/b-1",
        "to/a-2.txt",
    ]);
    assert.equal(failed.length, 0);
});

test("replacing says so in the request, and skipping sends nothing more", async () => {
    const server = new Server("to/a");
    const { completed } = await perform(
        moves("a"),
        () => Promise.resolve("replace"),
        server,
    );
    assert.equal(server.requests[1][0].replace, true);
    assert.equal(server.requests[1][0].target, "to/a");
    assert.equal(completed.length, 1);

    for (const answer of ["skip", ""]) {
        const other = new Server("to/a");
        const outcome = await perform(
            moves("a", "b"),
            () => Promise.resolve(answer),
            other,
        );
        assert.deepEqual([
            outcome.completed.length,
            outcome.skipped.length,
            other.requests.length,
        ], [1, 1, 1]);
    }
});

test("a folder that is there is no conflict to decide, and numbers end", async () => {
    const server = new Server("a");
    const made = await perform([{ change: "mkdir", path: "a" }], never, server);
    assert.equal(made.failed[0].answer.result, "pathConflict");

    const full = {
        transmit: (changes) => Promise.resolve(changes.map(() => ({ result: "pathConflict" }))),
    };
    const { failed } = await perform(
        moves("a"),
        () => Promise.resolve("both"),
        full,
    );
    assert.equal(failed.length, 1);
});

test("other refusals do not keep the rest from being done", async () => {
    const { completed, failed } = await perform(
        moves("secret", "b"),
        never,
        new Server(),
    );
    assert.deepEqual([completed.length, failed[0].answer.result], [
        1,
        "forbidden",
    ]);
});

test("only what can be undone without loss is undone", () => {
    const remove = { change: "remove", path: "a/b" };
    assert.deepEqual(reverse(remove, { trash: "B" }), {
        change: "restore",
        trash: "B",
        path: "a/b",
    });
    assert.equal(reverse(remove, { trash: null }), undefined);
    const move = { change: "move", path: "a", target: "b" };
    assert.deepEqual(reverse(move, {}), {
        change: "move",
        path: "b",
        target: "a",
    });
    assert.equal(reverse({ ...move, replace: true }, {}), undefined);
    assert.equal(
        reverse({ change: "copy", path: "a", target: "b" }, {}),
        undefined,
    );
});

test("a folder that exists again is restored entry by entry, and conflicts are asked about once", async () => {
    const server = new Server("photos", "photos/a", "photos/b");
    const content = { photos: ["photos/a", "photos/b", "photos/c"] };
    const read = async function* (url) {
        const folder = url.slice("/.transfer/trash/B/".length, -1);
        yield content[folder].map((path) => ({ path, type: "file" }));
    };
    let asked = 0;
    const decide = (conflicts) => Promise.resolve(++asked && conflicts === 2 ? "both" : "skip");
    const outcome = await restore(
        "B",
        [{ path: "photos", type: "directory" }],
        decide,
        {
            read,
            transmit: server.transmit,
        },
    );
    assert.deepEqual([outcome.completed, outcome.failed.length, asked], [
        3,
        0,
        1,
    ]);
    assert.ok(server.paths.has("photos/c") && server.paths.has("photos/a-1"));
    assert.equal(
        server.requests.flat().every((change) => change.change === "restore" && change.trash === "B"),
        true,
    );
});

test("what cannot be read in the trash is told, and the rest restored", async () => {
    const server = new Server("photos");
    const read = async function* () {
        yield* [];
        throw new Error("lost");
    };
    const chosen = [{ path: "photos", type: "directory" }, {
        path: "x",
        type: "file",
    }];
    const outcome = await restore("B", chosen, never, {
        read,
        transmit: server.transmit,
    });
    assert.deepEqual([
        outcome.completed,
        outcome.failed.map(({ change }) => change.path),
    ], [1, ["photos"]]);
});
